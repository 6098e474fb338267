"""``hornada run``: the same engine on one file, without a server; what it keeps lies beside the output."""

import asyncio
import contextlib
import os
import shutil
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hornada.client.faults import BadInput
from hornada.core.account import Plan, Principal
from hornada.core.batch import TERMINAL, Batch, Status
from hornada.core.catalog import ENDPOINTS, Model, Server
from hornada.core.errors import Refusal
from hornada.core.file import File
from hornada.core.ids import new_secret
from hornada.core.limits import DialectRules, Limits
from hornada.core.recipe import BadRecipe
from hornada.core.run import Changed, Progress, RunRequest, Unreachable
from hornada.core.table import shown
from hornada.service import runnote
from hornada.service.lock import Locked, lock
from hornada.service.runfiles import Lines, Rows, Source, blocks, failed, join
from hornada.service.runnote import Note
from hornada.service.runwatch import Patience, Used, progress, refused, spoken, told, trouble
from hornada.service.wiring import Engine, Installation
from hornada.upstream import connect as connect_upstream
from hornada.upstream.discovery import KeyRefused
from hornada.upstream.discovery import models as ask
from hornada.upstream.protocol import Failure, Fault

_POLL_S = 0.2
_GRACE_S = 0.5
_UNAUTHORIZED = 401
_YEAR_S = 365 * 86_400
_BLOCK = 1 << 20
_NAMED = 20
"""Models that a message lists at most."""
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
    only a note stays there, by which the same request is known to be done already. Raises Unreachable; Occupied when
    output or progress of something else is there and ``request.overwrite`` is not set; Changed when the input or the
    output is no longer what it was.
    """
    folder = Path(request.output + ".hornada")
    try:
        held = lock(folder)
    except Locked as error:
        yield refused(str(error))
        return
    try:
        first = await asyncio.to_thread(_first_line, request)
        asked = await asyncio.to_thread(_asked, request, first)
        if asked.endpoint not in ENDPOINTS:
            yield refused(f"The first line's url must be one of {', '.join(ENDPOINTS)}, not {shown(asked.endpoint)}.")
            return
        run = _Run(request, folder, first, asked)
        async with contextlib.aclosing(run.steps()) as steps:
            async for step in steps:
                yield step
    except (BadRecipe, BadInput) as error:
        yield refused(str(error))
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
        self._source: Source = Lines(Path(request.input))
        self._failed = folder / "failed.jsonl"

    async def steps(self) -> AsyncGenerator[Progress, None]:
        """Everything from the look at what is there to the note about how it ended."""
        kept = runnote.read(self._folder)
        if self._request.overwrite:
            kept = None
            self._note = replace(self._note, replaces=True)
        elif not self._request.retry_failed or (kept and kept.bytes is None):
            runnote.check(kept, self._note, self._output, self._folder)
        written = self._output.exists() and (kept is None or self._output.stat().st_size == kept.bytes)
        if kept and written and (not self._request.retry_failed or (kept.same(self._note) and not kept.failed)):
            yield told(kept, Status.COMPLETED, already=True)
            return
        resumes = kept is not None and kept.bytes is None
        if kept and resumes:
            self._note = kept
            if kept.total:
                yield told(kept, Status.IN_PROGRESS, "going on where it was")
        elif self._request.retry_failed:
            self._note = self._again(kept)
        async with contextlib.aclosing(self._run(resumes=resumes)) as steps:
            async for step in steps:
                yield step

    async def _run(self, *, resumes: bool) -> AsyncGenerator[Progress, None]:
        server = Server(url=self._request.upstream, api_key=self._request.api_key)
        models, aliases = await _models(self._request, server, self._first)
        if not resumes:
            runnote.clear(self._folder)
        self._source = await asyncio.to_thread(_source, self._request, models)
        if self._note.merges and not resumes:
            await asyncio.to_thread(self._gather)
        runnote.write(self._folder, self._note)
        async with contextlib.aclosing(self._engage(models, aliases)) as steps:
            async for step in steps:
                yield step

    def _again(self, kept: Note | None) -> Note:
        """The note of a run of what failed; raises Changed where there is no output of this input to look into."""
        if not self._output.exists():
            raise Changed(f"{self._output} is not there: no line is known to have failed.")
        if kept and kept.sha256 != self._note.sha256:
            raise Changed(f"{self._output} holds the results of another input, {kept.input}.")
        before = kept or Note(input="", sha256="", model="", endpoint="")
        return replace(
            self._note,
            merges=True,
            replaces=True,
            input_tokens=before.input_tokens,
            output_tokens=before.output_tokens,
            cost=before.cost,
        )

    def _gather(self) -> None:
        """Writes down what failed; raises Changed when nothing did, or the output is not of this input."""
        with self._failed.open("wb") as out:
            out.writelines(failed(self._source, self._output))
        if not self._failed.stat().st_size:
            raise Changed(f"Every line of {self._output} was answered: there is nothing to run again.")

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
            batch = await self._batch(engine, principal)
            engine.start()
            async with contextlib.aclosing(self._follow(engine, principal, batch)) as steps:
                async for last in steps:
                    yield last
        except Refusal as refusal:
            last = refused(refusal.message)
            yield last
        except (BadRecipe, BadInput) as error:
            last = refused(str(error))
            yield last
        finally:
            await engine.stop(_GRACE_S)
            self._ended(last)

    async def _batch(self, engine: Engine, principal: Principal) -> Batch:
        """The batch of this run: the one that is in the folder, or a new one."""
        earlier = (await engine.batches.page(principal, limit=1)).items
        if earlier and earlier[0].status is not Status.FAILED:
            return earlier[0]
        asked = Lines(self._failed).requests() if self._note.merges else self._source.requests()
        file = await _input(engine, principal, asked, Path(self._request.input).name)
        batch, _ = await engine.batches.create(
            principal,
            _RULES,
            input_file=file.id,
            endpoint=self._note.endpoint,
            completion_window="24h",
            metadata=None,
            output_lifetime_s=None,
            retry=False,
            idempotency_key=None,
        )
        return batch

    async def _follow(self, engine: Engine, principal: Principal, batch: Batch) -> AsyncGenerator[Progress, None]:
        """Tells how far a batch is, and writes the output at its end."""
        patience = Patience(engine.clock, self._request.max_wait)
        used = Used(engine)
        while batch.status not in TERMINAL:
            quiet = patience.quiet(batch)
            yield await used.added(batch, progress(batch, trouble(engine, quiet)))
            if patience.exhausted:
                raise Unreachable(f"No line has got a result from {self._request.upstream} for {quiet:.0f} s.")
            await asyncio.sleep(_POLL_S)
            batch = await engine.batches.get(principal, batch.id)
        if batch.status is Status.FAILED:
            where = "row" if self._request.recipe else "line"
            yield progress(batch, "\n".join(spoken(finding, where) for finding in batch.errors) or None)
            return
        yield await used.added(batch, progress(batch, "writing results", Status.FINALIZING))
        if runnote.digest(Path(self._request.input)) != self._note.sha256 and self._reads_input:
            raise Changed(f"{self._request.input} was changed while it was run; put it back as it was.")
        self._note = replace(self._note, replaces=True)  # from here on an output that is there is this run's own
        runnote.write(self._folder, self._note)
        kinds = await self._write(engine, principal, batch)
        yield self._total(await used.added(batch, progress(batch, None)), kinds)

    @property
    def _reads_input(self) -> bool:
        """Whether the output is made of more than the requests and the results, which are kept here."""
        return self._note.merges or self._request.recipe is not None

    def _total(self, last: Progress, kinds: Counter[str]) -> Progress:
        """The last word, which counts every line of the output."""
        last = replace(last, kinds=dict(kinds.most_common()))
        if not self._note.merges:
            return last
        lines = sum(1 for _ in self._source.items())
        before = self._note
        return replace(
            last,
            total=lines,
            completed=lines - last.failed,
            input_tokens=before.input_tokens + last.input_tokens,
            output_tokens=before.output_tokens + last.output_tokens,
            cost=before.cost + last.cost,
        )

    async def _write(self, engine: Engine, principal: Principal, batch: Batch) -> Counter[str]:
        """Joins the batch's two files into one in input order; the output appears whole or not at all."""
        answers = await _path(engine, principal, batch.output_file)
        failures = await _path(engine, principal, batch.error_file)
        source = self._source
        if not self._reads_input:
            kept = await _path(engine, principal, batch.input_file)
            assert kept is not None
            source = Lines(kept)
        return await asyncio.to_thread(join, source, answers, failures, self._output, merge=self._note.merges)

    def _ended(self, last: Progress | None) -> None:
        """Notes how far it came; at the end nothing else stays, and nothing at all of a file with faults."""
        if last is None:
            return
        if last.status is Status.FAILED:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        note = replace(self._note, total=last.total, completed=last.completed, failed=last.failed)
        done = last.status in TERMINAL
        if done:
            note = replace(
                note,
                bytes=self._output.stat().st_size,
                merges=False,
                input_tokens=last.input_tokens,
                output_tokens=last.output_tokens,
                cost=last.cost,
                kinds=dict(last.kinds),
            )
        runnote.write(self._folder, note)
        if done:
            runnote.clear(self._folder)


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
    if request.recipe is not None and len(wanted) != 1:
        runs = f"runs {len(wanted)}: {', '.join(wanted[:_NAMED])}" if wanted else "names none"
        raise BadRecipe(f"Say which model to ask, with --model: {request.upstream} {runs}.")
    models = [
        Model(name=name, servers=(server,), capacity=slots, batch_slots=slots, price=request.price) for name in wanted
    ]
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


