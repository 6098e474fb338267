"""Calls under /models and /billing."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.api.models import known, usable
from hornada.core.account import Plan, Principal, Role
from hornada.core.errors import Code, Refusal
from tests.api.site import CATALOG, CHAT, Site, open_site

ANYBODY = Principal(org="o", member="m", key="k", role=Role.MEMBER, plan=Plan())


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def test_models_are_listed_by_their_catalog_names(site: Site) -> None:
    listed = (await site.client.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["m-chat", "org/m embed:v1"]


@pytest.mark.parametrize("spelled", ["org/m%20embed:v1", "org%2Fm%20embed%3Av1", "Vectors"])
async def test_a_model_is_shown_under_its_name_or_alias_however_its_slash_is_sent(site: Site, spelled: str) -> None:
    assert (await site.client.get(f"/v1/models/{spelled}")).json()["id"] == "org/m embed:v1"


@pytest.mark.parametrize("base", ["/v1", "/infernode/v1", "/openai/v1"])
async def test_aliases_are_listed_and_not_taken_for_a_model(site: Site, base: str) -> None:
    listed = (await site.client.get(f"{base}/models/aliases")).json()
    assert [(alias["id"], alias["model"]) for alias in listed["data"]] == [
        ("Saptiva Turbo", "m-chat"),
        ("Vectors", "org/m embed:v1"),
    ]


def test_a_key_without_a_list_may_use_every_model() -> None:
    assert usable(ANYBODY, CATALOG) == {"m-chat", "org/m embed:v1"}


@pytest.mark.parametrize("name", ["m-chat", "Saptiva Turbo"])
def test_a_keys_list_names_models_by_catalog_name_or_alias(name: str) -> None:
    caller = Principal(org="o", member="m", key="k", role=Role.MEMBER, plan=Plan(), models=frozenset({name, "retired"}))
    assert usable(caller, CATALOG) == {"m-chat"}
    assert known(caller, CATALOG, "Saptiva Turbo").name == "m-chat"
    with pytest.raises(Refusal) as caught:
        known(caller, CATALOG, "Vectors")
    assert caught.value.code is Code.MODEL_NOT_FOUND
    assert caught.value.message.endswith("Models that this key may use: m-chat, Saptiva Turbo.")


@pytest.mark.parametrize("base", ["/v1", "/infernode/v1", "/openai/v1"])
async def test_the_balance_tells_the_last_movement(site: Site, base: str) -> None:
    assert (await site.client.get(f"{base}/billing/balance")).json() == {
        "object": "balance",
        "balance": 1000,
        "currency": "USD",
        "last_event": {
            "endpoint": CHAT + ":batch",
            "model": "m-chat",
            "amount": 12,
            "tokens": 34,
            "created_at": 1_760_000_000,
        },
    }


async def test_before_the_first_use_there_is_no_movement(tmp_path: Path) -> None:
    async with open_site(tmp_path, used=False) as site:
        assert (await site.client.get("/v1/billing/balance")).json()["last_event"] is None
