"""What Kubernetes' own tests compile and validate, recorded: data of others, which is not part of this project.

``EXTAPI_CEL_CORPORA`` names the directory with ``k8sdump.jsonl.gz``, ``expr_all.json.gz`` and ``expr_oracle.json.gz``.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "EXTAPI_CEL_CORPORA"
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
