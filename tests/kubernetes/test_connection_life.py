"""Behind an aggregator, which keeps its connections: that a server ends them costs no request, writes included.

net/http repeats a request on a new connection only if it may; a POST with a body is lost if its connection ends without a word.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.releases import GROUP
from tests.kubernetes import second
from tests.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.usefixtures("extension_server")

THINGS = f"/apis/{GROUP}/v1/things"
CLIENTS, EACH = 4, 15


def test_connections_that_end_lose_no_request(control_plane: ControlPlane, tmp_path: Path) -> None:
    client = control_plane.client

    def work(number: int) -> list[str]:
        names = []
        for turn in range(EACH):
            name = f"life-{number}-{turn}"
            made = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name}}
            client.request("POST", THINGS, made)  # raises if it is refused
            names.append(client.get(f"{THINGS}/{name}")["metadata"]["name"])
        return names

    flags = ["--connection-requests=2"]
    with (
        second.running(control_plane, "tests.conformance.releases:first", tmp_path, flags=flags),
        ThreadPoolExecutor(CLIENTS) as pool,
    ):
        done = [name for names in pool.map(work, range(CLIENTS)) for name in names]
        assert len(client.get(THINGS)["items"]) == CLIENTS * EACH
    assert done == [f"life-{number}-{turn}" for number in range(CLIENTS) for turn in range(EACH)]
