"""From method and path to a route."""

from typing import Any

import pytest

from hornada.api.call import Call
from hornada.api.router import Answer, Found, NotAllowed, Route, Router
from hornada.core.errors import Code, Refusal

DIALECTS = {"/v1": "infernode", "/openai/v1": "novita", "/strict/v1/": "openai"}


async def nothing(call: Call) -> None:
    """Answers nothing."""


def route(method: str, path: str, *, public: bool = False) -> Route:
    return Route(
        method=method, path=path, name=method + path, summary="", handler=nothing, answer=Answer(), public=public
    )


ROUTER = Router(
    [
        route("POST", "/files"),
        route("GET", "/files"),
        route("GET", "/files/{id}"),
        route("DELETE", "/files/{id}"),
        route("GET", "/files/{id}/content"),
        route("POST", "/batches/{id}/cancel"),
        route("GET", "/models"),
        route("GET", "/models/aliases"),
        route("GET", "/models/{id:path}"),
        route("GET", "/healthz", public=True),
    ],
    DIALECTS,
)


def ask(method: str, raw: str) -> tuple[str, Found]:
    """The dialect and the route of a call, its path as it stands in the request line."""
    from urllib.parse import unquote

    scope: dict[str, Any] = {"method": method, "path": unquote(raw), "raw_path": raw.encode()}
    dialect, rest = ROUTER.dialect(scope)
    return dialect.name, ROUTER.find(scope, rest)


@pytest.mark.parametrize(("base", "name"), [("/v1", "infernode"), ("/openai/v1", "novita"), ("/strict/v1", "openai")])
def test_every_dialect_mounts_the_same_routes(base: str, name: str) -> None:
    assert ask("GET", base + "/files")[0] == name
    assert ask("GET", base + "/files")[1].route.name == "GET/files"
    assert ask("GET", base + "/files/x")[1].route.name == "GET/files/{id}"


@pytest.mark.parametrize("path", ["/v1/files", "/v1/files/", "/v1/files/x", "/v1/files/x/", "/v1/models/aliases/"])
def test_a_final_slash_changes_nothing(path: str) -> None:
    assert ask("GET", path)[1].route == ask("GET", path.rstrip("/"))[1].route


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("file-abc", "file-abc"),
        ("a%20b%2Fc%3Fd%23%C3%A9", "a b/c?d#é"),
        ("a%252Fb", "a%2Fb"),
        ("..", ".."),
        ("..%2F..%2Fetc%2Fpasswd", "../../etc/passwd"),
        ("%00", "\x00"),
    ],
)
def test_an_id_is_decoded_once_and_stays_one_piece(sent: str, meant: str) -> None:
    found = ask("GET", f"/v1/files/{sent}/content")[1]
    assert (found.route.name, dict(found.params)) == ("GET/files/{id}/content", {"id": meant})


@pytest.mark.parametrize("sent", ["org/model%20name:v1", "org%2Fmodel%20name:v1", "org%2Fmodel%20name%3Av1"])
def test_a_model_name_may_hold_a_slash_raw_or_encoded(sent: str) -> None:
    found = ask("GET", "/v1/models/" + sent)[1]
    assert dict(found.params) == {"id": "org/model name:v1"}


def test_the_list_of_aliases_is_not_taken_for_a_model() -> None:
    assert ask("GET", "/v1/models/aliases")[1].route.name == "GET/models/aliases"
    assert ask("GET", "/v1/models/aliases/x")[1].route.name == "GET/models/{id:path}"


def test_head_is_asked_where_get_is() -> None:
    assert ask("HEAD", "/v1/files/x/content")[1].route.name == "GET/files/{id}/content"


@pytest.mark.parametrize(
    "path",
    ["/v1", "/v1/", "/v1/nothing", "/files", "/v1/healthz", "/v1/files/a/b", "/v2/files", "/v1/files/x/content/y"],
)
def test_an_unknown_path_is_404(path: str) -> None:
    with pytest.raises(Refusal) as caught:
        ask("GET", path)
    assert caught.value.code is Code.NOT_FOUND


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/files", "GET, HEAD, POST"),
        ("GET", "/v1/batches/x/cancel", "POST"),
        ("POST", "/v1/files/x", "DELETE, GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_405_and_says_which_are_right(method: str, path: str, allow: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        ask(method, path)
    assert caught.value.code is Code.METHOD_NOT_ALLOWED
    assert caught.value.allow == allow


def test_routes_of_the_root_are_not_under_a_dialect() -> None:
    assert ask("GET", "/healthz")[1].route.public
