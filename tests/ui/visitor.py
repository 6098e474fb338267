"""Somebody at the dashboard: a browser window of its own, and what it must never see."""

import json
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Browser, Error, Locator, Page, expect

from bench.client import Client, granted
from bench.hornada import KEY, Hornada

OPERATOR_KEY = "sk-operator-of-the-dashboard"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000
LOOK_MS = 500
LONG = 9000
"""Lines of a batch that runs for as long as anybody looks at it: they take a second each, and 16 run at once."""
CHAT = "/v1/chat/completions"

expect.set_options(timeout=PATIENCE_MS)


class Visitor:
    """A window at ``/ui/``; ``key`` is in the tab from the start, None: nobody is logged in.

    On leaving, the page must have asked nobody but its own server, and nothing in it may have failed but calls that
    were refused or met no server.
    """

    def __init__(
        self,
        browser: Browser,
        server: Hornada,
        key: str | None = KEY,
        *,
        size: tuple[int, int] = (1280, 800),
        dark: bool = False,
        language: str = "en",
        **more: Any,
    ) -> None:
        self.root = f"http://127.0.0.1:{server.port}"
        self.client = Client(self.root + "/v1", key or KEY)
        self.operator = Client(self.root, OPERATOR_KEY)
        self._context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            locale=language,
            reduced_motion="reduce",
            **more,
        )
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.faults: list[str] = []
        self.asked: set[str] = set()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda told: self._note(told.type, told.text))
        self.shaken = 0
        """Requests that the browser broke off because an interface of the machine came or went, as other tests' do."""
        self.page.on("requestfailed", lambda request: self._broke_off(request.failure or ""))
        self.page.on("request", lambda request: self.asked.add(request.url))
        if key is not None:
            self.page.add_init_script(
                "if (origin !== 'null') {"  # a page that could not be loaded has no storage
                f"sessionStorage.getItem('seen') || sessionStorage.setItem('hornada.key', {json.dumps(key)});"
                "sessionStorage.setItem('seen', '1') }"
            )

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not text.startswith("Failed to load resource"):
            self.faults.append(text)

    def _broke_off(self, why: str) -> None:
        self.shaken += why == "net::ERR_NETWORK_CHANGED"

    def go(self, path: str = "") -> Self:
        """Opens a page, such as ``#/batches``, and waits for its heading."""
        for _ in range(3):
            before = self.shaken
            with suppress(Error):
                self.page.goto(f"{self.root}/ui/{path}")
            if self._arrived(before):
                break
            self.page.goto("about:blank")
        self.heading.wait_for()
        return self

    def _arrived(self, before: int) -> bool:
        """Whether the page has its heading; False at once when the machine's network changed while it was loading."""
        for _ in range(PATIENCE_MS // LOOK_MS):
            with suppress(Error):
                self.heading.wait_for(timeout=LOOK_MS)
                return True
            if self.shaken > before:
                return False
        return True

    @property
    def heading(self) -> Locator:
        """The heading of the page."""
        return self.page.locator("main h1")

    def button(self, name: str, **more: Any) -> Locator:
        """The button of this very name."""
        return self.page.get_by_role("button", name=name, exact=True, **more)

    def submit(self, rows: list[dict[str, Any]], **metadata: str) -> str:
        """Uploads lines and creates a batch of them behind the page's back; its id."""
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        return self.client.submit(data, **({"metadata": metadata} if metadata else {}))

    def organization(self, name: str, role: str = "admin") -> tuple[str, str]:
        """A new organization with a member; its id and the member's key."""
        org = granted(self.operator.call("POST", "/admin/organizations", {"name": name}), "organization")["id"]
        body = {"name": "Ana", "role": role}
        member = granted(self.operator.call("POST", f"/admin/organizations/{org}/members", body), "member")["id"]
        made = self.operator.call("POST", f"/admin/organizations/{org}/keys", {"member_id": member, "name": "first"})
        return str(org), str(granted(made, "key")["key"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.close()
        if error is None:
            assert self.faults == [], self.faults
            assert {url for url in self.asked if not url.startswith((self.root + "/", "blob:"))} == set()


def line(name: str, text: str = "hello", model: str = "m-chat", **asked: Any) -> dict[str, Any]:
    """One request; ``asked``: what the mock model server is to do (say, status, delay)."""
    said = f"{text} @@{json.dumps(asked)}" if asked else text
    body = {"model": model, "messages": [{"role": "user", "content": said}]}
    return {"custom_id": name, "method": "POST", "url": CHAT, "body": body}
