"""An evaluation with inspect-ai in batch mode: BASE KEY MODEL FOLDER. Prints what came of it as JSON."""

import json
import sys

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import BatchConfig, GenerateConfig, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

BASE, KEY, MODEL, FOLDER = sys.argv[1:5]

config = GenerateConfig(max_tokens=8, max_connections=20, batch=BatchConfig(size=20, send_delay=1, tick=0.5))
model = get_model(f"openai/{MODEL}", base_url=BASE, api_key=KEY, responses_api=False, config=config)
samples = [Sample(input=f"Question {number}: say a colour.", target="a") for number in range(12)]
task = inspect_ai.Task(dataset=samples, solver=generate(), scorer=includes())
(log,) = inspect_ai.eval(task, model=model, display="none", log_dir=FOLDER, fail_on_error=False)
print(
    json.dumps(
        {
            "status": log.status,
            "error": log.error.message if log.error else None,
            "answered": sum(bool(sample.output.completion) for sample in log.samples or []),
            "errors": [str(sample.error.message) for sample in log.samples or [] if sample.error],
        }
    )
)
