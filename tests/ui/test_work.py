"""The work of a user: log in, upload, correct, watch, browse, retry, cancel."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from bench.client import Client
from bench.hornada import KEY, Hornada
from tests.ui.conftest import Visit, configuration
from tests.ui.visitor import LONG, Visitor, line

REFUSED = {"status": 400, "error": {"message": "too long for this model", "code": "context_length_exceeded"}}


def write(path: Path, *rows: Any) -> Path:
    """A file of these rows; text stands as it is."""
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def upload(visitor: Visitor, path: Path) -> None:
    """Chooses a file on the page for a new batch and has it checked."""
    visitor.go("#/new").page.locator("input[type=file]").set_input_files(path)
    visitor.button("Check and run").click()


def test_a_wrong_key_is_told_and_a_good_one_lets_in(visit: Visit) -> None:
    visitor = visit(key=None).go()
    key = visitor.page.get_by_label("API key")
    expect(key).to_be_focused()
    for text, said in (("sk-nobody", "unknown, expired or revoked"), ("sk-ñandú", "letters, digits and signs only")):
        key.fill(text)
        visitor.button("Log in").click()
        expect(visitor.page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    key.fill(KEY)
    key.press("Enter")
    expect(visitor.heading).to_have_text("default")
    assert visitor.page.evaluate("[localStorage['hornada.key'], sessionStorage['hornada.key']]") == [None, KEY]


def test_a_key_is_remembered_on_the_device_only_when_asked_for_and_forgotten_at_log_out(visit: Visit) -> None:
    visitor = visit(key=None).go()
    visitor.page.get_by_label("API key").fill(KEY)
    visitor.page.get_by_label("Remember the key on this device").check()
    expect(visitor.page.get_by_text("Whoever uses this browser")).to_be_visible()
    visitor.button("Log in").click()
    expect(visitor.heading).to_have_text("default")
    assert visitor.page.evaluate("localStorage['hornada.key']") == KEY
    visitor.button("Log out").click()
    expect(visitor.page.get_by_label("API key")).to_be_visible()
    assert visitor.page.evaluate("[localStorage['hornada.key'], sessionStorage['hornada.key']]") == [None, None]


def test_findings_stand_at_their_lines_and_a_corrected_file_runs(visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    upload(visitor, write(tmp_path / "letters.jsonl", line("a"), '{"custom_id": oops}\r', line("c", model="m-nope")))
    findings = visitor.page.locator(".finding")
    expect(findings).to_have_count(2)
    expect(findings.nth(0)).to_contain_text("Line 2")
    expect(findings.nth(0)).to_contain_text("invalid_json_line")
    expect(findings.nth(0).locator(".line-text")).to_contain_text('{"custom_id": oops}')
    expect(findings.nth(0).locator(".line-text")).not_to_contain_text("U+000D")
    expect(findings.nth(1)).to_contain_text("model_mismatch")
    expect(findings.nth(1).locator(".line-text")).to_contain_text('"m-nope"')

    upload(visitor, write(tmp_path / "letters.jsonl", line("a", say="First answer"), line("b", say="Second answer")))
    expect(visitor.heading).to_have_text("letters")
    expect(visitor.page.locator(".page-head .status")).to_have_text("Completed")
    expect(visitor.page.locator("ol.lines > li")).to_have_count(2)
    expect(visitor.page.locator("ol.lines > li").nth(1)).to_contain_text("Second answer")


@pytest.mark.parametrize(
    ("name", "content", "told", "command"),
    [
        (
            "reviews.csv",
            b"id,review\r\n1,The soup was cold\r\n2,Lovely, and late\r\n",
            "This is a table",
            "hornada submit 'reviews.csv' --model 'm-chat' --column 'review'",
        ),
        ("it's one.txt", b"id;text\n1;hello\n", "This is a table", r"hornada submit 'it'\''s one.txt' --model"),
        ("all.json", b'[\n {"custom_id": "a"},\n {"custom_id": "b"}\n]', "JSON list", "jq -c '.[]' 'all.json'"),
        ("one.json", b'{\n "custom_id": "a",\n "body": {}\n}\n', "over several lines", "jq -c . 'one.json'"),
        ("notes.md", b"# Notes\nhello\n", "This is text", None),
        ("sheet.xlsx", b"PK\x03\x04\0\0\xff\xfe", "no text in UTF-8", None),
    ],
    ids=["csv", "semicolons", "list", "spread", "text", "bytes"],
)
def test_a_file_that_is_no_jsonl_is_told_in_one_message(
    name: str, content: bytes, told: str, command: str | None, visit: Visit, tmp_path: Path
) -> None:
    visitor = visit().go("#/new")
    (tmp_path / name).write_bytes(content)
    visitor.page.locator("input[type=file]").set_input_files(tmp_path / name)
    alert = visitor.page.locator("main .alert.bad")
    expect(alert).to_have_count(1)
    expect(alert).to_contain_text(told)
    expect(visitor.button("Check and run")).to_have_count(0)
    shown = visitor.page.get_by_label("Command")
    if command is None:
        expect(shown).to_have_count(0)
    else:
        expect(shown).to_contain_text(command)
        expect(visitor.page.get_by_label("It begins so:")).to_contain_text(content.split(b"\n")[1].decode().strip())
    visitor.page.locator("input[type=file]").set_input_files(write(tmp_path / "good.jsonl", line("a")))
    expect(visitor.button("Check and run")).to_be_visible()
    expect(alert).to_have_count(0)


def test_the_endpoint_is_read_from_the_file_and_a_file_can_be_dropped(visit: Visit) -> None:
    visitor = visit().go("#/new")
    text = json.dumps({"custom_id": "e", "body": {"model": "m-embed", "input": "hello"}})
    transfer = visitor.page.evaluate_handle(
        "text => { const all = new DataTransfer(); all.items.add(new File([text], 'vectors.jsonl')); return all }", text
    )
    visitor.page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
    expect(visitor.page.get_by_label("Endpoint")).to_have_value("/v1/embeddings")
    expect(visitor.page.get_by_label("Name")).to_have_value("vectors")
    expect(visitor.page.locator(".drop")).to_contain_text("1 line")
    visitor.button("Check and run").click()
    expect(visitor.page.locator(".page-head .status")).to_have_text("Completed")


def test_a_batch_is_watched_while_it_runs_paused_resumed_and_ended(visit: Visit) -> None:
    visitor = visit()
    batch = visitor.submit([line(f"w{at:03}", f"watch {at}", delay=1) for at in range(LONG)], name="Watched")
    visitor.go(f"#/batches/{batch}")
    bar, status = visitor.page.get_by_role("progressbar").first, visitor.page.locator(".page-head .status")
    expect(bar).to_have_attribute("aria-valuemax", str(LONG))
    visitor.button("Pause").click()
    expect(status).to_have_text("Paused")
    expect(visitor.page.get_by_text("no line starts until you resume it")).to_be_visible()
    visitor.button("Resume").click()
    expect(status).to_have_text("Running")
    expect(visitor.page.locator(".figure", has_text="Lines a second")).to_contain_text("/s")
    expect(visitor.page.locator("canvas")).to_have_count(2)
    expect(visitor.page.get_by_role("img", name="Time left")).to_be_visible()
    visitor.client.call("POST", f"/batches/{batch}/cancel")
    expect(status).to_have_text("Cancelled")
    expect(bar).to_have_attribute("aria-valuenow", str(LONG))
    expect(visitor.page.locator("p[role=status]")).to_contain_text(f"Cancelled: {LONG:,} of {LONG:,} lines")


def test_a_batch_that_expires_before_its_last_line_is_said_to(visit: Visit, backend: Client, tmp_path: Path) -> None:
    short = configuration(backend).replace("[limits]\n", "[limits]\nbatch_lifetime_s = 200\n", 1)
    with Hornada(tmp_path, short) as hornada:
        hornada.start()
        visitor = visit(hornada)
        batch = visitor.submit([line(f"l{at:04}", f"late {at}", delay=1.0) for at in range(9000)], name="Late")
        page = visitor.go(f"#/batches/{batch}").page
        late = page.locator(".alert.warn", has_text="before all lines have run")
        expect(late).to_contain_text("At this rate it expires, in ")
        visitor.button("Pause").click()
        expect(page.locator(".page-head .status")).to_have_text("Paused")
        expect(late).to_have_count(0)


def test_results_are_filtered_searched_paged_and_retried(visit: Visit) -> None:
    visitor = visit()
    rows = [line(f"r{at:02}", f"ask {at}", say=f"answer {at} ñ") for at in range(12)]
    rows[4] = line("r04", "ask 4", times=1, **REFUSED)
    batch = visitor.submit(rows, name="Browsed")
    visitor.client.finish(batch, 60)
    page, lines = visitor.go(f"#/batches/{batch}").page, visitor.page.locator("ol.lines > li")
    expect(lines).to_have_count(10)
    visitor.button("Next").click()
    expect(lines).to_have_count(2)
    expect(lines.first).to_contain_text("r10")
    visitor.button("Failed").click()
    expect(lines).to_have_count(1)
    expect(lines.first).to_contain_text("too long for this model")
    expect(page.locator(".codes")).to_contain_text("context_length_exceeded")
    visitor.button("All").click()
    page.get_by_label("Search ids, input and answers").fill("ANSWER 7 Ñ")
    page.keyboard.press("Enter")
    expect(lines).to_have_count(1)
    expect(lines.first).to_contain_text("r07")
    visitor.page.get_by_role("button", name="Show r07 as JSON").click()
    expect(lines.first).to_contain_text('"finish_reason": "stop"')

    with page.expect_download() as download:
        visitor.button("Errors").click()
    assert json.loads(download.value.path().read_text())["custom_id"] == "r04"

    visitor.button("Retry failed lines").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry failed lines").click()
    expect(page.locator(".page-head .status")).to_have_text("Completed")
    expect(page.locator(".figure", has_text="Answered")).to_contain_text("1")
    expect(page.get_by_role("link", name=batch)).to_be_visible()


def test_the_overview_shows_how_much_of_the_plan_is_used(visit: Visit) -> None:
    shared = visit()
    _, key = shared.organization("Sparing")
    visitor = visit(key=key)
    batch = visitor.submit([line(f"u{at:03}", f"use {at}", delay=0.5) for at in range(300)], name="Using")
    visitor.client.call("POST", f"/batches/{batch}/pause")
    page = visitor.go().page
    meters = page.get_by_role("meter")
    expect(meters).to_have_count(3)
    expect(page.get_by_role("meter", name="Batches at once")).to_have_attribute("aria-valuetext", "1 of 2,000, 0.05%")
    expect(page.locator(".load", has_text="Queued lines")).to_contain_text("300 of ")
    expect(page.locator(".load", has_text="Storage")).to_contain_text("kB of 10.7 GB")
    visitor.client.call("POST", f"/batches/{batch}/cancel")


def test_a_batch_is_cancelled_after_asking(visit: Visit) -> None:
    visitor = visit()
    batch = visitor.submit([line(f"c{at:03}", f"cancel {at}", delay=1) for at in range(LONG)], name="Mistake")
    visitor.go(f"#/batches/{batch}")
    visitor.button("Cancel batch").click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Cancel batch").click()
    expect(visitor.page.locator(".page-head .status")).to_have_text("Cancelled")
    assert visitor.client.batch(batch)["status"] == "cancelled"


def test_batches_are_narrowed_and_paged_and_files_deleted(visit: Visit) -> None:
    shared = visit()
    _, key = shared.organization("Pages and pages")
    visitor = visit(key=key)
    ids = [visitor.submit([line("one", f"page {at}")], name=f"Number {at}") for at in range(23)]
    for each in ids:
        visitor.client.finish(each, 60)
    page, rows = visitor.go("#/batches").page, visitor.page.locator("tbody tr")
    expect(rows).to_have_count(20)
    expect(rows.first).to_contain_text("Number 22")
    visitor.button("Next").click()
    expect(rows).to_have_count(3)
    visitor.button("Failed").click()
    expect(page.get_by_text("None in this status.")).to_be_visible()
    visitor.button("Completed").click()
    expect(rows).to_have_count(20)
    page.get_by_role("link", name="Number 22").click()
    expect(visitor.heading).to_have_text("Number 22")

    visitor.go("#/files?purpose=batch")
    expect(rows).to_have_count(23)
    page.get_by_role("button", name="Delete input.jsonl").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(22)


@pytest.mark.parametrize("path", ["#/nowhere", "#/admin/plans", "#/webhooks/whe_0"])
def test_a_member_finds_no_page_of_others(visit: Visit, path: str) -> None:
    shared = visit()
    _, key = shared.organization(f"Members only {path}", role="member")
    visitor = visit(key=key).go(path)
    expect(visitor.heading).to_have_text("No such page")


def test_a_file_that_was_written_to_since_it_was_chosen_is_to_be_chosen_again(visit: Visit, tmp_path: Path) -> None:
    visitor = visit().go("#/new")
    path = write(tmp_path / "later.jsonl", line("a"))
    visitor.page.locator("input[type=file]").set_input_files(path)
    expect(visitor.page.get_by_label("Name")).to_have_value("later")
    os.utime(path, (1, 1))
    write(path, line("a"), line("b"))
    visitor.button("Check and run").click()
    expect(visitor.page.get_by_role("alert").filter(has_text="has changed since you chose it")).to_be_visible()
    visitor.page.locator("input[type=file]").set_input_files(path)
    visitor.button("Check and run").click()
    expect(visitor.page.locator("ol.lines > li")).to_have_count(2)
