"""The reference, written from the code: settings, commands, routes, errors, metrics, and a batch's life."""

from collections.abc import Callable
from pathlib import Path

from tools.reference import commands, errors, lifecycle, metrics, routes, settings

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings.page,
    "commands.md": commands.page,
    "routes.md": routes.page,
    "errors.md": errors.page,
    "metrics.md": metrics.page,
}

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- transitions: begin (written by make reference) -->", "<!-- transitions: end -->"


def written() -> dict[Path, str]:
    """Every file that is written by this program, with what it should hold."""
    files = {FOLDER / name: page() for name, page in PAGES.items()}
    before, _, rest = ARCHITECTURE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    files[ARCHITECTURE] = f"{before}{BEGIN}\n\n{lifecycle.transitions()}\n\n{END}{after}"
    return files
