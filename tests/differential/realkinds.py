"""The definitions of real projects, by kube-apiserver and by us: what is refused, and what becomes of objects made up for them.

The long form: ``.venv/bin/python -m tests.differential.realkinds --objects 20``. It prints a line a project, and ends with status 1
if something differs that is not listed. The short form is ``test_realkinds.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tests.differential.cel import objects
from tests.differential.mutating import mutated
from tests.differential.verdicts import Asked, Definition, path_of, schema_of, without_fractions


def versions_of(definition: Definition) -> list[str]:
    """The versions in which objects can be made without a webhook: those that are served, or the stored one."""
    spec = definition["spec"]
    served = [each for each in spec["versions"] if each["served"]]
    if (spec.get("conversion") or {}).get("strategy") == "Webhook":
        served = [each for each in served if each["storage"]]
    return [each["name"] for each in served]


def creates(definition: Definition, count: int, random: Random) -> Iterator[Asked]:
    """Creates of so many objects in each version: every third as it was made, the others with mistakes."""
    for version in versions_of(definition):
        schema: Any = schema_of(definition, version)
        for number in range(count):
            made = objects.resource(schema, random)
            if number % 3:
                made = mutated(made, random)
            named = {"apiVersion": f"{definition['spec']['group']}/{version}", "kind": definition["spec"]["names"]["kind"]}
            yield Asked("POST", path_of(definition, version), {**without_fractions(made), **named})
