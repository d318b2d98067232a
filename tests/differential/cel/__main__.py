"""``python -m tests.differential.cel``: the long forms of the comparison of CEL with kube-apiserver's.

``corpora`` prints the table of all corpora, with what is the same and what differs. ``generated``, ``malformed`` and the other
corpora by name compare one. Each difference is printed; the exit status is 1 if one is not in ``disagreements.toml``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tests.differential.cel import corpora, every
from tests.differential.cel.comparison import Comparison, disagreements, unlisted
from tests.differential.cel.judge import Judge, judge


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _chosen(options: argparse.Namespace) -> Mapping[str, Callable[[Judge], Comparison]]:
    found = dict(every.COMPARISONS)
    found["generated"] = partial(every.generated, pairs=options.pairs, seed=options.seed)
    found["malformed"] = partial(every.malformed_rules, count=options.mutations, seed=options.seed)
    found["real-objects"] = partial(every.real_objects, count=options.objects, seed=options.seed)
    if options.corpus != "corpora":
        return {options.corpus: found[options.corpus]}
    lacking = corpora.missing()
    if lacking:
        say(f"without the recorded corpora: {lacking}")
    return {name: compare for name, compare in found.items() if not (lacking and name in every.RECORDED)}


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.cel", description=__doc__)
    parser.add_argument("corpus", choices=["corpora", *every.COMPARISONS])
    parser.add_argument("--pairs", type=int, default=20_000, help="of a rule and an object, generated")
    parser.add_argument("--mutations", type=int, default=431, help="malformed rules")
    parser.add_argument("--objects", type=int, default=60, help="of each real schema")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=20, help="differences, of each corpus")
    options = parser.parse_args(arguments)
    asked, found, wrong = judge(), {}, []
    for name, compare in _chosen(options).items():
        found[name] = compare(asked)
        new = unlisted(found[name], disagreements())
        wrong += new
        for each in new[: options.show]:
            say(each)
    for line in every.table(found):
        say(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
