"""A model server that writes down each call: when it began, for which model and line, when and how it ended.

The text of a call says what to do: ``[[b3.17]] 0.12 500`` is line 17 of batch 3, answered after 0.12 s, the first time
with 500. 400 is said every time. A caller who hangs up ends its call. The log has a line ``+ id time model mark`` for
each beginning and ``- id time status`` for each end (``gone``: nobody waited any more); times are CLOCK_MONOTONIC,
which all processes of a machine share. Run as ``python -m tests.chaos.model_server --port N --log FILE``.
"""

import argparse
import asyncio
import json
import re
import time
from itertools import count
from pathlib import Path
from typing import TextIO

TEXT = re.compile(rb"\[\[([^\]]+)\]\] ([0-9.]+) ([0-9]+)")
_LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)
_MODEL = re.compile(rb'"model": *"([^"]+)"')


class Book:
    """The log, and what was asked before."""

    def __init__(self, log: TextIO) -> None:
        self._log = log
        self._ids = count()
        self._seen: set[str] = set()

    def begin(self, model: str, mark: str) -> tuple[int, bool]:
        """The call's id, and whether this line was asked before."""
        call, again = next(self._ids), mark in self._seen
        self._seen.add(mark)
        self._log.write(f"+ {call} {time.monotonic():.4f} {model} {mark}\n")
        return call, again

    def end(self, call: int, status: str) -> None:
        """A call is over."""
        self._log.write(f"- {call} {time.monotonic():.4f} {status}\n")


class Line(asyncio.Protocol):
    """One connection; a call at a time."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._data = b""
        self._call: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._call is not None:
            self._book.end(self._call, "gone")

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        self._data += data
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = _LENGTH.search(head)
        size = int(length[1]) if length else 0
        if len(rest) < size:
            return
        self._data = rest[size:]
        self._asked(head, rest[:size])

    def _asked(self, head: bytes, body: bytes) -> None:
        text, model = TEXT.search(body), _MODEL.search(body)
        if not head.startswith(b"POST") or text is None or model is None:
            self._put(200, {"object": "list", "data": []})
            return
        mark, name, status = text[1].decode(), model[1].decode(), int(text[3])
        self._call, again = self._book.begin(name, mark)
        if status == 500 and again:
            status = 200
        self._timer = asyncio.get_running_loop().call_later(float(text[2]), self._answer, name, mark, status)

    def _answer(self, model: str, mark: str, status: int) -> None:
        assert self._call is not None
        call, self._call, self._timer = self._call, None, None
        self._book.end(call, str(status))
        if status != 200:
            self._put(status, {"error": {"message": f"no {mark}", "type": "mock", "code": "mock"}})
            return
        message = {"role": "assistant", "content": f"echo {mark}"}
        self._put(
            200,
            {
                "id": "chatcmpl-mock",
                "object": "chat.completion",
                "created": 1,
                "model": model,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
            },
        )

    def _put(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        assert self._transport is not None
        self._transport.write(head.encode() + body)


async def serve(port: int, log: Path) -> None:
    """Serves until it is killed."""
    with log.open("a", buffering=1) as out:
        book = Book(out)
        server = await asyncio.get_running_loop().create_server(lambda: Line(book), "0.0.0.0", port, backlog=1024)  # noqa: S104 - worlds of their own
        async with server:
            await server.serve_forever()


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.log))


if __name__ == "__main__":
    main()
