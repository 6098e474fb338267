"""The Helm chart: linted and rendered by Helm itself, every object checked against Kubernetes' own schemas."""

import json
from typing import Any

import pytest

from hornada.config import load
from tests.deploy.files import CHART, FULL, NEEDED, rendered, tool

KUBERNETES = "1.33"
OF_OTHERS = {"ScaledObject", "PodMonitor"}
"""Kinds that Kubernetes does not know by itself."""
VALUES = [NEEDED, FULL, {**NEEDED, "worker": {"autoscaling": {"kind": "hpa"}}}]


def objects(values: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [found for found in rendered(values) if found["kind"] == kind]


def containers(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = objects(values, "Deployment") + objects(values, "Job")
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"][0] for each in found}


@pytest.mark.parametrize("values", VALUES)
def test_helm_has_nothing_to_say_against_it(values: dict[str, Any]) -> None:
    report = tool("helm_python").lint(str(CHART), values, strict=True)
    assert report["errors"] == []
    assert [found for found in report["messages"] if found["severity"] > 1] == []


@pytest.mark.parametrize("values", VALUES)
def test_every_object_is_what_kubernetes_takes(values: dict[str, Any]) -> None:
    validate = tool("kubernetes_validate").validate
    for found in rendered(values):
        if found["kind"] not in OF_OTHERS:
            validate(found, KUBERNETES, strict=True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "blobs"),
        ({"blobs": {"url": "/data"}}, "url"),
        ({**NEEDED, "worker": {"autoscaling": {"kind": "cron"}}}, "kind"),
        ({**NEEDED, "replicas": 3}, "replicas"),
        ({**NEEDED, "api": {"autoscaling": {"cpu": 70}}}, "cpu"),
        ({**NEEDED, "secrets": {"database": {"name": "", "key": "k"}}}, "database"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], words: str) -> None:
    report = tool("helm_python").lint(str(CHART), values)
    assert words in " ".join([*report["errors"], *(found["error"] for found in report["messages"])])


def test_the_schema_refuses_what_it_does_not_know_at_every_level_of_ours() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    closed = {name for name, found in schema["properties"].items() if found.get("additionalProperties") is False}
    assert {"image", "secrets", "blobs", "service", "ingress", "serviceAccount", "podMonitor"} <= closed


def test_processes_share_everything_but_their_role() -> None:
    found = containers(FULL)
    api, worker, migrate = found["prod-hornada-api"], found["prod-hornada-worker"], found["prod-hornada-migrate"]
    assert api["env"] == worker["env"]
    assert [api["args"], worker["args"], migrate["args"]] == [
        ["serve", "--role", "api", "--config", "/etc/hornada/hornada.toml"],
        ["serve", "--role", "worker", "--config", "/etc/hornada/hornada.toml"],
        ["migrate"],
    ]
    assert {entry["name"] for entry in migrate["env"]} == {"HORNADA_STORAGE_DATABASE"}


def test_no_secret_is_written_out() -> None:
    for container in containers(FULL).values():
        for entry in container["env"]:
            secret = "KEY" in entry["name"] or entry["name"] == "HORNADA_STORAGE_DATABASE"
            assert ("valueFrom" in entry) == secret, entry


def test_a_pod_is_stopped_later_than_it_stops() -> None:
    """Taken out of the service, then grace for lines, then for regular calls, then the last commit."""
    for deployment in objects({**NEEDED, "shutdownGraceSeconds": 100}, "Deployment"):
        spec = deployment["spec"]["template"]["spec"]
        pause = int(spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
        assert spec["terminationGracePeriodSeconds"] >= pause + 2 * 100 + 10


def test_migration_comes_before_every_version() -> None:
    (job,) = objects(NEEDED, "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_pods_run_as_nobody_and_write_nowhere() -> None:
    for found in (*objects(FULL, "Deployment"), *objects(FULL, "Job")):
        spec = found["spec"]["template"]["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
        assert spec["automountServiceAccountToken"] is False


def test_what_is_scaled_has_no_number_of_replicas_of_its_own() -> None:
    plain = {found["metadata"]["name"]: found["spec"].get("replicas") for found in objects(NEEDED, "Deployment")}
    assert plain == {"prod-hornada-api": 2, "prod-hornada-worker": 2}
    assert [found["spec"].get("replicas") for found in objects(FULL, "Deployment")] == [None, None]
    (scaled,) = objects(FULL, "ScaledObject")
    assert scaled["spec"]["scaleTargetRef"]["name"] == "prod-hornada-worker"
    assert 'hornada_batches_live{status="in_progress",namespace="batches"}' in str(scaled)


def test_the_service_leads_to_api_pods_alone() -> None:
    (service,) = objects(NEEDED, "Service")
    assert service["spec"]["selector"]["app.kubernetes.io/component"] == "api"


def test_the_configuration_is_one(tmp_path: Any) -> None:
    (found,) = objects(NEEDED, "ConfigMap")
    file = tmp_path / "hornada.toml"
    file.write_text(found["data"]["hornada.toml"])
    assert load(file, {}, {}).server.log_format == "json"
