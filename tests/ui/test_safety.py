"""What is hostile or broken: answers that would be markup, text that hides, a server that is gone, calls refused."""

import json
from pathlib import Path

from playwright.sync_api import expect

from bench.hornada import KEY, Hornada
from tests.ui.conftest import Visit
from tests.ui.visitor import Visitor, line

MARKUP = (
    "<img src=x onerror=\"window.hacked = 1\"><script>window.hacked = 2</script><a href='javascript:hacked=3'>x</a>"
)
HIDING = "safe \u202egnp.exe\u202c\u0007 \u200bend"


def untouched(visitor: Visitor) -> None:
    """Nothing of what strangers wrote became a part of the page."""
    assert visitor.page.evaluate("window.hacked") is None
    assert visitor.page.locator("main img, main script, main a[href^=javascript]").count() == 0


def test_answers_ids_names_and_models_errors_are_text_whatever_they_hold(visit: Visit) -> None:
    visitor = visit()
    rows = [
        line(f"1 {MARKUP}", MARKUP, say=MARKUP),
        line(f"2 {HIDING}", HIDING, say=HIDING),
        line("3", status=400, error={"message": MARKUP, "code": MARKUP, "type": MARKUP}),
    ]
    batch = visitor.submit(rows, name=MARKUP[:500])
    visitor.client.finish(batch, 60)
    lines = visitor.go(f"#/batches/{batch}").page.locator("ol.lines > li")
    expect(lines).to_have_count(3)
    expect(visitor.heading).to_have_text(MARKUP[:500])
    expect(lines.nth(0).locator(".answered")).to_contain_text(MARKUP)
    expect(lines.nth(2).locator(".answered")).to_contain_text(MARKUP)
    expect(lines.nth(1).locator(".answered .text")).to_have_text("safe U+202Egnp.exeU+202CU+0007 U+200Bend")
    expect(lines.nth(1).locator(".answered bdi")).to_have_count(1)
    untouched(visitor)
    visitor.go("#/batches")
    expect(visitor.page.get_by_role("link", name="<img src=x")).to_be_visible()
    untouched(visitor)


def test_a_files_faulty_lines_are_text_too(visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    path = tmp_path / "hostile.jsonl"
    path.write_text(json.dumps(line("a")) + f"\n{MARKUP}\n")
    visitor.go("#/new").page.locator("input[type=file]").set_input_files(path)
    visitor.button("Check only").click()
    expect(visitor.page.locator(".line-text")).to_contain_text(MARKUP)
    untouched(visitor)


def test_a_good_file_can_be_checked_without_running_it(visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    path = tmp_path / "good.jsonl"
    path.write_text("".join(json.dumps(line(f"g{at}", "x" * 4000)) + "\n" for at in range(30)))
    before = visitor.client.call("GET", "/batches?limit=1").json["data"][:1]
    visitor.go("#/new").page.locator("input[type=file]").set_input_files(path)
    expect(visitor.page.locator(".drop")).to_contain_text("30 lines")
    visitor.button("Check only").click()
    expect(visitor.page.get_by_text("The file is good to run")).to_be_visible()
    expect(visitor.page.locator(".alert.good")).to_contain_text("30 lines · about 30K input tokens")
    assert visitor.client.call("GET", "/batches?limit=1").json["data"][:1] == before


def test_a_policy_that_lets_nothing_else_in_holds_even_against_script_of_the_page(visit: Visit) -> None:
    visitor = visit().go()
    tried = visitor.page.evaluate(
        """async () => {
          const blocked = [];
          addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
          const script = document.createElement("script");
          try { script.textContent = "window.hacked = 4"; } catch {}
          document.body.append(script);
          try { document.body.insertAdjacentHTML("beforeend", "<b>bold</b>"); } catch {}
          await fetch("https://example.com/").catch(() => {});
          const image = new Image();
          image.src = "https://example.com/pixel.png";
          await new Promise((resolve) => setTimeout(resolve, 300));
          return [window.hacked ?? null, document.querySelectorAll("b").length, blocked];
        }"""
    )
    assert tried[:2] == [None, 0]
    assert {"connect-src", "img-src", "require-trusted-types-for"} <= set(tried[2])
    visitor.faults.clear()  # all of them were provoked
    visitor.asked = {url for url in visitor.asked if "example.com" not in url}


def test_a_server_that_is_gone_is_told_and_the_page_goes_on_when_it_is_back(visit: Visit, own_server: Hornada) -> None:
    visitor = visit(own_server).go("#/models")
    expect(visitor.page.locator(".tile")).to_have_count(2)
    own_server.kill()
    banner = visitor.page.get_by_text("The server does not answer. Trying again")
    expect(banner).to_be_visible()
    expect(visitor.page.locator(".tile")).to_have_count(2)
    visitor.button("Try again").first.click()
    expect(banner).to_be_visible()
    own_server.start()
    expect(banner).to_have_count(0)
    expect(visitor.page.get_by_role("alert").filter(has_text="answer")).to_have_count(0)


def test_a_browser_that_keeps_nothing_lets_in_all_the_same(visit: Visit) -> None:
    visitor = visit(key=None)
    visitor.page.add_init_script(
        "for (const area of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, area, { get() { throw new DOMException('no', 'SecurityError') } })"
    )
    visitor.go().page.get_by_label("API key").fill(KEY)
    visitor.button("Log in").click()
    expect(visitor.heading).to_have_text("default")


def test_a_refusal_says_what_the_server_said_with_the_id_of_the_call(visit: Visit) -> None:
    visitor = visit()
    visitor.go("#/batches/batch_00000000000000000000000000")
    alert = visitor.page.get_by_role("alert").filter(has_text="batch_not_found")
    expect(alert).to_contain_text("batch_0000")
    expect(alert).to_contain_text("req_")
