"""``hornada me``: whose key it is, and how much of its plan is used."""

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from hornada.cli.remote import ApiKeyFlag, BaseUrlFlag, JsonFlag, connect, show, told

_LIMITS = (("batches", "active_batches"), ("queued lines", "queued_lines"))


def me(base_url: BaseUrlFlag = None, api_key: ApiKeyFlag = None, as_json: JsonFlag = False) -> None:
    """Say whose key it is and how much of its plan is used.

    Only a Hornada tells that.
    """
    with told():
        found = connect(base_url, api_key).me()
        if as_json:
            show(found)
            return
        for line in _lines(found):
            typer.echo(line)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"role: {found['role']}"
    if found["organization"] is None:
        return
    plan, used = found["plan"], found["used"]
    yield f"organization: {found['organization']['name']}"
    yield f"member: {found['member']['name']}"
    yield f"key: {found['key']['name']}"
    yield f"plan: {plan['name']}"
    for words, name in _LIMITS:
        yield f"{words}: {used[name]:,} of {plan[name]:,}"
    yield f"storage: {used['storage_bytes'] / 1e6:,.1f} of {plan['storage_bytes'] / 1e6:,.1f} MB"
    yield f"requests a minute: {found['key']['requests_per_minute'] or plan['requests_per_minute']:,}"
