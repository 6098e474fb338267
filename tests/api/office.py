"""The site as three callers see it, and what they ask."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.api.site import KEY, OPERATOR_KEY, Site, open_site


class Office:
    """The site as three callers see it: the operator, an admin and a member of the organization ``acme``."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.keys = {"operator": OPERATOR_KEY, "first": KEY}
        self.ids: dict[str, str] = {}

    async def call(self, who: str, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
        """Status and body of a call under ``/admin``, or of any other path that begins with a slash."""
        self.site.clock.advance(0.001)
        url = path if path.startswith("/") else f"/admin/{path}"
        headers = {"authorization": f"Bearer {self.keys[who]}"}
        answer = await self.site.client.request(method, url, json=body, params=query, headers=headers)
        return answer.status_code, answer.json()

    async def done(self, who: str, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The body of a call that must succeed."""
        status, found = await self.call(who, method, path, body, **query)
        assert status == 200, found
        return found

    async def refused(self, who: str, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, str, Any]:
        """Status, code and param of a call that must be refused."""
        status, found = await self.call(who, method, path, body, **query)
        assert status >= 400, found
        assert set(found["error"]) == {"message", "type", "param", "code", "request_id"}
        return status, found["error"]["code"], found["error"]["param"]

    async def works(self, who: str) -> bool:
        """Whether a key opens anything."""
        return (await self.call(who, "GET", "/v1/files"))[0] == 200


@asynccontextmanager
async def open_office(tmp_path: Path) -> AsyncIterator[Office]:
    """Opens a site with the organization ``acme``, an admin Ana and a member Max."""
    async with open_site(tmp_path) as site:
        office = Office(site)
        acme = await office.done("operator", "POST", "organizations", {"name": "acme"})
        office.ids["acme"] = acme["id"]
        for name, role in (("ana", "admin"), ("max", "member")):
            member = await office.done(
                "operator", "POST", f"organizations/{acme['id']}/members", {"name": name.title(), "role": role}
            )
            body = {"member_id": member["id"], "name": name}
            key = await office.done("operator", "POST", f"organizations/{acme['id']}/keys", body)
            office.ids[name], office.keys[name], office.ids[f"{name}_key"] = member["id"], key["key"], key["id"]
        office.ids["first"] = next(
            each["id"]
            for each in (await office.done("operator", "GET", "organizations"))["data"]
            if each["name"] == "default"
        )
        yield office


async def audit(office: Office) -> list[tuple[str, str]]:
    """Actor and action of every entry, the oldest first."""
    found = (await office.done("operator", "GET", "audit", limit=100))["data"]
    return [(entry["actor"], entry["action"]) for entry in reversed(found)]


async def a_batch(office: Office, who: str = "max") -> str:
    file = (await office.site.upload(authorization=f"Bearer {office.keys[who]}")).json()["id"]
    create = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    return str((await office.done(who, "POST", "/v1/batches", create))["id"])
