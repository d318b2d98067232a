"""The real HorizontalPodAutoscaler scales an aggregated kind, with its own rights and its own client."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kubernetes.control_plane import add_extension_server, running
from tests.kubernetes.twin_schema import KIND, OURS, PLURAL, VERSION
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
GADGETS = f"/apis/{OURS}/{VERSION}/namespaces/default/{PLURAL}"


def test_an_autoscaler_keeps_to_its_minimum(tmp_path_factory: pytest.TempPathFactory) -> None:
    """There are no pods and no metrics; a number below the minimum is raised without either."""
    directory = tmp_path_factory.mktemp("autoscaler")
    with running(directory, "kube", controllers=["horizontal-pod-autoscaler-controller"]) as plane:
        add_extension_server(plane, "tests.kubernetes.apis:gadgets")
        api_version = f"{OURS}/{VERSION}"
        gadget = {"apiVersion": api_version, "kind": KIND, "metadata": {"name": "one"}, "spec": {"size": 3}}
        plane.client.request("POST", GADGETS, gadget)
        target = {"apiVersion": api_version, "kind": KIND, "name": "one"}
        autoscaler = {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "one"},
            "spec": {"minReplicas": 6, "maxReplicas": 9, "scaleTargetRef": target},
        }
        plane.client.request("POST", AUTOSCALERS, autoscaler)
        # It looks every 15 seconds.
        until(lambda: plane.client.get(f"{GADGETS}/one")["spec"]["size"] == 6, 60)

        def conditions() -> dict[str, Any]:
            status = plane.client.get(f"{AUTOSCALERS}/one")["status"]
            return {each["type"]: each["status"] for each in status.get("conditions", ())}

        until(lambda: conditions().get("AbleToScale") == "True", 60)
