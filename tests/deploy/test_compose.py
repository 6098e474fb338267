"""The compose files, against the specification and against each other."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hornada.config import load
from tests.deploy.files import DEPLOY, ROOT, tool

FILES = sorted((DEPLOY / "compose").glob("*.yaml"))
GIVEN = {
    "HORNADA_UPSTREAM": "http://host.docker.internal:11434/v1",
    "HORNADA_BOOTSTRAP_KEY": "sk-first",
    "POSTGRES_PASSWORD": "secret",
    "S3_SECRET": "secret",
}


def interpolated(text: str) -> str:
    """As compose does: what is given, or what stands behind ``:-``."""

    def value(found: re.Match[str]) -> str:
        return GIVEN.get(found["name"]) or (found["more"] or "").removeprefix(":-")

    return re.sub(r"\$\{(?P<name>\w+)(?P<more>:[-?][^}]*)?\}", value, text)


def read(path: Path) -> dict[str, Any]:
    """The file as compose sees it: replaced and merged."""
    found: dict[str, Any] = yaml.safe_load(interpolated(path.read_text()))
    return found


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def compose(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read(request.param)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_is_what_the_specification_takes(path: Path) -> None:
    """Beside which Docker knows ``host-gateway`` as an address."""
    found = tool("compose_spec").PyCompose.from_yaml(yaml.safe_dump(read(path)).replace("host-gateway", "172.17.0.1"))
    assert set(found.service_names()) == read(path)["services"].keys()


def test_every_process_of_ours_is_given_settings_that_exist(compose: dict[str, Any]) -> None:
    ours = [service for service in compose["services"].values() if "build" in service]
    assert ours
    for service in ours:
        environ = {name: str(value or "") for name, value in service["environment"].items()}
        config = load(None, environ, {})
        assert config.server.shutdown_grace_s * 2 + 10 < int(service["stop_grace_period"].removesuffix("s"))


def test_the_image_is_built_from_files_that_exist(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        if build := service.get("build"):
            context = (DEPLOY / "compose" / build["context"]).resolve()
            assert context == ROOT
            assert (context / build["dockerfile"]).is_file()


def test_whatever_is_referred_to_is_there(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= compose["services"].keys()
        named = [volume.split(":")[0] for volume in service.get("volumes", ())]
        assert set(named) <= compose["volumes"].keys()
        assert {each["source"] for each in service.get("configs", ())} <= compose.get("configs", {}).keys()


def test_the_scaled_out_one_has_two_of_each_and_migrates_first() -> None:
    services = read(DEPLOY / "compose" / "compose.scale-out.yaml")["services"]
    for role in ("api", "worker"):
        assert services[role]["environment"]["HORNADA_ROLE"] == role
        assert services[role]["deploy"]["replicas"] == 2
        assert services[role]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services[role]["environment"]["HORNADA_STORAGE_MIGRATE"] == "false"
    assert services["migrate"]["command"] == ["migrate"]
