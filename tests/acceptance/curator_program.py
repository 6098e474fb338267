"""Curator in batch mode: BASE KEY MODEL FOLDER. Prints what came of it as JSON."""

import json
import os
import sys
from typing import Any

BASE, KEY, MODEL, FOLDER = sys.argv[1:5]
os.environ |= {"CURATOR_CACHE_DIR": FOLDER, "TELEMETRY_ENABLED": "false", "CURATOR_DISABLE_RICH_DISPLAY": "1"}

from bespokelabs import curator  # noqa: E402 - it reads the environment when it is imported

parameters: dict[str, Any] = {
    "base_url": BASE,
    "api_key": KEY,
    "batch_size": 4,
    "batch_check_interval": 1,
    "invalid_finish_reasons": ["content_filter"],  # it takes "length", which a few tokens end with, for a failure too
}
llm = curator.LLM(
    model_name=MODEL,
    backend="openai",
    batch=True,
    backend_params=parameters,
    generation_params={"max_tokens": 8},
)
answered = llm([f"Question {number}: say a colour." for number in range(8)])
rows = getattr(answered, "dataset", answered)
print(json.dumps({"answered": len([row for row in rows if row["response"]])}))
