"""The usual good client: aiohttp on uvloop, every answer parsed and written. Arguments: IN OUT BASE CONNECTIONS."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvloop


async def main(source: str, target: str, base: str, connections: int) -> None:
    """Sends every line of ``source``, writes a result line for each."""
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    connector = aiohttp.TCPConnector(limit=connections)
    timeout = aiohttp.ClientTimeout(total=None)
    with Path(source).open("rb") as lines, Path(target).open("wb") as output:
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

            async def work() -> None:
                for line in lines:
                    asked: Any = decode(line)
                    async with session.post(
                        base + asked["url"],
                        data=encode(asked["body"]),
                        headers={"Content-Type": "application/json"},
                    ) as answer:
                        body: Any = decode(await answer.read())
                        response = {"status_code": answer.status, "request_id": body.get("id"), "body": body}
                        row = {"id": "r", "custom_id": asked["custom_id"], "response": response, "error": None}
                        output.write(encode(row) + b"\n")

            await asyncio.gather(*(work() for _ in range(connections)))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
