"""Batches at any OpenAI-compatible server, for programs: submit, watch, results, retry, cancel, list."""

import contextlib
import hashlib
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from hornada.client.batch import Batch, read_batch
from hornada.client.checkup import Checkup, seen, told
from hornada.client.collected import Choice, Collected
from hornada.client.download import download
from hornada.client.events import events
from hornada.client.faults import BadInput, ClientError, Refused, Unreached
from hornada.client.file import File, read_file
from hornada.client.input import check_file, endpoint_of, file_size, opened
from hornada.client.listing import listed
from hornada.client.order import Pool
from hornada.client.wire import PIECE, Body, Json, Note, Wire, wait_s
from hornada.core.ids import new_id
from hornada.core.result import Result

DEFAULT_BASE_URL = "http://127.0.0.1:8080/v1"
MARK = "hornada_submit"
"""The key of the metadata by which ``submit(idempotent=True)`` knows what was submitted before."""

Sent = Callable[[int, int], None]
"""Hears how many bytes of how many were sent."""

_LOOKED_AT = 100
_LOOKED_BACK = 300
"""Batches among which an earlier submission is looked for."""
_LONGEST_S = 8 * 86_400
_CLOCKS_S = 60
_MOST_INTERVAL_S = 10.0
_NO_ROUTE = frozenset({404, 405, 501})


class NotEnded(ClientError):
    """The batch has no results yet, and the server gives none of a batch that runs."""


