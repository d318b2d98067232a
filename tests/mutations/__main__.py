"""``python -m tests.mutations [NAME...]``: plants the mutations with these names or of these packages, by default all.

Exits with 1 if one is not seen, and with 2 if the tests fail without any.
"""

from __future__ import annotations

import sys
from collections import Counter

import click

from tests.mutations.mutation import Mutation, load
from tests.mutations.running import LONGEST, CopiedTree, Outcome, Trial, copied


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Plant the mutations NAMES, or those of the packages NAMES, one at a time, and say which the tests see."""
    known = list(load())
    chosen = [each for each in known if not names or {each.name, each.package}.intersection(names)]
    if unknown := set(names) - {name for each in known for name in (each.name, each.package)}:
        raise click.BadParameter(f"no mutation or package is called {', '.join(sorted(unknown))}")
    with copied() as tree:
        _check(tree, chosen)
        trials = []
        for each in chosen:
            trials.append(tree.attempt(each))
            click.echo(_row(trials[-1]))
    sys.exit(_summary(trials))


def _check(tree: CopiedTree, chosen: list[Mutation]) -> None:
    """End here if the tests fail without a mutation: then nothing that they see means anything."""
    tests = list(dict.fromkeys(test for each in chosen for test in each.tests))
    click.echo(f"without a mutation: {len(tests)} files ...")
    result = tree.run(tests, longest=LONGEST * len(tests))
    click.echo(result.output.strip().rpartition("\n")[2])
    if result.code != 0:
        click.echo(result.output)
        sys.exit(2)


def _row(trial: Trial) -> str:
    name = f"{trial.mutation.package}: {trial.mutation.name}"
    return f"{trial.outcome.value:<6} {trial.seconds:5.1f} s  {name:<60} {trial.told}"


def _summary(trials: list[Trial]) -> int:
    counts = Counter(each.outcome for each in trials)
    click.echo(f"\n{len(trials)} planted, {counts[Outcome.SEEN]} seen, {sum(each.seconds for each in trials):.0f} s")
    others = [each for each in trials if each.outcome is not Outcome.SEEN]
    for each in others:
        click.echo(f"{each.outcome.value}: {each.mutation.name} in {each.mutation.module}: {each.mutation.why}")
    return int(bool(others))


if __name__ == "__main__":
    main()
