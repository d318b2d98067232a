"""What Kubernetes' own tests compile and validate, recorded: data of others, which is not part of this project.

``EXTAPI_CEL_CORPORA`` names the directory with ``k8sdump.jsonl.gz``, ``expr_all.json.gz`` and ``expr_oracle.json.gz``.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.differential.cel.malformed import without_rules

VARIABLE = "EXTAPI_CEL_CORPORA"
_OF_ROOTS: Final = re.compile(r"\bself\.(metadata|apiVersion|kind)\b")
"""What only rules of whole resources use, which were not recorded as such."""
_FILES = ("k8sdump.jsonl.gz", "expr_all.json.gz")


def missing() -> str:
    """Why the corpora cannot be read; empty if they can."""
    directory = os.environ.get(VARIABLE)
    if not directory:
        return f"{VARIABLE} does not name the directory of the recorded cases of Kubernetes' tests"
    lacking = [name for name in _FILES if not (Path(directory) / name).is_file()]
    return f"{VARIABLE}={directory} has no {' and no '.join(lacking)}" if lacking else ""


def _read(name: str) -> str:
    return gzip.decompress((Path(os.environ[VARIABLE]) / name).read_bytes()).decode()


def expressions() -> list[str]:
    """The expressions of the tests of Kubernetes, cel-go and cel-spec."""
    return [case["expr"] for case in json.loads(_read("expr_all.json.gz"))]


def recorded(kind: str) -> list[dict[str, Any]]:
    """What Kubernetes' tests of rules did, with its answers.

    ``compile``: schema, rule, msgExpr, optionalOldSelf; error, maxCost, card, oldSelf, msgError, msgCost.
    ``validate``: schema, root, obj, old, budget, ratchet; errors, cost.
    """
    lines = _read("k8sdump.jsonl.gz").splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] == kind]


def compiled() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each rule that Kubernetes' tests compile, once: a name, a request to the judge, and what was recorded."""
    seen = set()
    for number, case in enumerate(recorded("compile")):
        rule = {"rule": case["rule"]}
        if case["msgExpr"]:
            rule["messageExpression"] = case["msgExpr"]
        if case["optionalOldSelf"] is not None:
            rule["optionalOldSelf"] = case["optionalOldSelf"]
        schema = {**without_rules(case["schema"]), "x-kubernetes-validations": [rule]}
        key = json.dumps([case["schema"], rule], sort_keys=True)
        if key not in seen:
            seen.add(key)
            request = {"schema": schema, "compileOnly": True, "root": bool(_OF_ROOTS.search(case["rule"]))}
            yield f"compile {number}", request, case


def validated() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each object that Kubernetes' tests validate: a name, a request to the judge, and what was recorded."""
    for number, case in enumerate(recorded("validate")):
        request = {
            "schema": case["schema"],
            "root": case["root"],
            "budget": case["budget"],
            "ratchet": case["ratchet"],
            "path": "root",
            "objects": [{"object": case["obj"], "old": case["old"]}],
            # The tests run rules in branches, too, and numbers that JSON cannot hold.
            "recorded": {"errors": case["errors"], "cost": case["cost"]},
        }
        yield f"validate {number}", request, case
