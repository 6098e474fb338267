"""The document says what the application does."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hornada.api import schemas
from hornada.api.openapi import shown
from hornada.core.batch import Finding
from hornada.core.errors import Code, Refusal
from hornada.core.page import Page
from hornada.dialects import DIALECTS
from tests.api.site import DIALECTS as MOUNTS
from tests.api.site import Site, open_site
from tests.dialects.nouns import DONE, FRESH, INPUT


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def document(site: Site) -> dict[str, Any]:
    """The document as it is served."""
    found: dict[str, Any] = (await site.client.get("/openapi.json")).json()
    return found


async def test_every_route_is_in_the_document(site: Site) -> None:
    paths = (await document(site))["paths"]
    documented = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert documented == {(route.method, shown(route)) for route in site.app.routes}


async def test_every_documented_route_answers(site: Site) -> None:
    found = await document(site)
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            for server in operation.get("servers", found["servers"]):
                url = server["url"].rstrip("/") + re.sub(r"\{\w+\}", "none", path)
                answer = await site.client.request(method, url)
                code = answer.json()["error"]["code"] if answer.status_code >= 400 else None
                assert code not in {"not_found", "method_not_allowed", "internal_error"}, (method, url)
                assert str(answer.status_code) in operation["responses"], (method, url, answer.text)


async def test_the_document_names_every_mount(site: Site) -> None:
    assert {server["url"] for server in (await document(site))["servers"]} == set(MOUNTS)


async def test_every_reference_leads_somewhere(site: Site) -> None:
    found = await document(site)
    names = re.findall(r'"\$ref":"#/components/schemas/(\w+)"', msgspec.json.encode(found).decode())
    assert set(names) == set(found["components"]["schemas"])


async def test_operations_have_names_of_their_own(site: Site) -> None:
    operations = [route.name for route in site.app.routes]
    assert len(set(operations)) == len(operations)


async def test_without_batches_the_document_has_none(tmp_path: Path) -> None:
    async with open_site(tmp_path, batches_enabled=False) as site:
        assert not [path for path in (await document(site))["paths"] if path.startswith("/batches")]


async def test_the_page_lists_every_route(site: Site) -> None:
    answer = await site.client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert all(f"<code>{shown(route)}</code>" in answer.text for route in site.app.routes)


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_dialect_spells_fits_the_schema(name: str) -> None:
    dialect, novita = DIALECTS[name], name == "novita"
    cause = Finding(code=Code.INVALID_JSON_LINE, message="Not JSON.", line=1)
    failed = msgspec.structs.replace(DONE, errors=(cause,))
    batch = schemas.NovitaBatchObject if novita else schemas.BatchObject
    for noun in (FRESH, DONE, failed):
        msgspec.convert(dialect.batch(noun), batch)
    page = schemas.NovitaBatchList if novita else schemas.BatchList
    msgspec.convert(dialect.batches(Page((DONE, FRESH), more=False)), page)
    files = schemas.NovitaFileList if novita else schemas.FileList
    msgspec.convert(dialect.files(Page((INPUT,), more=False)), files)
    msgspec.convert(dialect.deleted(INPUT), schemas.FileDeleted)
    msgspec.convert(dialect.aliases({"a": "b"}), schemas.AliasList)
    refused = dialect.error(Refusal(Code.INVALID_VALUE, "Wrong."), "req_1")
    msgspec.convert(refused.body, schemas.ErrorEnvelope)
