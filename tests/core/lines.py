"""Input lines for tests."""

import json
from collections.abc import Mapping

from hornada.core.jsonl import Checked, Checker, CheckRules, Named
from hornada.core.limits import Limits

CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"

NAMES = {
    "m-chat": Named("m-chat", allowed=True, offers=True, batchable=True),
    "Turbo": Named("m-chat", allowed=True, offers=True, batchable=True),
    "m-other": Named("m-other", allowed=True, offers=True, batchable=True),
    "m-nobatch": Named("m-nobatch", allowed=True, offers=True, batchable=False),
    "m-text": Named("m-text", allowed=True, offers=False, batchable=True),
    "m-secret": Named("m-secret", allowed=False, offers=True, batchable=True),
}


def rules(endpoint: str = CHAT, **limits: int) -> CheckRules:
    return CheckRules(endpoint=endpoint, limits=Limits(**limits), names=NAMES)


def body(text: str = "hi", **changes: object) -> dict[str, object]:
    return {"model": "m-chat", "messages": [{"role": "user", "content": text}], **changes}


def line(custom_id: str, /, **changes: object) -> bytes:
    """A chat line without its LF; a change of ``...`` takes a field away."""
    fields = {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body(), **changes}
    return encode({key: value for key, value in fields.items() if value is not ...})


def encode(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode()


def embedding(custom_id: str, value: object) -> bytes:
    return encode({"custom_id": custom_id, "url": EMBEDDINGS, "body": {"model": "m-chat", "input": value}})


def check(data: bytes, given: CheckRules | None = None, *, block: int = 1 << 20) -> Checked:
    checker = Checker(given or rules())
    for at in range(0, len(data), block):
        checker.feed(data[at : at + block])
    return checker.finish()


def found(data: bytes, given: CheckRules | None = None) -> list[tuple[int | None, str, str | None]]:
    """(line, code, param) of each finding."""
    return [(finding.line, finding.code.value, finding.param) for finding in check(data, given).findings]
