"""Which Lease a process competes for, and by which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi import Api, Context
from extapi.client.credentials import CredentialsError
from extapi.pizza import api as pizza
from extapi.server.election import election_of, elects
from extapi.server.leaderoptions import LeaderOptions


def test_the_lease_is_in_the_pods_namespace_and_has_the_name_of_the_group(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("kitchen\n")
    found = election_of(pizza, LeaderOptions(), tmp_path)
    assert (found.namespace, found.name) == ("kitchen", "restaurant.programming-kubernetes.info")
    assert (found.lease_duration, found.renew_deadline, found.retry_period) == (15.0, 10.0, 2.0)
    assert found.identity != election_of(pizza, LeaderOptions(), tmp_path).identity


def test_flags_come_first(tmp_path: Path) -> None:
    options = LeaderOptions(name="a", namespace="b", lease_duration=30.0)
    found = election_of(pizza, options, tmp_path)
    assert (found.namespace, found.name, found.lease_duration) == ("b", "a", 30.0)


@pytest.mark.parametrize(
    ("api", "text"),
    [(pizza, "--leader-elect-resource-namespace is needed"), (Api(), "--leader-elect-resource-name is needed")],
)
def test_what_is_not_known_is_asked_for(tmp_path: Path, api: Api, text: str) -> None:
    with pytest.raises(CredentialsError, match=text):
        election_of(api, LeaderOptions(), tmp_path)


class Working:
    """Runs where its process leads."""

    async def run(self, context: Context) -> None:
        """Never called."""


class Everywhere(Working):
    """Runs in each process."""

    each_process = True


@pytest.mark.parametrize(
    ("controllers", "elect", "shared", "expected"),
    [
        ([Working()], None, True, True),
        ([Everywhere(), Working()], None, True, True),
        ([Everywhere()], None, True, False),
        ([], None, True, False),
        ([Working()], None, False, False),
        ([Working()], False, True, False),
        ([], True, False, True),
    ],
)
def test_it_competes_where_others_may_run_the_same_controllers(
    controllers: list[Working], elect: bool | None, shared: bool, expected: bool
) -> None:
    assert elects(Api(controllers=controllers), LeaderOptions(elect=elect), shared=shared) is expected
