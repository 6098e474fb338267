"""For everybody: every page in both themes and languages, on a phone, with a keyboard, for a screen reader."""

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, expect

from bench.client import granted
from bench.hornada import Hornada
from tests.ui.conftest import Visit
from tests.ui.visitor import LONG, OPERATOR_KEY, Visitor, line

PHONE = (360, 740)
SERIOUS = {"serious", "critical"}
Place = tuple[str | None, str]


@pytest.fixture(scope="module")
def places(browser: Browser, server: Hornada) -> Iterator[dict[str, Place]]:
    """Every page by a name: whose key opens it, and its address. There is something on each of them."""
    with Visitor(browser, server) as visitor:
        org, key = visitor.organization(f"Access {uuid.uuid4().hex[:6]}")
        with Visitor(browser, server, key) as owner:
            rows = [line(f"a{at}", f"access {at}", say="An answer. " * 80) for at in range(12)]
            rows[3] = line("a3", "access 3", status=400)
            rows.append(line("x" * 300, "long" * 300))
            done = owner.submit(rows, name="A batch with a long name " + "and no space" * 9)
            faulty = owner.submit([line("a"), line("a", model="nope")], name="Faulty")
            live = owner.submit([line(f"l{at}", f"slow {at}", delay=1) for at in range(LONG)], name="Live")
            for each in (done, faulty):
                owner.client.finish(each, 60)
            hook = {"url": "https://example.com/" + "h" * 120, "event_types": ["batch.completed"], "name": "receiver"}
            made = granted(owner.client.call("POST", "/webhook_endpoints", hook), "webhook")["id"]
            places: dict[str, Place] = {
                "login": (None, ""),
                "overview": (key, ""),
                "batches": (key, "#/batches"),
                "done": (key, f"#/batches/{done}"),
                "faulty": (key, f"#/batches/{faulty}"),
                "live": (key, f"#/batches/{live}"),
                "new": (key, "#/new"),
                "files": (key, "#/files"),
                "models": (key, "#/models"),
                "usage": (key, "#/usage"),
                "webhooks": (key, "#/webhooks"),
                "webhook": (key, f"#/webhooks/{made}"),
                "admin": (key, "#/admin"),
                "missing": (key, "#/nowhere"),
            }
            for tab in ("organizations", "plans", "models", "aliases", "batches", "audit", f"organizations/{org}"):
                places[f"operator {tab.replace(org, 'one')}"] = (OPERATOR_KEY, f"#/admin/{tab}")
            yield places
            owner.client.call("POST", f"/batches/{live}/cancel")


def shown(visitor: Visitor) -> None:
    """Waits until a page has loaded what it shows."""
    expect(visitor.page.locator(".waiting")).to_have_count(0)


@pytest.mark.timeout(300)
def test_no_page_has_a_serious_fault_in_either_theme_or_is_wider_than_a_phone(
    places: dict[str, Place], browser: Browser, server: Hornada
) -> None:
    faults = []
    for key in dict.fromkeys(key for key, _ in places.values()):
        with Visitor(browser, server, key, size=PHONE, language="es") as visitor:
            for name, (_, path) in ((n, p) for n, p in places.items() if p[0] == key):
                visitor.go(path)
                shown(visitor)
                width = visitor.page.evaluate("document.documentElement.scrollWidth")
                if width > PHONE[0]:
                    faults.append(f"{name}: {width} pixels wide")
                for theme in ("light", "dark"):
                    visitor.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
                    faults += [f"{name}, {theme}: {fault}" for fault in violations(visitor, theme)]
    assert faults == []


def violations(visitor: Visitor, theme: str = "light") -> list[str]:
    """Serious faults of what is shown; only the colours differ in the dark."""
    if not visitor.page.evaluate("'axe' in window"):
        visitor.page.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if theme == "dark":
        options["runOnly"] = ["color-contrast"]
    found = visitor.page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [told(each) for each in found if each["impact"] in SERIOUS]


def told(violation: dict[str, Any]) -> str:
    """A fault in a line."""
    nodes = violation["nodes"]
    return f"{violation['id']} at {', '.join(str(node['target']) for node in nodes[:3])}: {nodes[0]['failureSummary']}"


