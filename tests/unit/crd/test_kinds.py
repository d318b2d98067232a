"""A definition as a kind: what clients see of it. tests/differential compares it with kube-apiserver's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from extapi import Api, Group
from extapi.api.declaration import DeclarationError
from extapi.api.types import Obj
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.registry.served import ServedKind
from extapi.testing import InMemoryServer
from tests.unit.crd.cron import crontabs

V1 = "/apis/stable.example.com/v1/namespaces/default/crontabs"
V1BETA1 = V1.replace("v1", "v1beta1")


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    definition = Definition(crontabs())
    server = InMemoryServer(Api(Group(definition.group, kind_of(definition))), lifecycle=False)
    server.start()
    yield server
    server.stop()


def cron(version: str = "v1", **spec: Any) -> Obj:
    return {
        "apiVersion": f"stable.example.com/{version}",
        "kind": "CronTab",
        "metadata": {"name": "mine"},
        "spec": {"cronSpec": "* * * * */5", **spec},
    }


def test_objects_are_defaulted_and_validated_by_the_schema_of_their_version(server: InMemoryServer) -> None:
    refused = server.request("POST", V1, body=cron(replicas=0, cronSpec="daily"))
    assert refused.status == 422
    assert [cause["field"] for cause in refused.json()["details"]["causes"]] == ["spec.cronSpec", "spec.replicas"]
    assert server.request("POST", V1, body=cron(replicas=2)).json()["spec"]["image"] == "busybox"


def test_each_version_has_its_own_subresources_and_warning(server: InMemoryServer) -> None:
    server.request("POST", V1, body=cron(replicas=2))
    assert server.request("GET", f"{V1}/mine/scale").json()["spec"] == {"replicas": 2}
    assert server.request("GET", f"{V1}/mine/status").status == 200
    assert server.request("GET", f"{V1BETA1}/mine/scale").status == 404
    assert server.request("GET", f"{V1BETA1}/mine/status").status == 404
    warning = server.request("GET", f"{V1BETA1}/mine").headers["warning"]
    assert 'stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab"' in str(warning)


def test_tables_have_the_columns_of_the_version(server: InMemoryServer) -> None:
    server.request("POST", V1, body=cron(replicas=2))
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    table = server.request("GET", V1, headers=accept).json()
    shown = [(each["name"], each["type"], each["format"], each["priority"]) for each in table["columnDefinitions"]]
    assert shown == [
        ("Name", "string", "name", 0),
        ("Spec", "string", "", 0),
        ("Replicas", "integer", "int32", 1),
    ]
    assert table["rows"][0]["cells"] == ["mine", "* * * * */5", 2]
    assert [each["name"] for each in server.request("GET", V1BETA1, headers=accept).json()["columnDefinitions"]] == [
        "Name",
        "Age",
    ]


def test_fields_can_be_selected_where_the_version_says_so(server: InMemoryServer) -> None:
    server.request("POST", V1, body=cron(image="nginx"))
    chosen = server.request("GET", V1, {"fieldSelector": "spec.image=nginx"}).json()
    assert [item["metadata"]["name"] for item in chosen["items"]] == ["mine"]
    assert server.request("GET", V1BETA1, {"fieldSelector": "spec.image=nginx"}).status == 400


def test_discovery_has_the_names(server: InMemoryServer) -> None:
    (found, *_) = server.request("GET", "/apis/stable.example.com/v1").json()["resources"]
    assert (found["name"], found["singularName"], found["kind"], found["namespaced"]) == (
        "crontabs",
        "crontab",
        "CronTab",
        True,
    )
    assert (found["shortNames"], found["categories"]) == (["ct"], ["all"])


class Upper:
    """A converter that can be told from others."""

    name = "conversion webhook"

    async def convert(self, objects: Sequence[Obj], api_version: str) -> Sequence[Obj]:
        return [{**obj, "apiVersion": api_version, "spec": {"cronSpec": "converted"}} for obj in objects]


def test_only_a_definition_with_a_webhook_asks_for_a_converter() -> None:
    asked: list[str] = []

    def converters(definition: Definition) -> Upper:
        asked.append(definition.name)
        return Upper()

    assert kind_of(Definition(crontabs()), converters).behaviour.converter is None
    definition = Definition(crontabs(conversion={"strategy": "Webhook", "webhook": {}}))
    kind = kind_of(definition, converters)
    assert asked == ["crontabs.stable.example.com"]
    server = InMemoryServer(Api(Group(definition.group, kind)), lifecycle=False)
    server.start()
    try:
        server.request("POST", V1, body=cron(replicas=2))
        assert server.request("GET", f"{V1BETA1}/mine").json()["spec"] == {"cronSpec": "converted"}
    finally:
        server.stop()


def test_names_that_an_author_may_not_give_are_those_of_a_definition() -> None:
    """kube-apiserver judges a kind in lower case."""
    kind = kind_of(Definition(crontabs(names={"plural": "crontabs", "kind": "cron-Tab"})))
    assert ServedKind(kind, "stable.example.com").kind.name == "cron-Tab"


def test_a_table_ends_before_a_column_that_cannot_be_read() -> None:
    """``customresource_handler.go``: "falling back to default printing"."""
    definition = crontabs()
    definition["spec"]["versions"][0]["additionalPrinterColumns"][0]["jsonPath"] = ".spec["
    columns = ServedKind(kind_of(Definition(definition)), "stable.example.com").versions["v1"].columns
    assert [each["name"] for each in json.loads(columns.definitions)] == ["Name"]


def test_a_definition_of_ten_thousand_versions_is_not_served() -> None:
    """It is valid, but each version takes time before anything is served."""
    (version, *_) = crontabs()["spec"]["versions"]
    versions = [{**version, "name": f"v{number}", "storage": number == 1} for number in range(1, 10_001)]
    with pytest.raises(DeclarationError, match=r"^kind CronTab: has 10000 versions; at most 250 are served$"):
        kind_of(Definition(crontabs(versions=versions)))
    assert len(kind_of(Definition(crontabs(versions=versions[:250]))).versions) == 250
