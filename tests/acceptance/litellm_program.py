"""What litellm's users do with batches, and a regular call: BASE KEY MODEL. Prints what came of it as JSON."""

import json
import sys
import time
from typing import Any

import litellm

BASE, KEY, MODEL = sys.argv[1:4]
ENDPOINT = "/v1/chat/completions"
at: dict[str, Any] = {"custom_llm_provider": "openai", "api_base": BASE, "api_key": KEY}


def line(number: int) -> dict[str, Any]:
    """A request."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": f"litellm {number}"}], "max_tokens": 8}
    return {"custom_id": f"r-{number}", "method": "POST", "url": ENDPOINT, "body": body}


data = b"".join(json.dumps(line(number)).encode() + b"\n" for number in range(6))
file = litellm.create_file(file=("in.jsonl", data), purpose="batch", **at)
batch: Any = litellm.create_batch(
    completion_window="24h", endpoint=ENDPOINT, input_file_id=file.id, metadata={"suite": "litellm"}, **at
)
while batch.status not in {"completed", "failed", "expired", "cancelled"}:
    time.sleep(0.2)
    batch = litellm.retrieve_batch(batch_id=batch.id, **at)
content: Any = litellm.file_content(file_id=str(batch.output_file_id), **at)
listed: Any = litellm.list_batches(limit=5, **at)
answer: Any = litellm.completion(
    model=f"openai/{MODEL}", messages=[{"role": "user", "content": "hi"}], max_tokens=4, api_base=BASE, api_key=KEY
)
print(
    json.dumps(
        {
            "status": batch.status,
            "ids": [json.loads(row)["custom_id"] for row in content.content.splitlines()],
            "listed": batch.id in [each.id for each in listed.data],
            "tokens": answer.usage.total_tokens,
        }
    )
)
