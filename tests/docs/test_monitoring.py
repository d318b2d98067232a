"""The page on monitoring: its ServiceMonitor finds the rendered Service, and its table is what there is."""

from __future__ import annotations

import re

import yaml

from extapi.testing import serve
from tests.docs import tables
from tests.docs.samples import ROOT, blocks
from tests.kubernetes.scraping import known
from tests.unit.verbs.sample import shop

PAGE = ROOT / "docs/howto/monitoring.md"
FILES = ("extapi_definition_problems", "extapi_reloads_total", "extapi_reload_last_timestamp_seconds", "extapi_kinds")
"""Of a process, with its files; not of a server in memory."""


def test_the_service_monitor_finds_the_service() -> None:
    [monitor] = [yaml.safe_load(block.text) for block in blocks(PAGE) if "kind: ServiceMonitor" in block.text]
    service = yaml.safe_load((ROOT / "deploy/service.yaml").read_text())
    [endpoint] = monitor["spec"]["endpoints"]
    assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    assert endpoint["tlsConfig"]["serverName"] == f"{name}.{namespace}.svc"


def test_the_table_names_every_metric() -> None:
    rows = "\n".join(tables.rows_of(PAGE, "What there is"))
    named = set(re.findall(r"`((?:apiserver|extapi|kubernetes)_[a-z_]+)`", rows))
    with serve(shop()) as server:
        names = set(re.findall(r"^# TYPE (\S+)", server.request("GET", "/metrics").body.decode(), re.MULTILINE))
    served = {
        name for name in names | known().keys() if not name.startswith(("process_", "python_", "kubernetes_health"))
    }
    # Two counters have names of their own in kube-apiserver; a parser gives each counter this suffix.
    assert named == {name.replace("_count_total", "_count") for name in served} | set(FILES)
