"""The plugins that an extension server asks before its author's."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from extapi import Api, Group
from extapi.admission.policies.source import PolicySource
from extapi.admission.webhooks.mutating import MutatingWebhooks
from extapi.admission.webhooks.source import WebhookSource
from extapi.admission.webhooks.validating import ValidatingWebhooks
from extapi.authorization.alwaysallow import AlwaysAllowGroups
from extapi.client.hearing import BOUND
from extapi.client.kube import Client
from extapi.server.admissionplugins import BuiltinAdmission
from extapi.server.options import ADMISSION_PLUGINS
from extapi.testing import InMemoryServer
from tests.unit.client.conftest import Turning
from tests.webhooks.admitted import CLUSTER_API, GROUP, TABLE


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.close()


RANDOM = Random(1)  # noqa: S311 - for delays


def admission(turning: Turning, client: Client, *disabled: str) -> BuiltinAdmission:
    return BuiltinAdmission(client, AlwaysAllowGroups(), turning.reactor, random=RANDOM, disabled=frozenset(disabled))


@pytest.fixture
def client() -> Iterator[Client]:
    """A cluster with configurations, and without namespaces."""
    server = InMemoryServer(CLUSTER_API, lifecycle=False)
    server.start()
    yield server.client
    server.stop()


def names(plugins: list[Any]) -> list[str]:
    return [getattr(each, "plugin_name", type(each).__name__) for each in plugins]


def test_their_order(turning: Turning, client: Client) -> None:
    assert names(admission(turning, client).plugins) == list(ADMISSION_PLUGINS)


@pytest.mark.parametrize("name", ADMISSION_PLUGINS)
def test_those_that_are_disabled_are_left_out(name: str, turning: Turning, client: Client) -> None:
    assert names(admission(turning, client, name).plugins) == [each for each in ADMISSION_PLUGINS if each != name]


def test_it_is_ready_once_all_is_known(turning: Turning, client: Client) -> None:
    made = admission(turning, client)
    check = made.check()
    assert check.check() == "namespaces have not been listed yet"
    made.start()
    made._namespaces._synced = True
    turning.until(lambda: check.check() is None)
    assert MutatingWebhooks in map(type, made.plugins)
    assert ValidatingWebhooks in map(type, made.plugins)
    made.stop()


def test_it_is_not_ready_when_nothing_is_heard_of_what_decides(turning: Turning, client: Client) -> None:
    made = admission(turning, client)
    check = made.check()
    made.start()
    made._namespaces._synced = True
    turning.until(lambda: check.check() is None)
    policies = next(each for each in made._sources if isinstance(each, PolicySource))
    webhooks = next(each for each in made._sources if isinstance(each, WebhookSource))
    for each in (made._namespaces, webhooks._informer, policies._policies, policies._bindings):
        each._hearing._last -= BOUND + 1
        assert (check.check() or "").startswith("nothing has been heard of ")
        each._hearing.heard()
        assert check.check() is None
    made.stop()


def test_a_cluster_that_does_not_have_the_configurations_has_no_webhooks(turning: Turning) -> None:
    server = InMemoryServer(Api(Group(GROUP, TABLE)), lifecycle=False)
    server.start()
    made = admission(turning, server.client)
    made.start()
    turning.until(lambda: all(source.synced for source in made._sources))
    made.stop()
    server.stop()


def test_what_is_measured(turning: Turning, client: Client) -> None:
    """As kube-apiserver names and labels it (``tests/kubernetes/metrics.toml``)."""
    made = admission(turning, client)
    assert [(each.name, each.labels) for each in made.families()] == [
        (
            "apiserver_validating_admission_policy_check_total",
            ("policy", "policy_binding", "error_type", "enforcement_action"),
        ),
        ("apiserver_mutating_admission_policy_check_total", ("policy", "policy_binding", "error_type")),
        ("apiserver_admission_webhook_request_total", ("name", "type", "operation", "code", "rejected")),
        ("apiserver_admission_webhook_admission_duration_seconds", ("name", "type", "operation", "rejected")),
        (
            "apiserver_admission_webhook_rejection_count",
            ("name", "type", "operation", "error_type", "rejection_code"),
        ),
        ("apiserver_admission_webhook_fail_open_count", ("name", "type")),
    ]
