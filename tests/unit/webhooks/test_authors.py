"""What plugins and controllers get: which Lease, and nobody else's rights."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi import Api
from extapi.api.user import User
from extapi.client.credentials import CredentialsError
from extapi.pizza import api as pizza
from extapi.webhooks.authors import ClusterTransport, election_of
from extapi.webhooks.options import WebhookOptions
from tests.unit.client.kubernetes import Answer, Kubernetes

GIVEN = WebhookOptions(tls_cert_file=Path("a"), tls_private_key_file=Path("b"))


def test_the_lease_is_in_the_pods_namespace_and_has_the_name_of_the_group(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("kitchen\n")
    found = election_of(pizza, GIVEN, tmp_path)
    assert (found.namespace, found.name) == ("kitchen", "restaurant.programming-kubernetes.info")
    assert (found.lease_duration, found.renew_deadline, found.retry_period) == (15.0, 10.0, 2.0)
    assert found.identity != election_of(pizza, GIVEN, tmp_path).identity


def test_flags_come_first(tmp_path: Path) -> None:
    options = WebhookOptions(
        tls_cert_file=Path("a"),
        tls_private_key_file=Path("b"),
        lease_name="a",
        lease_namespace="b",
        lease_duration=30.0,
    )
    found = election_of(pizza, options, tmp_path)
    assert (found.namespace, found.name, found.lease_duration) == ("b", "a", 30.0)


@pytest.mark.parametrize(
    ("api", "text"),
    [(pizza, "--leader-elect-resource-namespace is needed"), (Api(), "--leader-elect-resource-name is needed")],
)
def test_what_is_not_known_is_asked_for(tmp_path: Path, api: Api, text: str) -> None:
    with pytest.raises(CredentialsError, match=text):
        election_of(api, GIVEN, tmp_path)


def test_nobody_else_is_acted_as() -> None:
    with pytest.raises(RuntimeError, match="cannot act as 'bob'"):
        ClusterTransport(Kubernetes(lambda _: Answer(200))).acting_as(User("bob"))
