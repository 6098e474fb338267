"""One bare msgspec pass over a batch file: every line's envelope and model decoded, nothing checked. Prints seconds."""

import sys
import time
from pathlib import Path

import msgspec


class Body(msgspec.Struct):
    """What routing needs of a body."""

    model: str


class Line(msgspec.Struct):
    """The envelope."""

    custom_id: str
    method: str
    url: str
    body: Body


def main(source: str) -> None:
    """Reads and decodes the file once."""
    decode = msgspec.json.Decoder(Line).decode
    began = time.perf_counter()
    with Path(source).open("rb") as lines:
        for line in lines:
            decode(line)
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1])
