"""Batches and chunks to begin with, at any point of their life."""

from msgspec.structs import replace

from hornada.core.batch import Batch, Event, StopReason, after
from hornada.core.chunk import Chunk, ChunkState, Span
from hornada.core.file import File
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import file as files
from hornada.store import stage as stages
from hornada.store.chunk import Work
from hornada.store.database import Database
from tests.store.nouns import NOW, a_batch, a_file


async def fresh(db: Database, *, twin: str | None = None, created_at: int = NOW, file: File | None = None) -> Batch:
    """A batch whose file nobody has checked."""
    file = file or a_file()
    batch = replace(a_batch(file), created_at=created_at)
    async with db.write() as tx:
        if await files.get(tx, file.org, file.id) is None:
            await files.insert(tx, file)
        await batches.insert(tx, batch, twin)
    return await seen(db, batch)


async def accepted(db: Database, *sizes: int, expires_at: int | None = None, model: str = "m") -> Batch:
    """A batch in progress with ready chunks of so many lines, 10 bytes each."""
    batch = await fresh(db)
    if expires_at is not None:
        async with db.write() as tx:
            await tx.run("UPDATE batch SET expires_at = :at WHERE id = :id", at=expires_at, id=batch.id)
    await accept(db, *sizes, model=model)
    return await seen(db, batch)


async def accept(db: Database, *sizes: int, model: str = "m") -> Batch:
    """Takes the oldest batch that is not checked and accepts it; READY chunks only if it runs then."""
    async with db.write() as tx:
        stage = await stages.take_unchecked(tx, "validator")
        assert stage is not None
        to = after(stage.batch.status, Event.ACCEPT)
        assert to is not None
        assert await stages.accept(tx, stage, to, model=model, names=(model,), total=sum(sizes), now=NOW)
        state = ChunkState.DONE if stage.batch.stop else ChunkState.READY
        await chunks.plan(tx, stage.batch, model, spans(*sizes), state)
    return await seen(db, stage.batch)


def spans(*sizes: int) -> list[Span]:
    firsts = [sum(sizes[:at]) for at in range(len(sizes))]
    return [Span(first, n, 10 * first, 10 * n) for first, n in zip(firsts, sizes, strict=True)]


async def seen(db: Database, batch: Batch) -> Batch:
    async with db.read() as tx:
        found = await batches.get(tx, batch.org, batch.id)
    assert found is not None
    return found


async def claim(db: Database, lines: int, *, owner: str = "me", model: str = "m") -> list[Work]:
    """Claims as a worker that looks at deadlines alone."""
    work: list[Work] = []
    async with db.write() as tx:
        orgs = await chunks.turns(tx, model, "", 100)
        for source in await chunks.sources(tx, model, orgs, most=100):
            if lines > 0:
                taken = await chunks.claim(tx, source, model, owner, lines)
                work += taken
                lines -= sum(each.chunk.span.n for each in taken)
    return work


async def commit(db: Database, chunk: Chunk, ok: int, failed: int = 0, state: ChunkState = ChunkState.LEASED) -> bool:
    """The first ``ok + failed`` lines of a chunk get results."""
    bits = (1 << (ok + failed)) - 1
    new = replace(chunk, done=bits.to_bytes(len(chunk.done), "little"), n_ok=ok, n_failed=failed)
    async with db.write() as tx:
        return await chunks.commit(tx, [(new, state)]) == {(chunk.batch, chunk.idx)}


async def stop(db: Database, batch: Batch, event: Event, reason: StopReason) -> bool:
    to = after(batch.status, event)
    assert to is not None
    async with db.write() as tx:
        return await batches.stop(tx, batch, to, reason, batch.errors, NOW + 1)


async def states(db: Database, batch: Batch) -> list[str]:
    async with db.read() as tx:
        rows = await tx.rows("SELECT state FROM chunk WHERE batch = :batch ORDER BY idx", batch=batch.id)
    return [row["state"] for row in rows]