class Client:
    """One server and one key; not for several threads at once.

    ``base_url`` up to and with ``/v1``: HORNADA_BASE_URL or OPENAI_BASE_URL if it is not given, a Hornada on this
    machine if they are not either. ``api_key``: HORNADA_API_KEY or OPENAI_API_KEY. ``patience_s``: for how long a call
    to a server that is away or busy is repeated. ``on_wait`` hears each time why, and for how many seconds it waits.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        patience_s: float = 120.0,
        timeout_s: float = 600.0,
        on_wait: Note | None = None,
    ) -> None:
        base = base_url or _environment("HORNADA_BASE_URL", "OPENAI_BASE_URL") or DEFAULT_BASE_URL
        key = api_key or _environment("HORNADA_API_KEY", "OPENAI_API_KEY")
        self._wire = Wire(base, key, patience_s=patience_s, timeout_s=timeout_s, on_wait=on_wait)
        self._patience_s = patience_s
        self.base_url = self._wire.base_url

    def submit(
        self,
        path: str | Path,
        *,
        endpoint: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotent: bool = False,
        completion_window: str = "24h",
        on_sent: Sent | None = None,
        on_full: Callable[[Refused], None] | None = None,
    ) -> Batch:
        """Uploads a file of requests and makes a batch of it.

        ``endpoint``: the one that the first line names, if it is not given. ``idempotent``: answers the batch of an
        earlier submission of the same, if there is one that has not failed, expired or been cancelled. ``on_full``: is
        told that there is no room for a batch more, and returns when it is to be asked for again.
        """
        path = Path(path)
        endpoint = endpoint or endpoint_of(path)
        named = dict(metadata or {})
        key = new_id()
        if idempotent:
            named[MARK] = _digest(path, endpoint, named)
            before = [each for each in self.list(limit=_LOOKED_BACK) if each.metadata.get(MARK) == named[MARK]]
            for each in before:
                if not each.ended or each.status == "completed":
                    return each
            key = f"{named[MARK]}-{len(before)}"
        file = self._upload(path, key, on_sent)
        body: Json = {"input_file_id": file.id, "endpoint": endpoint, "completion_window": completion_window}
        while True:
            try:
                return self._create(body | ({"metadata": named} if named else {}), key)
            except Refused as refused:
                if on_full is None or refused.status != HTTPStatus.TOO_MANY_REQUESTS:
                    raise
                on_full(refused)

    def get(self, batch_id: str) -> Batch:
        """The batch now."""
        return read_batch(self._wire.get("batches", batch_id))

    def watch(self, batch_id: str, *, interval_s: float | None = None) -> Iterator[Batch]:
        """The batch now and again, until it has ended.

        ``interval_s`` None: whenever it has got on, where the server tells that; elsewhere ever more seldom, at most
        every 10 s.
        """
        began, tells = time.monotonic(), interval_s is None
        while True:
            batch = self.get(batch_id)
            yield batch
            if tells and not batch.ended:
                try:
                    for batch in events(self._wire, batch_id):
                        yield batch
                except Refused:
                    tells = False
                except (OSError, HTTPException, ValueError, KeyError):
                    pass  # cut off: it is asked again as if there were no events
            if batch.ended:
                return
            time.sleep(_grown(began) if interval_s is None else interval_s)

    def watch_all(self, batch_ids: Iterable[str], *, interval_s: float | None = None) -> Iterator[tuple[Batch, ...]]:
        """Several batches now and again, until all have ended; ``interval_s`` as that of ``watch``."""
        began, found = time.monotonic(), {batch_id: self.get(batch_id) for batch_id in batch_ids}
        while True:
            yield tuple(found.values())
            if all(batch.ended for batch in found.values()):
                return
            time.sleep(_grown(began) if interval_s is None else interval_s)
            found |= {batch_id: self.get(batch_id) for batch_id, batch in found.items() if not batch.ended}

    def wait(self, batch_id: str, *, interval_s: float | None = None) -> Batch:
        """The batch when it has ended."""
        *_, last = self.watch(batch_id, interval_s=interval_s)
        return last

    def results(self, batch_id: str, *, failed_only: bool = False) -> Iterator[Result]:
        """Every line's result, in the order of the input; ``failed_only``: those that were not answered.

        While the batch runs those that there are, from a server that gives them; NotEnded is raised by others.
        """
        with self.collected(batch_id) as found:
            for result in found:
                if not (failed_only and result.ok):
                    yield result

    @contextlib.contextmanager
    def collected(self, batch_id: str, source: Path | None = None, near: Path | None = None) -> Iterator[Collected]:
        """The batch's files in a folder of their own, for as long as the block lasts.

        ``source``: its input, where it lies on this machine. ``near``: where there is room for the files.
        """
        batch = self.get(batch_id)
        with tempfile.TemporaryDirectory(prefix=".hornada-", dir=near) as folder:
            if not batch.ended:
                paths = [self._so_far(batch, Path(folder) / "so-far.jsonl")]
            else:
                if source is None:
                    source = self._source(batch, Path(folder) / "input.jsonl")
                paths = []
                for name, file_id in (("output", batch.output_file_id), ("error", batch.error_file_id)):
                    if file_id:
                        paths.append(Path(folder) / f"{name}.jsonl")
                        download(self._wire, file_id, paths[-1])
            with Pool(paths) as pool:
                yield Collected(batch, source, pool)

    def download(self, file_id: str, path: str | Path) -> None:
        """The content of a file, byte for byte; a download that is cut off goes on where it was."""
        download(self._wire, file_id, Path(path))

    def retry(
        self,
        batch_id: str,
        *,
        only: Iterable[str | int] = (),
        custom_ids: Iterable[str] = (),
        answered: bool = False,
    ) -> Batch:
        """A new batch of the lines that failed, expired or were cancelled.

        ``only``: of those just the ones that failed with these codes or statuses. ``custom_ids``: just these lines,
        with ``answered`` also those that have an answer. Raises BadInput when there are none or not all, or the input
        is gone, and NotEnded while the batch runs.
        """
        choice = Choice(only=tuple(only), ids=frozenset(custom_ids), answered=answered)
        if (choice.only and choice.ids) or (answered and not choice.ids):
            raise BadInput("Codes and ids cannot be given together, and of answered lines ids are needed.")
        batch = self.get(batch_id)
        if not batch.ended:
            raise NotEnded(f"{batch.id} is {batch.status.replace('_', ' ')}: what failed can be run again at its end.")
        try:
            return self._retry(batch_id, choice)
        except Refused as refused:
            if refused.code == "batch_not_retryable":
                raise BadInput(str(refused)) from None
            if refused.status not in _NO_ROUTE | {HTTPStatus.REQUEST_ENTITY_TOO_LARGE}:
                raise
        with self.collected(batch_id) as found, tempfile.TemporaryDirectory(prefix="hornada-") as folder:
            path = Path(folder) / f"retry-of-{batch.id}.jsonl"
            with path.open("wb") as out:
                out.writelines(found.again(choice))
            if not path.stat().st_size:
                which = f" with {', '.join(map(str, choice.only))}" if choice.only else ""
                raise BadInput(f"No line of {batch.id} failed{which}: there is nothing to run again.")
            return self.submit(path, endpoint=batch.endpoint, metadata=batch.metadata)

    def _retry(self, batch_id: str, choice: Choice) -> Batch:
        """The retry of a server that has one."""
        body: Json = {"only": list(choice.only)} if choice.only else {}
        if choice.ids:
            body = {"custom_ids": sorted(choice.ids), "answered": choice.answered}
        headers = {"idempotency-key": new_id()}
        return read_batch(self._wire.post("batches", batch_id, "retry", body=body or None, headers=headers))

    def cancel(self, batch_id: str) -> Batch:
        """Asks for the end of a batch; what runs may still be finished."""
        return read_batch(self._wire.post("batches", batch_id, "cancel"))

    def pause(self, batch_id: str) -> Batch:
        """No further line starts until ``resume``; only a Hornada has that."""
        return read_batch(self._wire.post("batches", batch_id, "pause"))

    def resume(self, batch_id: str) -> Batch:
        """Lines of a paused batch start again."""
        return read_batch(self._wire.post("batches", batch_id, "resume"))

    def list(self, *, limit: int | None = None) -> Iterator[Batch]:
        """The batches that the key may see, newest first; ``limit`` None: all."""
        return listed(self._wire, "batches", read_batch, limit=limit)

    def files(self, *, purpose: str | None = None, limit: int | None = None) -> Iterator[File]:
        """The stored files that the key may see, newest first; ``limit`` None: all."""
        found = listed(self._wire, "files", read_file, limit=limit if purpose is None else None, purpose=purpose)
        some = (file for file in found if purpose in {None, file.purpose})
        return itertools.islice(some, limit)

    def file(self, file_id: str) -> File:
        """A stored file, without its bytes."""
        return read_file(self._wire.get("files", file_id))

    def upload(
        self,
        path: str | Path,
        *,
        purpose: str = "batch",
        lifetime_s: int | None = None,
        on_sent: Sent | None = None,
    ) -> File:
        """Stores a file; ``lifetime_s``: for so many seconds, instead of what the server takes for granted."""
        return self._upload(Path(path), new_id(), on_sent, purpose, lifetime_s)

    def delete_file(self, file_id: str) -> None:
        """Deletes a stored file. Raises Refused for one that a batch is reading, where the server minds."""
        self._wire.delete("files", file_id)

    def in_use(self) -> set[str]:
        """The ids of the files that batches which have not ended read; no server has some that run for over a week."""
        since = time.time() - _LONGEST_S
        lately = itertools.takewhile(lambda batch: (batch.created_at or since) >= since, self.list())
        try:
            return {batch.input_file_id for batch in lately if batch.input_file_id and not batch.ended}
        except Refused as refused:
            if refused.status not in _NO_ROUTE:
                raise
            return set()

    def me(self) -> Mapping[str, Any]:
        """Whose key it is, its plan and how much of it is used; only a Hornada tells."""
        return self._wire.get("me")

    def check(self, path: str | Path, *, endpoint: str | None = None) -> Checkup:
        """All that is wrong with a file, as the server finds it; as it is found here, where that has no check."""
        path = Path(path)
        endpoint = endpoint or endpoint_of(path)
        size, body = _pieces(path, None)
        try:
            return told(self._wire.send("batches", "validate", size=size, body=body, endpoint=endpoint))
        except Refused as refused:
            if refused.status not in _NO_ROUTE:
                raise
        return seen(check_file(path, endpoint=endpoint))

    def _upload(
        self, path: Path, key: str, on_sent: Sent | None, purpose: str = "batch", lifetime_s: int | None = None
    ) -> File:
        size, body = _pieces(path, on_sent)
        fields = {"purpose": purpose}
        if lifetime_s is not None:
            fields |= {"expires_after[anchor]": "created_at", "expires_after[seconds]": str(lifetime_s)}
        return read_file(self._wire.upload(path.name, size, body, fields, key=key))

    def _create(self, body: Json, key: str) -> Batch:
        """Creates a batch once: where the answer was lost, looks for it before it asks again."""
        began, tries, input_file = time.monotonic(), 0, body["input_file_id"]
        since = time.time() - _CLOCKS_S
        while True:
            try:
                made = self._wire.post("batches", body=body, headers={"idempotency-key": f"{key}-batch"}, once=True)
                return read_batch(made)
            except Unreached as lost:
                tries += 1
                if not lost.sent or time.monotonic() - began > self._patience_s:
                    raise
                time.sleep(wait_s(tries))
                for batch in self.list(limit=_LOOKED_AT):
                    if batch.input_file_id == input_file and (batch.created_at or 0) > since:
                        return batch

    def _so_far(self, batch: Batch, path: Path) -> Path:
        """The results of a batch that runs, in input order."""
        try:
            with self._wire.open("batches", batch.id, "results", format="file") as answer, path.open("wb") as out:
                shutil.copyfileobj(answer, out)
        except Refused as refused:
            if refused.status not in _NO_ROUTE:
                raise
            raise NotEnded(
                f"{batch.id} is {batch.status.replace('_', ' ')}: its results come when it has ended."
            ) from None
        return path

    def _source(self, batch: Batch, path: Path) -> Path | None:
        if batch.input_file_id is None:
            return None
        try:
            download(self._wire, batch.input_file_id, path)
        except Refused as refused:
            if refused.status not in {403, 404, 410}:
                raise
            return None
        return path


def _grown(began: float) -> float:
    """Seconds between two looks at what is watched since then."""
    return min(0.5 + (time.monotonic() - began) / 10, _MOST_INTERVAL_S)


def _pieces(path: Path, on_sent: Sent | None) -> tuple[int, Body]:
    """The size of a file, and its bytes for as many tries as it takes."""
    size = file_size(path)

    def body() -> Iterable[bytes]:
        sent = 0
        with opened(path) as source:
            while piece := source.read(min(PIECE, size - sent)):
                yield piece
                sent += len(piece)
                if on_sent is not None:
                    on_sent(sent, size)

    return size, body


def _digest(path: Path, endpoint: str, metadata: Mapping[str, Any]) -> str:
    with path.open("rb") as source:
        found = hashlib.file_digest(source, "sha256")
    found.update(repr((endpoint, sorted(metadata.items()))).encode())
    return found.hexdigest()[:32]


def _environment(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
