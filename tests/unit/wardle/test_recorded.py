"""Conversations as recorded from sample-apiserver 0.36.3 behind kube-apiserver 1.36.3: our drop-in answers the same.

What the recording leaves out of each answer, and of ours: what differs each time, managed fields, and the details of a
Status. What of the rest the README of the example says is different: ``metadata.generation``, apiVersion and kind of the
items of lists, and the order of verbs in discovery.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.wardle.nursery import Nursery, warnings

CASES = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
VARIES = {"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"}


def trimmed(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name not in VARIES}}


def item(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in trimmed(obj).items() if name not in {"apiVersion", "kind"}}


def cell(value: str) -> str:
    return re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", "<time>", value)


def shown(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer in the form of the recording."""
    kind = answer["kind"]
    if kind == "Status":
        return {name: answer[name] for name in ("status", "reason", "message") if name in answer}
    if kind == "APIResourceList":
        resources = [{k: v for k, v in each.items() if k != "storageVersionHash"} for each in answer["resources"]]
        in_order = [{**each, "verbs": sorted(each["verbs"])} for each in resources]
        return {"groupVersion": answer["groupVersion"], "resources": in_order}
    if kind == "Table":
        cells = [[cell(value) for value in row["cells"]] for row in answer["rows"]]
        return {"columns": [column["name"] for column in answer["columnDefinitions"]], "cells": cells}
    if kind.endswith("List"):
        return {"kind": kind, "apiVersion": answer["apiVersion"], "items": [item(each) for each in answer["items"]]}
    return answer if kind == "APIGroup" else trimmed(answer)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_answers_are_those_of_sample_apiserver(nursery: Nursery, case: dict[str, Any]) -> None:
    revision = ""
    for step in case["steps"]:
        body = step.get("body")
        if isinstance(body, dict) and body.get("metadata", {}).get("resourceVersion") == "{rv}":
            body = {**body, "metadata": {**body["metadata"], "resourceVersion": revision}}
        answer = nursery.send(
            step["method"], step["path"], body, form=step.get("form", ""), accept=step.get("accept", "")
        )
        got = answer.json()
        revision = got.get("metadata", {}).get("resourceVersion", revision)
        assert (answer.status, shown(got)) == (step["code"], step["answer"]), step
        assert sorted(warnings(answer)) == sorted(step["warnings"]), step
