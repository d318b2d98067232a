"""The definitions of real projects, by kube-apiserver and by us: what is refused, and what becomes of objects made up for them.

The long form: ``.venv/bin/python -m tests.differential.realkinds --objects 20``. It prints a line a project, and ends with status 1
if something differs that is not listed. The short form is ``test_realkinds.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from extapi.testing.memory import serve
from tests.differential.cel import objects
from tests.differential.mutating import mutated
from tests.differential.projects import PROJECTS, Manifest, further, manifests
from tests.differential.verdicts import (
    Asked,
    Definition,
    Kube,
    Ours,
    Tally,
    alone,
    api,
    path_of,
    refusals,
    schema_of,
    without_fractions,
)


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
            named = {
                "apiVersion": f"{definition['spec']['group']}/{version}",
                "kind": definition["spec"]["names"]["kind"],
            }
            yield Asked("POST", path_of(definition, version), {**without_fractions(made), **named})


def compared(found: Sequence[Manifest], count: int, seed: int, kube: Kube) -> tuple[list[str], Tally]:
    """Make the kinds of a project, and compare what becomes of so many objects in each version.

    Returns:
        The definitions that are not judged alike, and the objects.
    """
    problems: list[str] = []
    accepted: list[Definition] = []
    for each in found:
        theirs, ours = refusals(each.definition, kube)
        if theirs != ours:
            problems.append(f"{each.name}: theirs {theirs!r:.500}, ours {ours!r:.500}")
        if theirs is None:
            accepted.append(each.definition)
    tally = Tally()
    kube.install(accepted)
    with serve(api(accepted)) as server:
        for definition in accepted:
            name = definition["metadata"]["name"]
            for asked in creates(definition, count, Random(f"{seed} {name}")):  # noqa: S311 - the same each time
                tally.compare(name, asked, kube, Ours(server))
    kube.remove(definition["metadata"]["name"] for definition in accepted)
    return problems, tally


def main(arguments: Sequence[str]) -> int:
    """The long form."""
    parser = argparse.ArgumentParser(description="Compare the definitions of real projects with kube-apiserver.")
    parser.add_argument("--objects", type=int, default=20, help="of each version")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("projects", nargs="*", default=[*PROJECTS, "further"])
    chosen = parser.parse_args(arguments)
    wrong = 0
    with alone() as kube:
        for project in chosen.projects:
            found = further() if project == "further" else manifests(project)
            problems, tally = compared(found, chosen.objects, chosen.seed, kube)
            print(f"{project}: {len(found)} definitions, {len(problems)} judged differently; {tally}", flush=True)  # noqa: T201 - a command's output
            for each in (*problems, *tally.differences):
                print(f"  {each}", flush=True)  # noqa: T201 - the same
            wrong += len(problems) + len(tally.differences)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
