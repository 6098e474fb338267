"""Reads the lines of claimed chunks from their batch's input."""

import asyncio
from collections.abc import AsyncIterator

from hornada.blobs.protocol import Blobs
from hornada.core.chunk import CHUNK_BYTES
from hornada.core.errors import Broken
from hornada.core.jsonl import parse_requests
from hornada.core.line import Request
from hornada.store.chunk import Work

_AT_A_STRETCH = 8


def adjoining(claimed: list[Work]) -> list[list[Work]]:
    """Claimed chunks in groups that one read of at most CHUNK_BYTES or one chunk can fetch."""
    groups: list[list[Work]] = []
    for work in claimed:
        span = work.chunk.span
        if groups:
            first, last = groups[-1][0].chunk.span, groups[-1][-1].chunk.span
            beside = last.offset + last.length == span.offset and groups[-1][-1].chunk.batch == work.chunk.batch
            if beside and span.offset + span.length - first.offset <= CHUNK_BYTES:
                groups[-1].append(work)
                continue
        groups.append([work])
    return groups


async def read_chunks(blobs: Blobs, group: list[Work]) -> AsyncIterator[tuple[Work, list[Request]]]:
    """Chunks that lie side by side, each with its lines; the event loop turns after every few.

    Raises Unavailable, and Broken when the input is not what was counted.
    """
    source, start = group[0].source, group[0].chunk.span.offset
    end = group[-1].chunk.span.offset + group[-1].chunk.span.length
    data = memoryview(await blobs.read(source.input_object, start, end - start))
    for at, work in enumerate(group, 1):
        span = work.chunk.span
        piece = data[span.offset - start : span.offset - start + span.length]
        requests = parse_requests(bytes(piece), at_start=span.offset == 0)
        if len(requests) != span.n:
            raise Broken(f"{source.input_object} holds {len(requests)} requests where {span.n} were counted")
        yield work, requests
        await breathe(at)


async def breathe(at: int) -> None:
    """Lets the event loop turn after every few chunks of a long pass."""
    if at % _AT_A_STRETCH == 0:
        await asyncio.sleep(0)
