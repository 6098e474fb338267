"""Flags, faults of settings, and the settings in force."""

import importlib.abc
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hornada import __version__
from hornada.cli import main
from hornada.cli.app import app
from hornada.cli.exit import ExitCode
from hornada.cli.show import toml
from hornada.config import load

FILE = """
upstream = ["http://u:secret-1@h/v1"]
upstream_api_key = "secret-2"
[server]
operator_key = "secret-7"
[storage]
database = "postgresql://u:secret-3@h/d"
blobs = "s3://bucket/p?endpoint=http://h&secret_access_key=secret-4"
[[models]]
name = "m"
upstream = [{url = "http://h/v1", api_key = "secret-5"}]
endpoints = ["/v1/embeddings"]
batch = 3
[aliases]
"Saptiva Turbo" = "m"
[plans."big one"]
weight = 2
[engine]
lease_ttl_s = 20
[webhooks]
allow_http = true
allow_networks = ["10.0.0.0/8"]
[bootstrap]
key = "secret-6"
credit = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hornada.toml"
    path.write_text(FILE)
    return path


def test_faults_of_the_configuration_go_to_stderr_and_exit_2() -> None:
    environ = {**os.environ, "HORNADA_SERVER_PROT": "1"}
    command = [sys.executable, "-c", "from hornada.cli import main; main()", "serve", "--port", "70000"]
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "The configuration is wrong:",
        '  HORNADA_SERVER_PROT: unknown environment variable; did you mean "HORNADA_SERVER_PORT"?',
        "  server.port: must be a whole number from 0 to 65535, not 70000",
    ]


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"hornada {__version__}\n"


def test_no_secret_is_shown(file: Path) -> None:
    result = CliRunner().invoke(app, ["config", "--config", str(file)])
    assert result.exit_code == 0
    assert "secret-" not in result.stdout
    assert result.stdout.count("***") == 8


def test_what_is_shown_is_a_file_that_says_the_same(file: Path, tmp_path: Path) -> None:
    shown = "\n".join(toml(load(file, {}, {})))
    again = tmp_path / "again.toml"
    again.write_text(shown)
    assert list(toml(load(again, {}, {}))) == shown.splitlines()
    assert tomllib.loads(shown)["aliases"] == {"Saptiva Turbo": "m"}


def test_flags_count_among_the_settings(file: Path) -> None:
    arguments = ["config", "--config", str(file), "--host", "::1", "--port", "1", "--upstream", "http://a/v1"]
    shown = tomllib.loads(CliRunner().invoke(app, [*arguments, "--upstream", "http://b/v1"]).stdout)
    assert (shown["server"]["host"], shown["server"]["port"]) == ("::1", 1)
    assert shown["upstream"] == ["http://a/v1", "http://b/v1"]


def test_help_needs_no_heavy_module() -> None:
    program = (
        "import sys\n"
        "from hornada.cli.app import app\n"
        "heavy = {'aiohttp', 'starlette', 'uvicorn', 'prometheus_client', 'rich.progress'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_ctrl_c_before_there_is_a_command_ends_it_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "hornada.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "hornada.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.INTERRUPTED
