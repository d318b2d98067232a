"""apiextensions-apiserver's own integration tests, unmodified, on the built-in control plane.

``customresources/builtin.txt`` lists the tests that pass there. It may only grow: a listed test that fails is a regression,
and one that passes without being listed has to be added. ``customresources/others.toml`` gives the reason of each other one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.kubernetes.customresources.outcomes import Outcome, names, run_shards
from tests.kubernetes.customresources.program import build

pytestmark = [pytest.mark.kubernetes, pytest.mark.upstream]

_HERE = Path(__file__).parent / "customresources"
LIST = _HERE / "builtin.txt"
LISTED = LIST.read_text().splitlines()
OTHERS = tomllib.loads((_HERE / "others.toml").read_text())


@pytest.fixture(scope="module")
def program() -> Path:
    return build(print)


@pytest.fixture(scope="module")
def outcomes(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What became of each test, by its name."""
    found = run_shards(program, "builtin", names(program), tmp_path_factory.mktemp("customresources"), shards=2)
    states = [outcome.state for outcome in found.values()]
    print({state: states.count(state) for state in sorted(set(states))})  # noqa: T201 - for whoever reads the test run
    return found


@pytest.mark.parametrize("test", LISTED)
def test_passes(outcomes: dict[str, Outcome], test: str) -> None:
    outcome = outcomes.get(test)
    assert outcome, "it did not run"
    assert outcome.state == "passed", outcome.output


def test_all_that_pass_are_listed(outcomes: dict[str, Outcome]) -> None:
    """Sorted, so that two changes that add some seldom meet."""
    new = sorted({name for name, outcome in outcomes.items() if outcome.state == "passed"} - set(LISTED))
    assert not new, "\n".join([f"add to {LIST.name}:", *new])
    assert sorted(LISTED) == LISTED


def test_each_other_one_has_a_reason(program: Path) -> None:
    others = {name for reasons in OTHERS.values() for name in reasons}
    assert sorted(names(program)) == sorted({*LISTED, *others})
    assert not others & set(LISTED)
