"""Whoever operates the platform: makes organizations with members and keys, sets models and prices, gives credit."""

from typing import Any, NamedTuple

from bench.client import Client, granted
from bench.hornada import Hornada
from tests.seed.guide import CHAT, Guide, Json, mark

OPERATOR_KEY = "sk-operator-of-the-tests"
INPUT, OUTPUT = 3, 5
"""What a token costs of a model with a price."""


class Person(NamedTuple):
    """A member with a key, and the guide opened with it."""

    member: str
    key: str
    guide: Guide


class Platform:
    """The operator of a server, and the guide's users at one base path of it."""

    def __init__(self, server: Hornada, base: str, backend: Client) -> None:
        self._root = f"http://127.0.0.1:{server.port}"
        self._base = base
        self._backend = backend
        self.operator = Client(self._root, OPERATOR_KEY)
        self.guide = Guide(Client(self._root + base, OPERATOR_KEY), backend)

    def do(self, method: str, path: str, body: Json | None = None) -> Json:
        """A call that must be granted."""
        return granted(self.operator.call(method, path, body), f"{method} {path}")

    def organization(self, credit: int | None = None) -> str:
        """A new organization; with credit in micro-units, or unlimited."""
        org = str(self.do("POST", "/admin/organizations", {"name": mark()})["id"])
        if credit is not None:
            self.do("POST", f"/admin/organizations/{org}/credits", {"amount": credit})
        return org

    def person(self, org: str, role: str = "member", **key: Any) -> Person:
        """A new member of an organization, with a key."""
        name = f"Ana {mark()}"
        member = self.do("POST", f"/admin/organizations/{org}/members", {"name": name, "role": role})["id"]
        made = self.do("POST", f"/admin/organizations/{org}/keys", {"member_id": member, **key})
        return Person(name, made["id"], Guide(Client(self._root + self._base, made["key"]), self._backend))

    def user(self, credit: int | None = None) -> Guide:
        """The only member of an organization of its own."""
        return self.person(self.organization(credit)).guide

    def model(self, *, capacity: int = 4, price: Json | None = None) -> str:
        """A new model on the mock server; its name."""
        name = f"m-{mark()}"
        upstream = f"http://127.0.0.1:{self._backend.port}/v1"
        body = {"upstream": upstream, "endpoints": [CHAT], "capacity": capacity, "price": price or {}}
        self.do("PUT", f"/admin/models/{name}", body)
        return name

    def priced(self, *, capacity: int = 4) -> str:
        """A model that costs something."""
        return self.model(capacity=capacity, price={"input": INPUT * 10**6, "output": OUTPUT * 10**6})
