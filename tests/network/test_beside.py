"""Our informer, our credentials and our queue ask no more often than client-go's while a server or the network fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.network import credentials, scenarios
from tests.network.credentials import CASES
from tests.network.programs import queues
from tests.network.scenarios import CUT, SCENARIOS

pytestmark = pytest.mark.upstream

CHANCE = 2
"""Requests that jitter makes more or less of in a run."""


def test_informers_ask_as_often_as_client_go(tmp_path: Path) -> None:
    rows = asyncio.run(scenarios.compare(SCENARIOS, tmp_path))
    print(scenarios.HEAD, *(row.text() for row in rows), sep="\n")  # noqa: T201 - shown by -rP
    for row in rows:
        assert row.ours.synced == row.theirs.synced, row.scenario
        assert row.ours.lists + row.ours.watches <= row.theirs.lists + row.theirs.watches + 2 * CHANCE, row.scenario
        if row.scenario.lived:
            # Some time has gone by in which each watch might have waited longer for the next.
            assert row.ours.watches >= row.theirs.watches - CHANCE >= scenarios.SECONDS / CUT / 2


def test_credentials_are_asked_for_as_often_as_by_client_go(tmp_path: Path) -> None:
    for case, (ours, theirs) in asyncio.run(credentials.compare(CASES, tmp_path)).items():
        print(f"{case.name}: {ours.text()} beside {theirs.text()}")  # noqa: T201 - shown by -rP
        assert ours.runs <= theirs.runs, case
        # Where client-go's calls wait for a plugin that hangs, ours end in time.
        assert case.breaks == "hang" or ours.failed <= theirs.failed + CHANCE, case
        assert ours.calls + CHANCE >= theirs.calls, case


def test_a_key_is_worked_on_as_often_as_in_client_go(tmp_path: Path) -> None:
    (busy, quiet), (their_busy, their_quiet) = asyncio.run(queues(tmp_path))
    assert abs(busy - their_busy) <= 3
    assert abs(quiet - their_quiet) <= 1
