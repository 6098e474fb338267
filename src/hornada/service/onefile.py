"""``hornada run``: the same engine on one file, without a server; what it keeps lies beside the output."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from pathlib import Path

import msgspec

from hornada.core.account import Plan, Principal
from hornada.core.batch import TERMINAL, Batch, Finding, Status
from hornada.core.catalog import Model, Server
from hornada.core.errors import Refusal
from hornada.core.file import File
from hornada.core.ids import new_secret
from hornada.core.jsonl import parse_requests
from hornada.core.limits import DialectRules, Limits
from hornada.core.run import Progress, RunRequest, Unreachable
from hornada.dialects import DIALECTS
from hornada.service.lock import Locked, lock
from hornada.service.wiring import Engine, Installation
from hornada.upstream import connect as connect_upstream
from hornada.upstream.discovery import models as ask
from hornada.upstream.protocol import Failure, Fault

_POLL_S = 0.2
_GRACE_S = 0.5
_YEAR_S = 365 * 86_400
_BLOCK = 1 << 20
_LIMITS = Limits(
    file_bytes=1 << 50,
    lines=5_000_000,
    embedding_inputs=1 << 40,
    batch_lifetime_s=_YEAR_S,
    file_lifetime_s=_YEAR_S,
)
_PLAN = Plan(queued_lines=1 << 40, storage_bytes=1 << 60, active_batches=1 << 20)
_RULES = DialectRules(name="infernode", deduplicate=True)


class _Named(msgspec.Struct):
    model: str | None = None


class _Line(msgspec.Struct):
    url: str | None = None
    body: _Named | None = None


async def run_file(request: RunRequest) -> AsyncIterator[Progress]:
    """Runs a file to its end and writes ``request.output``, results in input order, failures among them.

    Stopped at any moment, the same request goes on where it was: the ledger lies in ``<output>.hornada``, which is
    removed at the end. Raises Unreachable when the model server does not answer at the start.
    """
    folder = Path(request.output + ".hornada")
    try:
        held = lock(folder)
    except Locked as error:
        yield Progress(total=0, completed=0, failed=0, status=Status.FAILED, message=str(error))
        return
    done = False
    try:
        async with contextlib.aclosing(_run(folder, request)) as steps:
            async for progress in steps:
                done = progress.status in TERMINAL
                yield progress
    finally:
        if done:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


async def _run(folder: Path, request: RunRequest) -> AsyncGenerator[Progress, None]:
    first = await asyncio.to_thread(_first_line, Path(request.input))
    server = Server(url=request.upstream, api_key=request.api_key)
    models, aliases = await _models(request, server, first)
    engine = await Engine.open(
        Installation(
            database=f"sqlite:////{str((folder / 'ledger.db').resolve()).lstrip('/')}",
            blobs=f"file://{(folder / 'blobs').resolve()}",
            limits=_LIMITS,
            models=models,
            aliases=aliases,
            plans={"default": _PLAN},
        )
    )
    try:
        principal = await _principal(engine, folder)
        batch = await _batch(engine, principal, request, first)  # before a line runs that nobody wants any more
        engine.start()
        async with contextlib.aclosing(_follow(engine, principal, batch, Path(request.output))) as steps:
            async for progress in steps:
                yield progress
    except Refusal as refusal:
        yield Progress(total=0, completed=0, failed=0, status=Status.FAILED, message=refusal.message)
    finally:
        await engine.stop(_GRACE_S)


async def _models(request: RunRequest, server: Server, first: _Line) -> tuple[list[Model], dict[str, str]]:
    """What the server runs; with ``--model``, that one under whatever name the lines use."""
    upstream = connect_upstream(server)
    names = await ask(upstream)
    await upstream.close()
    slots = request.concurrency
    if isinstance(names, Failure):
        if names.fault is not Fault.GARBLED or request.model is None:
            raise Unreachable(f"{request.upstream} does not answer: {names.message}")
        names = []
    wanted = [request.model] if request.model else names
    models = [Model(name=name, servers=(server,), capacity=slots, batch_slots=slots) for name in wanted]
    named = first.body.model if first.body else None
    aliases = {named: request.model} if request.model and named and named != request.model else {}
    return models, aliases


async def _follow(engine: Engine, principal: Principal, batch: Batch, output: Path) -> AsyncGenerator[Progress, None]:
    """Tells how far a batch is, and writes the output at its end."""
    while batch.status not in TERMINAL:
        yield _progress(batch, _trouble(engine))
        await asyncio.sleep(_POLL_S)
        batch = await engine.batches.get(principal, batch.id)
    if batch.status is not Status.FAILED:
        yield _progress(batch, "writing results", Status.FINALIZING)
        await _write(engine, principal, batch, output)
    yield _progress(batch, "\n".join(_spoken(finding) for finding in batch.errors) or None)


async def _principal(engine: Engine, folder: Path) -> Principal:
    """The only member there is; its key never leaves the folder."""
    kept = folder / "key"
    key = kept.read_text() if kept.exists() else ""
    if not key:
        key = new_secret()
        kept.touch(mode=0o600)
        kept.write_text(key)
    await engine.admission.bootstrap("run", key)
    return await engine.admission.principal(key)


async def _batch(engine: Engine, principal: Principal, request: RunRequest, first: _Line) -> Batch:
    """The batch of this input and model; any other that an earlier run left in the folder is cancelled.

    The folder goes when the output is written, so that a completed batch in it is one whose output is not.
    """
    file = await _input(engine, principal, Path(request.input))
    endpoint = request.endpoint or first.url or "/v1/chat/completions"
    metadata = {"model": request.model or ""}
    earlier = (await engine.batches.page(principal, limit=100)).items
    for batch in earlier:
        same = (batch.input_file, batch.endpoint, batch.metadata) == (file.id, endpoint, metadata)
        if same and batch.status is Status.COMPLETED:
            return batch
    batch, _ = await engine.batches.create(
        principal,
        _RULES,
        input_file=file.id,
        endpoint=endpoint,
        completion_window="24h",
        metadata=metadata,
        output_lifetime_s=None,
        retry=False,
        idempotency_key=None,
    )
    for other in earlier:
        if other.id != batch.id and other.status in {Status.VALIDATING, Status.IN_PROGRESS}:
            await engine.batches.cancel(principal, other.id)
    return batch


async def _input(engine: Engine, principal: Principal, path: Path) -> File:
    """The input as a file of the engine; the one that an earlier run took in, if its bytes are the same."""
    draft = await engine.files.begin()
    try:
        with await asyncio.to_thread(path.open, "rb") as source:
            while block := await asyncio.to_thread(source.read, _BLOCK):
                await draft.write(block)
    except BaseException:
        await draft.abort()
        raise
    file, _ = await engine.files.finish(draft, principal, _RULES, purpose="batch", name=path.name, lifetime_s=_YEAR_S)
    return file


def _first_line(path: Path) -> _Line:
    """The endpoint and model that the first readable line names."""
    with path.open("rb") as source:
        for raw in source:
            line = raw.removeprefix(b"\xef\xbb\xbf").strip()
            if line:
                with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    return msgspec.json.decode(line, type=_Line)
                break
    return _Line()


def _progress(batch: Batch, message: str | None, status: Status | None = None) -> Progress:
    counts = batch.counts
    return Progress(
        total=counts.total,
        completed=counts.completed,
        failed=counts.failed,
        status=status or batch.status,
        message=message,
    )


def _trouble(engine: Engine) -> str | None:
    away = [name for name in engine.models.catalog().models if engine.dispatcher.state(name)[1]]
    return f"{', '.join(away)} does not answer; waiting" if away else None


def _spoken(finding: Finding) -> str:
    code = DIALECTS["infernode"].code(finding.code)
    where = f"line {finding.line}: " if finding.line is not None else ""
    return f"{where}{code}: {finding.message}"


async def _write(engine: Engine, principal: Principal, batch: Batch, output: Path) -> None:
    """Joins the batch's two files into one in input order; the output appears whole or not at all."""
    paths = []
    for file_id in (batch.output_file, batch.error_file):
        if file_id is not None:
            path = engine.blobs.path((await engine.files.get(principal, file_id)).object)
            assert path is not None
            paths.append(path)
    source = engine.blobs.path((await engine.files.get(principal, batch.input_file)).object)
    assert source is not None
    await asyncio.to_thread(_join, source, paths, output)


def _join(source: Path, results: list[Path], output: Path) -> None:
    """Each result file is in input order itself, so that the next line is at the head of one of them."""
    partial = output.with_name(output.name + ".partial")
    with contextlib.ExitStack() as stack:
        heads = [_Head(stack.enter_context(path.open("rb"))) for path in results]
        target = stack.enter_context(partial.open("wb"))
        for custom_id in _ids(stack.enter_context(source.open("rb"))):
            target.writelines(head.take() for head in heads if head.custom_id == custom_id)
        target.flush()
        os.fsync(target.fileno())  # the ledger, which could write it again, goes next
    partial.replace(output)


class _Id(msgspec.Struct):
    custom_id: str


class _Head:
    """The next line of a result file."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._next = b""
        self.custom_id: str | None = None
        self.take()

    def take(self) -> bytes:
        """The line at the head; the one behind it is the head then."""
        taken, self._next = self._next, next(self._lines, b"")
        self.custom_id = msgspec.json.decode(self._next, type=_Id).custom_id if self._next else None
        return taken


def _ids(source: Iterator[bytes]) -> Iterator[str]:
    at_start = True
    for line in source:
        for found in parse_requests(line, at_start=at_start):
            yield found.custom_id
        at_start = False
