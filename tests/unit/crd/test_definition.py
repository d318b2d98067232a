"""What a definition says, and the names that are derived from others."""

from __future__ import annotations

from extapi.crd.definition import Definition
from tests.unit.crd.cron import crontabs


def test_names_that_are_not_written_are_derived() -> None:
    definition = Definition(crontabs())
    assert (definition.name, definition.group, definition.plural) == (
        "crontabs.stable.example.com",
        "stable.example.com",
        "crontabs",
    )
    assert (definition.kind, definition.singular, definition.list_kind) == ("CronTab", "crontab", "CronTabList")
    assert (definition.short_names, definition.categories, definition.namespaced) == (["ct"], ["all"], True)


def test_names_that_are_written_count() -> None:
    names = {"plural": "crontabs", "kind": "CronTab", "singular": "cron", "listKind": "Crons"}
    definition = Definition(crontabs(names=names, scope="Cluster"))
    assert (definition.singular, definition.list_kind, definition.namespaced) == ("cron", "Crons", False)
    assert (definition.short_names, definition.categories) == ((), ())


def test_versions_are_stored_in_one_and_served_by_priority() -> None:
    definition = Definition(crontabs())
    assert (definition.storage_version, definition.served_versions) == ("v1", ["v1", "v1beta1"])
    reverse = [
        {"name": "v1beta1", "served": True},
        {"name": "v2", "served": False, "storage": True},
        {"name": "v1", "served": True},
    ]
    definition = Definition(crontabs(versions=reverse))
    assert (definition.storage_version, definition.served_versions) == ("v2", ["v1", "v1beta1"])


def test_a_webhook_converts_if_the_definition_says_so() -> None:
    assert not Definition(crontabs()).converts_by_webhook
    assert not Definition(crontabs(conversion={"strategy": "None"})).converts_by_webhook
    assert Definition(crontabs(conversion={"strategy": "Webhook", "webhook": {}})).converts_by_webhook
