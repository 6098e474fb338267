"""Money over HTTP: balance, usage, credit."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hornada.store import ledger
from tests.api.site import CHAT, CREDIT, KEY, LAST, OPERATOR_KEY, Site, open_site
from tests.store.test_ledger import entry

OPERATOR = {"authorization": f"Bearer {OPERATOR_KEY}"}
DAY = 86_400_000_000
TODAY = 20_370 * DAY
"""2025-10-09, the day of the site's only line."""


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as site:
        yield site


async def organization(site: Site) -> str:
    listed = await site.client.get("/admin/organizations", headers=OPERATOR)
    return str(listed.json()["data"][0]["id"])


async def use(site: Site, *entries: ledger.LedgerEntry) -> None:
    org = await organization(site)
    async with site.db.write() as tx:
        await ledger.insert(tx, [replace(each, org=org) for each in entries])


async def usage(site: Site, query: str, base: str = "/v1") -> dict:
    answer = await site.client.get(f"{base}/billing/usage?{query}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_usage_tells_lines_and_regular_calls_apart(site: Site) -> None:
    call = replace(entry("c", created_at=TODAY, batch=None), endpoint=CHAT, lines=1, amount=5, model="m-chat")
    await use(site, call)
    found = await usage(site, "from=2025-10-09&to=2025-10-09")
    assert (found["object"], found["currency"], found["amount"]) == ("list", "USD", LAST + 5)
    assert found["data"] == [
        {
            "object": "billing.usage",
            "day": "2025-10-09",
            "model": "m-chat",
            "endpoint": CHAT,
            "requests": 1,
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 15,
            "amount": 5,
            "estimated": True,
        },
        {
            "object": "billing.usage",
            "day": "2025-10-09",
            "model": "m-chat",
            "endpoint": f"{CHAT}:batch",
            "requests": 1,
            "input_tokens": 30,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 34,
            "amount": LAST,
            "estimated": False,
        },
    ]


async def test_days_are_utc_and_both_ends_count(site: Site) -> None:
    await use(site, *(replace(entry(f"{at}", created_at=at), amount=1) for at in (TODAY - 1, TODAY, TODAY + DAY - 1)))
    await use(site, replace(entry("after", created_at=TODAY + DAY), amount=1))
    assert (await usage(site, "from=2025-10-09&to=2025-10-09"))["amount"] == LAST + 2
    assert (await usage(site, "from=2025-10-08&to=2025-10-10"))["amount"] == LAST + 4


async def test_what_is_not_kept_apart_is_summed(site: Site) -> None:
    await use(site, replace(entry("o", created_at=TODAY + DAY), amount=1))
    days = await usage(site, "from=2025-10-01&to=2025-10-31&group_by=day")
    assert [(each["day"], each["model"], each["endpoint"], each["amount"]) for each in days["data"]] == [
        ("2025-10-09", None, None, LAST),
        ("2025-10-10", None, None, 1),
    ]
    models = await usage(site, "from=2025-10-01&to=2025-10-31&group_by=model,endpoint", "/openai/v1")
    assert {(each["day"], each["model"]) for each in models["data"]} == {(None, "m"), (None, "m-chat")}


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("from=yesterday", "from"),
        ("to=2025-1-9", "to"),
        ("to=20251009", "to"),
        ("from=2025-10-09&to=2025-10-08", "from"),
        ("from=2020-01-01&to=2025-10-08", "from"),
        ("group_by=key", "group_by"),
        ("group_by=", "group_by"),
    ],
)
async def test_a_query_that_means_nothing_is_refused(site: Site, query: str, param: str) -> None:
    answer = await site.client.get(f"/v1/billing/usage?{query}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_value", param)


async def test_without_a_query_it_is_the_last_thirty_days(site: Site) -> None:
    answer = await site.client.get("/v1/billing/usage")
    assert (answer.status_code, answer.json()["data"]) == (200, [])


async def test_the_operator_gives_credit_and_sees_what_is_left(site: Site) -> None:
    org = await organization(site)
    path = f"/admin/organizations/{org}"
    given = await site.client.post(f"{path}/credits", json={"amount": 500, "note": "invoice 7"}, headers=OPERATOR)
    assert (given.status_code, given.json()["balance"]) == (200, CREDIT - LAST + 500)
    assert (await site.client.get(f"{path}/balance", headers=OPERATOR)).json() == given.json()
    assert (await site.client.get("/v1/billing/balance")).json() == given.json()
    audit = (await site.client.get("/admin/audit", headers=OPERATOR)).json()["data"][0]
    assert (audit["action"], audit["detail"]) == ("credit.add", {"amount": 500, "note": "invoice 7"})


