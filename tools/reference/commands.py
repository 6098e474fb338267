"""The page of commands, as the command line itself describes them."""

import typer
from typer.testing import CliRunner

from hornada.cli.app import app
from hornada.cli.exit import ExitCode
from tools.reference.markdown import head, table

EXITS = {
    ExitCode.DONE: "done",
    ExitCode.SOME_FAILED: "some lines failed, or the batch expired or was cancelled",
    ExitCode.USAGE: "wrong usage, wrong configuration, or an input file with faults",
    ExitCode.UNREACHABLE: "the server could not be reached",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
}


def page() -> str:
    """The help of every command, and the exit codes."""
    parts = [head("Commands", "What `hornada` and each command's `--help` say.")]
    for name in ["", *_names(app)]:
        title = f"hornada {name}".strip()
        parts.append(f"## `{title}`\n\n```text\n{_help(app, name)}\n```\n")
    exits = table(("Code", "Meaning"), [(str(int(code)), EXITS[code]) for code in ExitCode])
    return "\n".join([*parts, f"## Exit codes\n\n{exits}\n"])


def _names(program: typer.Typer, before: str = "") -> list[str]:
    """Every command, those of groups too, in the order of the help."""
    found = [f"{before}{command.name}" for command in program.registered_commands]
    for group in program.registered_groups:
        inner = group.typer_instance
        if inner is not None:
            found += _names(inner, f"{before}{group.name or inner.info.name} ")
    return found


def _help(program: typer.Typer, name: str) -> str:
    arguments = [*name.split(), "--help"]
    runner = CliRunner(env={"TERMINAL_WIDTH": "110", "COLUMNS": "110", "NO_COLOR": "1"})
    shown = runner.invoke(program, arguments, prog_name="hornada", terminal_width=110).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())
