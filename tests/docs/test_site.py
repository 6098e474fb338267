"""The documentation as a site: every page is there, and every link and anchor in it leads somewhere."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_site_is_built_without_a_warning_and_runs_no_script_of_others(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=250, check=False)
    assert run.returncode == 0, run.stderr
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    built = {path.relative_to(tmp_path) for path in tmp_path.glob("**/*.html")}
    assert {Path("index.html") if page.name == "README.html" else page for page in pages} <= built

    scripts = [line for page in built for line in (tmp_path / page).read_text().splitlines() if "<script src" in line]
    assert scripts
    assert not [line for line in scripts if "://" in line]
