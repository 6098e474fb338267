"""The least that asyncio can do: one Protocol a connection, httptools, answers spliced as bytes, nothing durable.

Arguments: IN OUT BASE CONNECTIONS.
"""

import asyncio
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import urlsplit

import httptools
import msgspec
import uvloop


class Line(msgspec.Struct):
    """An input line whose body stays as it is."""

    custom_id: str
    url: str
    body: msgspec.Raw


DECODE = msgspec.json.Decoder(Line).decode
HEAD = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
ROW = b'{"id":"r","custom_id":%s,"response":{"status_code":%d,"request_id":null,"body":%s},"error":null}\n'


class Connection(asyncio.Protocol):
    """Sends line after line until there are none."""

    def __init__(self, lines: Iterator[bytes], output: BinaryIO, over: asyncio.Future[None]) -> None:
        self.lines = lines
        self.output = output
        self.over = over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts with the next line."""
        self.transport = cast("asyncio.Transport", transport)
        self.next()

    def next(self) -> None:
        """Sends the next line, or ends."""
        line = next(self.lines, None)
        if line is None:
            self.transport.close()
            self.over.set_result(None)
            return
        asked = DECODE(line)
        self.custom_id = msgspec.json.encode(asked.custom_id)
        self.parts: list[bytes] = []
        self.parser = httptools.HttpResponseParser(self)
        body = bytes(asked.body)
        self.transport.write(HEAD % (asked.url.encode(), len(body), body))

    def data_received(self, data: bytes) -> None:
        """Feeds the parser."""
        self.parser.feed_data(data)

    def on_body(self, part: bytes) -> None:
        """A piece of the answer."""
        self.parts.append(part)

    def on_message_complete(self) -> None:
        """The answer is whole: write it, go on."""
        self.output.write(ROW % (self.custom_id, self.parser.get_status_code(), b"".join(self.parts)))
        self.next()


async def main(source: str, target: str, base: str, connections: int) -> None:
    """Sends every line of ``source``, writes a result line for each."""
    loop = asyncio.get_running_loop()
    address = urlsplit(base)
    with Path(source).open("rb") as lines, Path(target).open("wb", buffering=1 << 20) as output:
        ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(connections)]
        for end in ends:
            make = partial(Connection, lines, output, end)
            await loop.create_connection(make, address.hostname or "127.0.0.1", address.port or 80)
        await asyncio.gather(*ends)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
