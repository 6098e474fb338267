"""The nouns that the dialects' tests spell."""

from hornada.core.batch import Batch, RequestCounts, Status, Usage
from hornada.core.clock import SECOND
from hornada.core.file import File, Purpose

MOMENT = 1_754_894_162 * SECOND + 949_816
HOUR = 3600 * SECOND

INPUT = File(
    id="d2cor0es1cas73c0cjd0",
    org="o1",
    member="m1",
    key="k1",
    purpose=Purpose.BATCH,
    name="batch_input.jsonl",
    bytes=238,
    sha256="ab" * 32,
    object="input/x",
    requests=2,
    created_at=MOMENT,
    expires_at=MOMENT + 720 * HOUR,
)

FRESH = Batch(
    id="d2cq73a68lu0",
    org="o1",
    member="m1",
    key="cc19f96c",
    dialect="novita",
    endpoint="/v1/chat/completions",
    completion_window="24h",
    model=None,
    input_file=INPUT.id,
    status=Status.VALIDATING,
    stop=None,
    checked=False,
    created_at=MOMENT,
    expires_at=MOMENT + 24 * HOUR,
    updated_at=MOMENT,
)

DONE = Batch(
    id="d2cq73a68lu0",
    org="o1",
    member="m1",
    key="cc19f96c",
    dialect="infernode",
    endpoint="/v1/chat/completions",
    completion_window="24h",
    model="m-chat",
    input_file=INPUT.id,
    status=Status.COMPLETED,
    stop=None,
    checked=True,
    created_at=MOMENT,
    expires_at=MOMENT + 24 * HOUR,
    updated_at=MOMENT + 3 * SECOND,
    in_progress_at=MOMENT + SECOND,
    finalizing_at=MOMENT + 2 * SECOND,
    completed_at=MOMENT + 3 * SECOND,
    output_file="out1",
    error_file="err1",
    metadata={"suite": "golden"},
    counts=RequestCounts(3, 2, 1),
    usage=Usage(input=10, cached=4, output=26, reasoning=5),
)