async def _input(engine: Engine, principal: Principal, lines: Iterable[bytes], name: str) -> File:
    """The requests as a file of the engine; the one that an earlier run took in, if its bytes are the same."""
    draft = await engine.files.begin()
    pieces = blocks(lines, _BLOCK)
    try:
        while block := await asyncio.to_thread(next, pieces, b""):
            await draft.write(block)
    except BaseException:
        await draft.abort()
        raise
    file, _ = await engine.files.finish(draft, principal, _RULES, purpose="batch", name=name, lifetime_s=_YEAR_S)
    return file


async def _path(engine: Engine, principal: Principal, file_id: str | None) -> Path | None:
    """Where a file of the engine lies."""
    return None if file_id is None else engine.blobs.path((await engine.files.get(principal, file_id)).object)


def _source(request: RunRequest, models: list[Model]) -> Source:
    """What is asked. Raises BadRecipe and BadInput."""
    path = Path(request.input)
    return Lines(path) if request.recipe is None else Rows(path, request.recipe, models[0].name)


def _first_line(request: RunRequest) -> _Line:
    """The endpoint and model that the first readable line names, or that every line is going to."""
    recipe = request.recipe
    if recipe is not None:
        return _Line(url=recipe.endpoint, body=_Named(recipe.model))
    with Path(request.input).open("rb") as source:
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
        recipe=request.recipe.digest if request.recipe else "",
    )
