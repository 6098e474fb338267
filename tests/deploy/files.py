"""Where the files of a deployment are, and what checks them."""

import importlib
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "hornada"
NEEDED = {"blobs": {"url": "s3://bucket/prefix?region=eu-central-1"}}
"""Values that a chart has no default for."""
FULL: dict[str, Any] = {
    **NEEDED,
    "upstream": ["http://a:8000/v1", "http://b:8000/v1"],
    "imagePullSecrets": [{"name": "registry"}],
    "extraEnv": [{"name": "HORNADA_SERVER_ACCESS_LOG", "value": "true"}],
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/hornada"}},
    "api": {"autoscaling": {"enabled": True}, "nodeSelector": {"pool": "api"}, "podAnnotations": {"a": "b"}},
    "worker": {"autoscaling": {"kind": "keda"}, "tolerations": [{"key": "spot", "operator": "Exists"}]},
    "service": {"annotations": {"a": "b"}},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls"},
    "podMonitor": {"enabled": True},
}
FULL["blobs"] = {**NEEDED["blobs"], "credentialsSecret": "bucket"}
FULL["secrets"] = {"upstreamApiKey": {"name": "models", "key": "token"}}


def tool(name: str) -> ModuleType:
    """A package of the group ``deploy``; a test that needs it fails in CI and is skipped elsewhere without it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        _missing(name, "make .venv/.stamp-deploy")
        raise


def program(name: str, remedy: str = "make .venv/.stamp-deploy") -> str:
    """The same for a program."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        _missing(name, remedy)
    assert found is not None
    return found


def _missing(name: str, remedy: str) -> None:
    (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is not there: {remedy}")


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """What Helm makes of the chart: every object."""
    import yaml

    chart = tool("helm_python").Chart.load(str(CHART))
    texts = chart.render(values, name="prod", namespace="batches")
    return [
        found for name, text in texts.items() if name.endswith(".yaml") for found in yaml.safe_load_all(text) if found
    ]