async def test_an_admin_sees_its_own_balance_and_gives_itself_nothing(site: Site) -> None:
    path = f"/admin/organizations/{await organization(site)}"
    assert (await site.client.get(f"{path}/balance")).json()["balance"] == CREDIT - LAST
    refused = await site.client.post(f"{path}/credits", json={"amount": 500})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "permission_denied")
    assert (await site.client.get("/admin/reconciliation")).status_code == 403


@pytest.mark.parametrize("path", ["/admin/organizations/none/balance", "/admin/organizations/none/credits"])
async def test_an_unknown_organization_is_not_found(site: Site, path: str) -> None:
    for headers in (OPERATOR, {"authorization": f"Bearer {KEY}"}):
        method = "POST" if path.endswith("credits") else "GET"
        if method == "POST" and headers is not OPERATOR:
            continue
        answer = await site.client.request(method, path, json={"amount": 1}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "organization_not_found")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "missing_required_parameter"),
        ({"amount": "5"}, "invalid_type"),
        ({"amount": 1.5}, "invalid_type"),
        ({"amount": True}, "invalid_type"),
        ({"amount": -1}, "integer_below_min_value"),
        ({"amount": 10**15 + 1}, "integer_above_max_value"),
        ({"amount": 1, "note": 5}, "invalid_type"),
        ({"amount": 1, "note": "x" * 513}, "string_above_max_length"),
        ({"amount": 1, "currency": "USD"}, "invalid_value"),
    ],
)
async def test_credit_that_is_none_is_refused(site: Site, body: dict, code: str) -> None:
    answer = await site.client.post(
        f"/admin/organizations/{await organization(site)}/credits", json=body, headers=OPERATOR
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


async def test_credit_ends_where_a_database_does(site: Site) -> None:
    path = f"/admin/organizations/{await organization(site)}/credits"
    async with site.db.write() as tx:
        await tx.run("UPDATE balance SET credited = :credited", credited=10**18 - 5)
    assert (await site.client.post(path, json={"amount": 5}, headers=OPERATOR)).status_code == 200
    error = (await site.client.post(path, json={"amount": 1}, headers=OPERATOR)).json()["error"]
    assert (error["code"], error["param"]) == ("integer_above_max_value", "amount")
    assert "at most 1000000000000000000 micro-units in all" in error["message"]


async def test_money_is_told_however_much_was_used(site: Site) -> None:
    await use(site, *[replace(entry(f"huge/{at}", created_at=TODAY), amount=10**24) for at in range(12)])
    assert (await site.client.get("/v1/billing/balance")).json()["balance"] < -(10**18)
    assert (await usage(site, "from=2025-10-09&to=2025-10-09"))["amount"] > 8 * 10**18
    assert (await site.client.get("/admin/reconciliation", headers=OPERATOR)).status_code == 200


async def test_the_operator_has_no_balance_of_its_own(site: Site) -> None:
    for path in ("balance", "usage"):
        answer = await site.client.get(f"/v1/billing/{path}", headers=OPERATOR)
        assert answer.status_code == 403


async def test_a_reconciliation_tells_what_differs(site: Site) -> None:
    assert (await site.client.get("/admin/reconciliation", headers=OPERATOR)).json() == {"object": "list", "data": []}
    async with site.db.write() as tx:
        await tx.run("UPDATE balance SET amount = amount - 1")
    data = (await site.client.get("/admin/reconciliation", headers=OPERATOR)).json()["data"]
    what = "amounts folded and movement of the balance"
    assert data == [{"what": what, "of": await organization(site), "ledger": 0, "found": 1}]


async def test_a_regular_call_without_balance_is_402_and_control_calls_are_not(site: Site) -> None:
    await use(site, replace(entry("all"), amount=CREDIT))
    body = {"model": "m-chat", "messages": [{"role": "user", "content": "hi"}]}
    answer = await site.client.post("/v1/chat/completions", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (402, "insufficient_credits", "billing_error")
    file = await site.upload()
    assert file.status_code == 200
    assert (await site.create(file.json()["id"])).status_code == 200
    for path in ("/v1/files", "/v1/batches", "/v1/models", "/v1/billing/balance", "/v1/billing/usage"):
        assert (await site.client.get(path)).status_code == 200
    unknown = await site.client.post("/v1/chat/completions", json=body | {"model": "other"})
    assert unknown.status_code == 404, "what is wrong with a call is told before what it would cost"