def test_dialogs_have_no_serious_fault(visit: Visit) -> None:
    visitor = visit(key=OPERATOR_KEY, dark=True).go("#/admin/plans")
    visitor.button("New plan").click()
    assert violations(visitor) == []


def tab(visitor: Visitor, until: Callable[[str], bool], key: str = "Tab") -> str:
    """Presses a key until the focus is where it should be; the focus must be visible at each step."""
    for _ in range(60):
        visitor.page.keyboard.press(key)
        name, outline = visitor.page.evaluate(
            "() => { const at = document.activeElement; const drawn = at.closest('label') ?? at;"
            " const style = getComputedStyle(at); const around = getComputedStyle(drawn);"
            " return [at.ariaLabel ?? at.innerText ?? at.name ?? '',"
            " style.outlineStyle !== 'none' || around.outlineStyle !== 'none'] }"
        )
        assert outline, f"no focus to be seen at {name!r}"
        if until(name.strip()):
            return str(name)
    raise AssertionError("the focus never got there")


def test_the_keyboard_reaches_everything_and_a_dialog_keeps_it(visit: Visit) -> None:
    visitor = visit(key=OPERATOR_KEY).go("#/admin/organizations")
    page = visitor.page
    shown(visitor)
    assert tab(visitor, bool) == "Skip to content"
    page.keyboard.press("Enter")
    expect(visitor.heading).to_be_focused()
    tab(visitor, lambda name: name == "New organization")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(visitor.button("New organization")).to_be_focused()


def test_a_new_page_takes_the_focus_and_names_itself(visit: Visit) -> None:
    visitor = visit().go()
    tab(visitor, lambda name: name == "Models", "Shift+Tab")
    visitor.page.keyboard.press("Enter")
    expect(visitor.heading).to_have_text("Models")
    expect(visitor.heading).to_be_focused()
    expect(visitor.page).to_have_title("Models · Hornada")
    expect(visitor.page.get_by_role("navigation", name="Main").get_by_role("link", name="Models")).to_have_attribute(
        "aria-current", "page"
    )


def test_the_language_is_the_readers_and_can_be_switched(visit: Visit) -> None:
    visitor = visit(language="es-MX").go("#/models")
    page = visitor.page
    expect(visitor.heading).to_have_text("Modelos")
    expect(page.locator("html")).to_have_attribute("lang", "es")
    page.get_by_label("Idioma").select_option("English")
    expect(visitor.heading).to_have_text("Models")
    page.reload()
    expect(visitor.heading).to_have_text("Models")


def test_the_theme_is_the_systems_until_one_is_chosen(visit: Visit) -> None:
    visitor = visit(dark=True).go()
    page, root = visitor.page, visitor.page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Theme: System").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme: Light").click()
    page.get_by_role("button", name="Theme: Dark").click()
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-theme", "light")


def test_on_a_phone_the_menu_is_a_drawer_that_closes(visit: Visit) -> None:
    visitor = visit(size=PHONE).go()
    page = visitor.page
    visitor.button("Open menu").click()
    page.get_by_role("dialog").get_by_role("link", name="Files").click()
    expect(visitor.heading).to_have_text("Files")
    expect(page.get_by_role("dialog")).to_have_count(0)
    visitor.button("Open menu").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(visitor.button("Open menu")).to_be_focused()


def test_charts_and_bars_say_in_words_what_they_show(places: dict[str, Place], visit: Visit) -> None:
    visitor = visit(key=places["live"][0]).go(places["live"][1])
    page = visitor.page
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute(
        "aria-valuetext", re.compile(rf"\d+ of {LONG} lines, 0 of them failed")
    )
    expect(page.get_by_role("img", name=re.compile(r"Lines a second\. .* a second"))).to_be_visible()
    visitor.go("#/models")
    expect(
        page.get_by_role("img", name=re.compile(r"m-chat: Interactive 0, Batch \d+, Reserved 0, Free \d+"))
    ).to_be_visible()
