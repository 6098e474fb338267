"""``hornada run``: the same engine on one file, without a server; what it keeps lies beside the output."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hornada.core.account import Plan, Principal
from hornada.core.batch import TERMINAL, Batch, Finding, Status
from hornada.core.catalog import ENDPOINTS, Model, Server
from hornada.core.clock import Clock
from hornada.core.errors import Refusal
from hornada.core.file import File
from hornada.core.ids import new_secret
from hornada.core.limits import DialectRules, Limits
from hornada.core.run import Progress, RunRequest, Unreachable
from hornada.core.table import shown
from hornada.dialects import DIALECTS
from hornada.service import runnote
from hornada.service.joining import join
from hornada.service.lock import Locked, lock
from hornada.service.runnote import Note
from hornada.service.wiring import Engine, Installation
from hornada.upstream import connect as connect_upstream
from hornada.upstream.discovery import KeyRefused
from hornada.upstream.discovery import models as ask
from hornada.upstream.protocol import Failure, Fault

_POLL_S = 0.2
_GRACE_S = 0.5
_QUIET_S = 20
"""Without a result for so long, the progress says that it waits."""
_UNAUTHORIZED = 401
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

    Stopped at any moment, the same request goes on where it was: the ledger lies in ``<output>.hornada``. At the end
    only a note stays there, by which the same request is known to be done already. Raises Unreachable, and Occupied
    when output or progress of something else is there and ``request.overwrite`` is not set.
    """
    folder = Path(request.output + ".hornada")
    try:
        held = lock(folder)
    except Locked as error:
        yield _refused(str(error))
        return
    try:
        first = await asyncio.to_thread(_first_line, Path(request.input))
        asked = await asyncio.to_thread(_asked, request, first)
        if asked.endpoint not in ENDPOINTS:
            yield _refused(f"The first line's url must be one of {', '.join(ENDPOINTS)}, not {shown(asked.endpoint)}.")
            return
        run = _Run(request, folder, first, asked)
        async with contextlib.aclosing(run.steps()) as steps:
            async for progress in steps:
                yield progress
    finally:
        if runnote.read(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


class _Run:
    """One run. ``first``: the input's first line; ``asked``: what tells the run from others."""

    def __init__(self, request: RunRequest, folder: Path, first: "_Line", asked: Note) -> None:
        self._request = request
        self._folder = folder
        self._first = first
        self._note = asked
        self._output = Path(request.output)

    async def steps(self) -> AsyncGenerator[Progress, None]:
        """Everything from the look at what is there to the note about how it ended."""
        kept = runnote.read(self._folder)
        if self._request.overwrite:
            kept = None
            self._note = replace(self._note, replaces=True)
        else:
            runnote.check(kept, self._note, self._output, self._folder)
        if kept and self._output.exists() and self._output.stat().st_size == kept.bytes:
            yield _told(kept, Status.COMPLETED, already=True)
            return
        resumes = kept is not None and kept.bytes is None
        if kept and resumes:
            self._note = kept
            if kept.total:
                yield _told(kept, Status.IN_PROGRESS, "going on where it was")
        server = Server(url=self._request.upstream, api_key=self._request.api_key)
        models, aliases = await _models(self._request, server, self._first)
        if not resumes:
            runnote.clear(self._folder)
        runnote.write(self._folder, self._note)
        async with contextlib.aclosing(self._engage(models, aliases)) as steps:
            async for progress in steps:
                yield progress

    async def _engage(self, models: list[Model], aliases: dict[str, str]) -> AsyncGenerator[Progress, None]:
        engine = await Engine.open(
            Installation(
                database=f"sqlite:////{str((self._folder / 'ledger.db').resolve()).lstrip('/')}",
                blobs=f"file://{(self._folder / 'blobs').resolve()}",
                limits=_LIMITS,
                models=models,
                aliases=aliases,
                plans={"default": _PLAN},
            )
        )
        last: Progress | None = None
        try:
            principal = await _principal(engine, self._folder)
            batch = await _batch(engine, principal, Path(self._request.input), self._note)
            engine.start()
            async with contextlib.aclosing(self._follow(engine, principal, batch)) as steps:
                async for last in steps:
                    yield last
        except Refusal as refusal:
            last = _refused(refusal.message)
            yield last
        finally:
            await engine.stop(_GRACE_S)
            self._ended(last)

    async def _follow(self, engine: Engine, principal: Principal, batch: Batch) -> AsyncGenerator[Progress, None]:
        """Tells how far a batch is, and writes the output at its end."""
        patience = _Patience(engine.clock, self._request.max_wait)
        while batch.status not in TERMINAL:
            quiet = patience.quiet(batch)
            yield _progress(batch, _trouble(engine, quiet))
            if patience.exhausted:
                raise Unreachable(f"No line has got a result from {self._request.upstream} for {quiet:.0f} s.")
            await asyncio.sleep(_POLL_S)
            batch = await engine.batches.get(principal, batch.id)
        if batch.status is not Status.FAILED:
            yield _progress(batch, "writing results", Status.FINALIZING)
            self._note = replace(self._note, replaces=True)  # from here on an output that is there is this run's own
            runnote.write(self._folder, self._note)
            await _write(engine, principal, batch, self._output)
        yield _progress(batch, "\n".join(_spoken(finding) for finding in batch.errors) or None)

    def _ended(self, last: Progress | None) -> None:
        """Notes how far it came; at the end nothing else stays, and nothing at all of a file with faults."""
        if last is None:
            return
        if last.status is Status.FAILED:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        note = replace(self._note, total=last.total, completed=last.completed, failed=last.failed)
        done = last.status in TERMINAL
        runnote.write(self._folder, replace(note, bytes=self._output.stat().st_size) if done else note)
        if done:
            runnote.clear(self._folder)


class _Patience:
    """For how long no line has got a result. ``limit`` in seconds, None: without end."""

    def __init__(self, clock: Clock, limit: float | None) -> None:
        self._clock = clock
        self._limit = limit
        self._since = clock.monotonic()
        self._done = -1
        self.exhausted = False

    def quiet(self, batch: Batch) -> float:
        """Seconds since the last result, or since lines began to run; 0 while none can."""
        now, done = self._clock.monotonic(), batch.counts.completed + batch.counts.failed
        if done != self._done or batch.status is not Status.IN_PROGRESS:
            self._done, self._since = done, now
        self.exhausted = self._limit is not None and now - self._since >= self._limit
        return now - self._since


async def _models(request: RunRequest, server: Server, first: _Line) -> tuple[list[Model], dict[str, str]]:
    """What the server runs; with ``--model``, that one under whatever name the lines use."""
    upstream = connect_upstream(server)
    names = await ask(upstream)
    await upstream.close()
    slots = request.concurrency
    if isinstance(names, KeyRefused) and (names.status == _UNAUTHORIZED or request.model is None):
        key = "the key was refused" if request.api_key else "it wants a key: set HORNADA_UPSTREAM_API_KEY"
        raise Unreachable(f"{request.upstream} answered with status {names.status}: {key}.")
    if isinstance(names, Failure):
        if names.fault is not Fault.GARBLED or request.model is None:
            raise Unreachable(f"{request.upstream} does not answer: {names.message}")
        names = []
    wanted = [request.model] if request.model else names
    models = [Model(name=name, servers=(server,), capacity=slots, batch_slots=slots) for name in wanted]
    named = first.body.model if first.body else None
    aliases = {named: request.model} if request.model and named and named != request.model else {}
    return models, aliases


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


async def _batch(engine: Engine, principal: Principal, source: Path, note: Note) -> Batch:
    """The batch of this run: the one that is in the folder, or a new one."""
    earlier = (await engine.batches.page(principal, limit=1)).items
    if earlier and earlier[0].status is not Status.FAILED:
        return earlier[0]
    file = await _input(engine, principal, source)
    batch, _ = await engine.batches.create(
        principal,
        _RULES,
        input_file=file.id,
        endpoint=note.endpoint,
        completion_window="24h",
        metadata=None,
        output_lifetime_s=None,
        retry=False,
        idempotency_key=None,
    )
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


def _asked(request: RunRequest, first: _Line) -> Note:
    """What the run is about, by which another one is told from it."""
    path = Path(request.input)
    return Note(
        input=path.name,
        sha256=runnote.digest(path),
        model=request.model or (first.body.model if first.body else None) or "",
        endpoint=request.endpoint or first.url or "/v1/chat/completions",
    )


def _refused(message: str) -> Progress:
    return Progress(total=0, completed=0, failed=0, status=Status.FAILED, message=message)


def _told(note: Note, status: Status, message: str | None = None, *, already: bool = False) -> Progress:
    return Progress(
        total=note.total,
        completed=note.completed,
        failed=note.failed,
        status=status,
        message=message,
        already=already,
    )


def _progress(batch: Batch, message: str | None, status: Status | None = None) -> Progress:
    counts = batch.counts
    return Progress(
        total=counts.total,
        completed=counts.completed,
        failed=counts.failed,
        status=status or batch.status,
        message=message,
    )


def _trouble(engine: Engine, quiet: float) -> str | None:
    """Why nothing seems to happen. ``quiet``: seconds without a result."""
    away = [name for name in engine.models.catalog().models if engine.dispatcher.state(name)[1]]
    if away:
        return f"{', '.join(away)} does not answer, or fails every call; waiting"
    return "no line has got a result for a while; waiting" if quiet >= _QUIET_S else None


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
    await asyncio.to_thread(join, source, paths, output)
