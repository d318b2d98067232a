"""What is accepted, in which form, and what is refused in which words: all as recorded from kube-apiserver 1.36.3."""

import json
from pathlib import Path
from typing import Any

import pytest

from extapi.testing import serve
from tests.unit.controlplane.kinds.served import stored_kinds

CASES = json.loads((Path(__file__).parent / "writes.json").read_text(encoding="utf-8"))
NETWORK = {"ipFamilies", "ipFamilyPolicy"}
"""What kube-apiserver allocates from its network."""


def shown(obj: Any) -> Any:
    """Without what is empty in Go and absent here, and what differs each time."""
    if isinstance(obj, list):
        return [shown(item) for item in obj]
    if not isinstance(obj, dict):
        return obj
    cleared = {key: shown(value) for key, value in obj.items() if key not in NETWORK}
    return {key: value for key, value in cleared.items() if value is not None and value != {}}


def sent(obj: Any) -> Any:
    """``<large>`` stands for one byte more than the most."""
    return json.loads(json.dumps(obj).replace("<large>", "x" * (1024 * 1024 + 1)))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_writes_are_answered_as_kube_apiserver_does(case: dict[str, Any]) -> None:
    with serve(stored_kinds(), lifecycle=False) as server:
        for number, step in enumerate(case["steps"]):
            name = step["object"]["metadata"]["name"]
            method, path = ("PUT", f"{case['path']}/{name}") if number else ("POST", case["path"])
            answer = server.request(method, path, body=sent(step["object"]))
            got = json.loads(answer.body)
            if answer.status >= 400:
                assert got["message"] == step["answer"]
            else:
                got["metadata"] = {key: got["metadata"][key] for key in ("name", "labels") if key in got["metadata"]}
                assert shown(got) == shown(step["answer"])
            assert answer.status == step["code"]
