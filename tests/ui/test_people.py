"""What operators and admins do: organizations, members, keys, plans, models, credit, audit."""

import re
import uuid

from playwright.sync_api import expect

from tests.ui.conftest import Visit
from tests.ui.visitor import LONG, OPERATOR_KEY, Visitor, line


def choose(visitor: Visitor, tab: str) -> None:
    """Opens a tab of the administration."""
    visitor.page.get_by_role("navigation", name="Administration").get_by_role("link", name=tab).click()


def test_an_operator_makes_an_organization_with_a_member_and_a_key_that_is_shown_once(visit: Visit) -> None:
    operator = visit(key=OPERATOR_KEY, permissions=["clipboard-read", "clipboard-write"]).go("#/admin")
    page, name = operator.page, f"Bakery {uuid.uuid4().hex[:6]}"
    operator.button("New organization").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    page.get_by_role("link", name=name).click()
    expect(operator.heading).to_have_text(name)

    expect(operator.button("New key")).to_be_disabled()
    operator.button("Add member").click()
    page.get_by_label("Name").fill("Ana Torres")
    page.get_by_label("Role").select_option("Administrator")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(page.get_by_role("region", name="Members").last).to_contain_text("Ana Torres")

    operator.button("New key").click()
    page.get_by_label("Name").fill("notebook")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    secret = page.locator(".secret")
    expect(secret).to_have_text(re.compile(r"sk-.{20,}"))
    key = secret.inner_text()
    operator.button("Copy key").click()
    expect(operator.button("Copy key").locator("svg")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key
    operator.button("I have it").click()
    expect(secret).to_have_count(0)
    expect(page.locator("body")).not_to_contain_text(key)

    operator.button("Add credit").click()
    page.get_by_label("Amount in USD").fill("12.5")
    page.get_by_role("dialog").get_by_role("button", name="Add credit").click()
    expect(page.locator(".figure", has_text="Balance")).to_contain_text("$12.50")

    member = visit(key=key).go()
    expect(member.heading).to_have_text(name)
    expect(member.page.locator(".figure", has_text="Balance")).to_contain_text("$12.50")


def test_a_key_that_is_revoked_while_it_is_in_use_leads_back_to_the_log_in(visit: Visit) -> None:
    operator = visit(key=OPERATOR_KEY)
    org, key = operator.organization(f"Revoked {uuid.uuid4().hex[:6]}")
    visitor = visit(key=key).go("#/batches")
    operator.go(f"#/admin/organizations/{org}")
    operator.button("Revoke first").click()
    operator.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(operator.page.locator("tbody .status.revoked")).to_be_visible()
    while visitor.client.call("GET", "/me").ok:  # a good key is remembered for a second
        visitor.page.wait_for_timeout(50)
    visitor.page.get_by_role("link", name="Files").click()
    expect(visitor.page.get_by_text("Your key is not accepted any more")).to_be_visible()
    assert visitor.page.evaluate("sessionStorage['hornada.key']") is None


def test_an_operator_pauses_a_model_prices_one_and_moves_an_alias(visit: Visit) -> None:
    operator = visit(key=OPERATOR_KEY).go("#/admin/models")
    page, name = operator.page, f"m-{uuid.uuid4().hex[:6]}"
    operator.button("Add a model").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Address of its server").fill("http://127.0.0.1:9/v1")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    row = page.locator("tbody tr", has_text=name)
    row.get_by_role("button", name="Price").click()
    page.get_by_label("Input, USD per million tokens", exact=True).fill("0.25")
    page.get_by_role("dialog").get_by_role("button", name="Price").click()
    expect(row).to_contain_text("$0.25")
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("Paused")

    choose(operator, "Aliases")
    operator.button("New alias").click()
    page.get_by_role("textbox", name="Alias").fill(f"{name}-alias")
    page.get_by_role("combobox", name="Model").select_option("m-chat")
    operator.button("Save").click()
    operator.button(f"Move {name}-alias").click()
    page.get_by_role("combobox", name="Model").select_option(name)
    operator.button("Save").click()
    expect(page.locator("tbody tr", has_text=f"{name}-alias").locator("td").first).to_have_text(name)

    page.get_by_role("link", name="Models").first.click()
    expect(page.locator(".tile", has_text=name).first).to_contain_text("Paused")
    operator.go("#/admin/models")
    row.get_by_role("button", name="Retire").click()
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    expect(row).to_have_count(0)
    choose(operator, "Audit")
    expect(page.locator("tbody")).to_contain_text("model.retire")


def test_an_operator_sees_every_organizations_batches_and_cancels_one(visit: Visit) -> None:
    operator = visit(key=OPERATOR_KEY)
    name = f"Watched {uuid.uuid4().hex[:6]}"
    _, key = operator.organization(name)
    owner = visit(key=key)
    batch = owner.submit([line(f"o{at}", f"operator {at}", delay=1) for at in range(LONG)], name=f"Theirs {name}")
    operator.go("#/admin/batches")
    row = operator.page.locator("tbody tr", has_text=f"Theirs {name}")
    expect(row).to_contain_text(name)
    row.get_by_role("link").click()
    operator.button("Cancel batch").click()
    operator.page.get_by_role("dialog").get_by_role("button", name="Cancel batch").click()
    expect(operator.page.locator(".page-head .status")).to_have_text("Cancelled")
    assert owner.client.batch(batch)["errors"]["data"][0]["code"] == "cancelled_by_platform_admin"


def test_an_operator_sets_a_plan_and_puts_an_organization_on_it(visit: Visit) -> None:
    operator = visit(key=OPERATOR_KEY)
    plan = f"plan-{uuid.uuid4().hex[:6]}"
    org, _ = operator.organization(f"Of {plan}")
    page = operator.go("#/admin/plans").page
    operator.button("New plan").click()
    page.get_by_label("Name").fill(plan)
    page.get_by_label("Batches at once").fill("7")
    operator.button("Save").click()
    expect(page.locator("tbody tr", has_text=plan)).to_contain_text("7")
    operator.go(f"#/admin/organizations/{org}")
    operator.button("Change plan").click()
    page.get_by_role("dialog").get_by_label("Plan").select_option(plan)
    page.get_by_role("dialog").get_by_role("button", name="Change plan").click()
    expect(page.locator(".figure", has_text="Plan")).to_contain_text(plan)


def test_an_admin_manages_a_webhook(visit: Visit) -> None:
    shared = visit()
    _, key = shared.organization(f"Hooked {uuid.uuid4().hex[:6]}")
    admin = visit(key=key).go("#/webhooks")
    page = admin.page
    admin.button("New webhook").click()
    page.get_by_label("Name").fill("receiver")
    page.get_by_label("URL").fill("http://127.0.0.1/hook")
    page.get_by_label("batch.cancelled").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("https")
    page.get_by_label("URL").fill("https://example.com/hook")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(page.locator(".secret")).to_have_text(re.compile("whsec_.+"))
    admin.button("I have it").click()
    row = page.locator("tbody tr", has_text="receiver")
    expect(row.locator(".pill")).to_have_text(["completed", "expired", "failed"])
    row.get_by_role("link").click()
    admin.button("Disable").click()
    expect(page.locator(".page-head .status")).to_have_text("Disabled")
    admin.button("Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No webhooks")).to_be_visible()


def test_what_was_used_is_shown_by_day_model_and_endpoint(visit: Visit) -> None:
    shared = visit()
    _, key = shared.organization(f"Used {uuid.uuid4().hex[:6]}")
    visitor = visit(key=key)
    visitor.client.finish(visitor.submit([line(f"u{at}", "usage " * 400) for at in range(5)]), 60)
    page = visitor.go("#/usage").page
    expect(page.get_by_role("region", name="By model").last).to_contain_text("m-chat")
    expect(page.get_by_role("region", name="By endpoint").last).to_contain_text("/v1/chat/completions:batch")
    expect(page.locator(".figure", has_text="Requests")).to_contain_text("5")
    expect(page.get_by_role("img", name=re.compile("Cost by day.*in the last 30 days"))).to_be_visible()
    visitor.button("7 days").click()
    visitor.button("Tokens").click()
    expect(page.get_by_role("img", name=re.compile("Tokens by day.*in the last 7 days"))).to_be_visible()
    page.get_by_text("As a table").click()
    expect(page.locator(".chart tbody tr")).to_have_count(7)
