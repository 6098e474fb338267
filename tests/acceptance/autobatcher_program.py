"""A user's program on autobatcher, whose concurrent calls become one batch. Arguments: BASE KEY MODEL.

Runs in an environment of its own (autobatcher brings an older openai); prints what happened as one JSON object.
"""

import asyncio
import json
import sys
from typing import Any

from autobatcher import BatchOpenAI

CALLS = 20
PATIENCE_S = 60


async def main(base: str, key: str, model: str) -> dict[str, Any]:
    """Twenty chat calls at once, then five embeddings."""
    events: list[dict[str, Any]] = []
    client = BatchOpenAI(
        base_url=base,
        api_key=key,
        batch_size=50,
        batch_window_seconds=0.5,
        poll_interval_seconds=0.5,
        completion_window="24h",
        batch_metadata={"suite": "autobatcher"},
        batch_event_handler=events.append,
    )
    try:
        answers = await gathered(
            client.chat.completions.create(
                model=model, max_tokens=8, messages=[{"role": "user", "content": f"Question {n}: say a colour."}]
            )
            for n in range(CALLS)
        )
        sent = [event["request_count"] for event in events if event["event"] == "batch_submitted"]
        vectors = await gathered(client.embeddings.create(model=model, input=f"text {n}") for n in range(5))
    finally:
        await client.close()
    return {
        "failures": [repr(found)[:300] for found in answers + vectors if isinstance(found, Exception)],
        "tokens": [found.usage.total_tokens for found in answers if not isinstance(found, Exception)],
        "batches": sent,
        "vectors": [len(found.data) for found in vectors if not isinstance(found, Exception)],
    }


async def gathered(calls: Any) -> list[Any]:
    """Every answer or exception."""
    return list(await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), PATIENCE_S))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:4]))))
