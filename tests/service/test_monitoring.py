"""The dashboard and the alert rules that are shipped, against the metrics that a real server shows."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bench import lines
from bench.client import Client
from bench.hornada import Hornada, model, settings
from bench.stub import Stub
from hornada.service.metrics import NAMES

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "hornada.json").read_text())
RULES = yaml.safe_load((DEPLOY / "prometheus" / "hornada.rules.yml").read_text())["groups"][0]["rules"]
ADDED = {"job", "instance", "le"}
"""Labels that Prometheus adds, and the bound of a bucket."""
SAMPLE = re.compile(r"\b((?:hornada|process)_[a-z_]+)(?:\{([^}]*)\})?")


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


EXPRESSIONS = [
    *((f"panel {panel['title']}", target["expr"]) for panel in panels() for target in panel["targets"]),
    *((f"alert {rule['alert']}", rule["expr"]) for rule in RULES),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, set[str]]]:
    """Each sample that a server shows which has answered a regular call and run a batch, with its labels."""
    folder = tmp_path_factory.mktemp("monitored")
    config = settings([model(lines.MODEL, "URL", harm=0.5)])
    with Stub(folder / "stub.log") as stub, Hornada(folder, config.replace("URL", stub.upstream)) as hornada:
        hornada.start()
        ask = {"model": lines.MODEL, "messages": [{"role": "user", "content": "?"}]}
        assert hornada.client.call("POST", "/chat/completions", ask).status == 200
        batch = hornada.client.submit(lines.write(folder / "in.jsonl", 3))
        end = time.monotonic() + 60
        while hornada.client.batch(batch)["status"] != "completed":
            assert time.monotonic() < end
            time.sleep(0.05)
        text = Client(f"http://127.0.0.1:{hornada.port}").call("GET", "/metrics").body.decode()
        found: dict[str, set[str]] = {}
        for family in text_string_to_metric_families(text):
            found.setdefault(family.name, set())
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        yield found


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=[where for where, _ in EXPRESSIONS])
def test_an_expression_asks_for_samples_and_labels_that_there_are(
    shown: dict[str, set[str]], where: str, expression: str
) -> None:
    asked = SAMPLE.findall(expression)
    assert asked
    grouped = set(re.findall(r"\w+", " ".join(re.findall(r"(?:by|on) \(([^)]*)\)", expression))))
    labels: set[str] = set()
    for name, matchers in asked:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        assert name.startswith("process_") or base in NAMES, f"{where}: there is no metric {name}"
        if base == "hornada_harm_ratio":  # shown once it has been measured for minutes
            shown.setdefault(name, set()).add("model")
        assert name in shown, f"{where}: {name} is not shown"
        known = shown[name] | ADDED
        assert set(re.findall(r"(\w+)\s*[=!]", matchers)) <= known, f"{where}: labels of {name} are {known}"
        labels |= known
    assert grouped <= labels, f"{where}: grouped by what none of its metrics has"


def test_a_panel_says_what_it_shows_and_stands_beside_the_others() -> None:
    taken = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels()]
    assert len(set(taken)) == len(taken)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert all(panel["title"] for panel in panels())
    for panel in panels():
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            grouped = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))))
            assert named <= grouped | {"instance"}, f"{panel['title']}: its legend names a label that is summed away"


def test_an_alert_says_how_bad_it_is_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert {"summary", "description"} <= rule["annotations"].keys()
        told = " ".join(rule["annotations"].values())
        named = set(re.findall(r"\$labels\.(\w+)", told))
        assert named <= set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", rule["expr"]))))
