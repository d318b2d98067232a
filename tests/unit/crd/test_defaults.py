"""What SetObjectDefaults_CustomResourceDefinition of apiextensions-apiserver fills in, case by case."""

from __future__ import annotations

from typing import Any

from extapi.crd.defaults import set_defaults


def defaulted(spec: dict[str, Any], **members: Any) -> dict[str, Any]:
    obj = {"spec": spec, **members}
    set_defaults(obj)
    return obj


def test_names_conversion_and_stored_versions() -> None:
    versions = [{"name": "v1beta1", "served": True, "storage": False}, {"name": "v1", "served": True, "storage": True}]
    assert defaulted({"names": {"kind": "CronTab", "plural": "crontabs"}, "versions": versions}) == {
        "spec": {
            "names": {"kind": "CronTab", "plural": "crontabs", "singular": "crontab", "listKind": "CronTabList"},
            "versions": versions,
            "conversion": {"strategy": "None"},
        },
        "status": {"storedVersions": ["v1"]},
    }


def test_what_is_set_stays() -> None:
    spec = {
        "names": {"kind": "CronTab", "singular": "tab", "listKind": "Tabs"},
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a", "port": 8443}}}},
        "versions": [{"name": "v1", "storage": True}],
    }
    before = repr(spec)
    assert defaulted(spec, status={"storedVersions": ["v0"]})["status"] == {"storedVersions": ["v0"]}
    assert repr(spec) == before


def test_a_service_without_port_gets_443() -> None:
    spec = {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a"}}}}}
    assert defaulted(spec)["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_nothing_there_and_null_are_the_same() -> None:
    empty = {"spec": {"names": {"singular": ""}, "conversion": {"strategy": "None"}}, "status": {}}
    assert defaulted({}) == empty
    obj = {"spec": None, "status": None}
    set_defaults(obj)
    assert obj == empty
    nulls = {"names": None, "conversion": None, "versions": None}
    assert defaulted(nulls)["spec"] == {**empty["spec"], "versions": None}


def test_letters_are_lowered_one_by_one() -> None:
    capitals = "\N{GREEK CAPITAL LETTER ALPHA}\N{GREEK CAPITAL LETTER SIGMA}"
    small = "\N{GREEK SMALL LETTER ALPHA}\N{GREEK SMALL LETTER SIGMA}"
    assert defaulted({"names": {"kind": capitals}})["spec"]["names"]["singular"] == small
