"""A minute of faults, with a fixed seed: the judge finds nothing, and whatever is planted into what was recorded.

``scripts/checker`` runs longer, and with faults that are planted into a replica.
"""

from __future__ import annotations

import pytest

from tests.ha.faults import kinds
from tests.ha.judging.history import Gone
from tests.ha.judging.judge import judge
from tests.ha.judging.plants import PLANTS, planted
from tests.ha.run import Plan, run

pytestmark = pytest.mark.kubernetes

PLAN = Plan(seed=20261126, seconds=0, longest=2.5)


def test_clients_are_told_the_truth_while_servers_and_members_fail(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = run(tmp_path_factory.mktemp("checker"), PLAN)
    assert outcome.findings == []
    history = outcome.history
    # Something was at stake: each client did its part, and what was drawn went wrong.
    assert set(outcome.faults) == set(kinds(PLAN.store))
    assert {write.result for write in history.writes} >= {"acknowledged", "refused"}
    assert len(history.log) > 100
    assert all(len(watch.entries) > 50 for watch in history.watches)
    # Those who were away while all replicas were restarted were answered 410, listed again, and went on.
    assert any(isinstance(entry, Gone) for watch in history.watches for entry in watch.entries)
    # What the judge finds in made up histories it finds in this one.
    for name, (_, rule) in PLANTS.items():
        assert rule in {finding.rule for finding in judge(planted(history, name, PLAN.seed))}, name
