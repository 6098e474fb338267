"""What is printed when the server listens."""

import ast
import socket
import textwrap

import pytest

from hornada.service.welcome import address, announce


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104 - nothing is bound
        ("::", "http://[::1]:80"),
        ("fe80::1", "http://[fe80::1]:80"),
    ],
)
def test_an_address_is_one_that_a_client_can_use(host: str, shown: str) -> None:
    assert address(host, 80) == shown


def test_a_server_for_everybody_names_the_machine_too(capsys: pytest.CaptureFixture[str]) -> None:
    announce("0.0.0.0", 80, None)  # noqa: S104 - nothing is bound
    elsewhere = f"(from other machines: http://{socket.gethostname()}:80)"
    assert capsys.readouterr().out == f"Hornada listens on http://127.0.0.1:80 {elsewhere}\n"


def test_the_first_start_shows_a_program_that_follows_a_batch_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    announce("127.0.0.1", 80, "sk-first")
    shown = capsys.readouterr().out
    program = textwrap.dedent(shown[shown.index("    import time") :])
    ast.parse(program)
    for part in ("sk-first", "retrieve", "output_file_id", "error_file_id", "batch.errors"):
        assert part in program
    assert "\n    http://127.0.0.1:80/ui/\n" in shown
    announce("127.0.0.1", 80, "sk-first", dashboard=False)
    assert "/ui/" not in capsys.readouterr().out
