"""Kinds as definitions: what is said, what is left out and told, and that the same API comes of both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from email.message import Message
from types import SimpleNamespace
from typing import Annotated, Any
from urllib.parse import parse_qsl

import pytest
import yaml
from click.testing import CliRunner

from extapi import (
    CLUSTER,
    Api,
    Column,
    FieldError,
    Group,
    Kind,
    MaxLength,
    Minimum,
    Object,
    Rule,
    Scale,
    Strategy,
    Struct,
    Subresource,
    Version,
)
from extapi.api.column import AGE
from extapi.api.declaration import DeclarationError
from extapi.crd.command import crd
from extapi.crd.defaults import set_defaults
from extapi.crd.definition import Definition
from extapi.crd.export import Exported, export_api, export_kind, left_out
from extapi.crd.kinds import kind_of
from extapi.crd.validation import validate_create
from extapi.crd.yamltext import to_yaml
from extapi.pizza import api as pizza_api
from extapi.testing import InMemoryServer, serve
from tests.differential.every import all_cases
from tests.differential.side import Side, Step
from tests.differential.twin import KINDS, OURS, THEIRS
from tests.kubernetes.rulekinds import KINDS as RULE_KINDS

GROUP = "cars.example.com"
VERSIONS = ("v1", "v1beta1")
WEBHOOK = {"url": "https://hooks.example.com/convert"}


class CarSpec(Struct):
    """What it shall be."""

    doors: Annotated[int, Minimum(2)] = 4
    """How many."""
    color: Annotated[str, MaxLength(10)] | None = None


class CarStatus(Struct):
    doors: int = 0


@Rule("self.spec.doors < 6", message="no bus")
class Car(Object):
    """A car."""

    spec: CarSpec
    status: CarStatus | None = None


@Rule("self.low < self.high")
class Range(Struct):
    low: int = 1
    high: int = 2
    note: str | None = None


class RangeSpec(Struct):
    range: Range = Range(note="x")


class Dial(Object):
    spec: RangeSpec


class Checked(Strategy):
    def validate(self, obj: Any, old: Any) -> list[FieldError]:
        del obj, old
        return []


CAR = Kind(
    "Car",
    storage="v1",
    versions={"v1": Version(Car), "v1beta1": Version(Car, deprecated="use v1", columns=[], status=False, scale=False)},
    short_names=["cr"],
    categories=["all"],
    scope=CLUSTER,
    columns=[Column("Color", ".spec.color", description="Its color", priority=1), AGE],
    scale=Scale(spec_replicas_path=".spec.doors", status_replicas_path=".status.doors"),
    selectable=[".spec.color"],
)


def manifest(kind: Kind, group: str = GROUP, webhook: Mapping[str, Any] | None = None) -> dict[str, Any]:
    exported = export_kind(kind, group, webhook)
    assert exported.manifest is not None, exported.notes
    return exported.manifest


def test_everything_that_a_definition_can_say_is_said() -> None:
    """The fields are those of apiextensions.k8s.io/v1."""
    made = manifest(CAR)
    assert made["metadata"] == {"name": "cars.cars.example.com"}
    spec = made["spec"]
    assert (spec["group"], spec["scope"], spec["conversion"]) == (GROUP, "Cluster", {"strategy": "None"})
    assert spec["names"] == {
        "plural": "cars",
        "singular": "car",
        "kind": "Car",
        "listKind": "CarList",
        "shortNames": ["cr"],
        "categories": ["all"],
    }
    first, second = spec["versions"]
    assert (first["name"], first["served"], first["storage"]) == ("v1", True, True)
    assert (second["name"], second["storage"], second["deprecated"]) == ("v1beta1", False, True)
    assert second["deprecationWarning"] == "use v1"
    assert first["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.doors", "statusReplicasPath": ".status.doors"},
    }
    assert "subresources" not in second
    assert "additionalPrinterColumns" not in second
    assert [each["jsonPath"] for each in first["additionalPrinterColumns"]] == [
        ".spec.color",
        ".metadata.creationTimestamp",
    ]
    assert first["selectableFields"] == [{"jsonPath": ".spec.color"}]
    schema = first["schema"]["openAPIV3Schema"]
    assert schema["x-kubernetes-validations"] == [{"rule": "self.spec.doors < 6", "message": "no bus"}]
    assert schema["properties"]["spec"]["properties"]["doors"] == {
        "type": "integer",
        "format": "int64",
        "default": 4,
        "minimum": 2,
    }


def test_what_a_definition_cannot_say_is_told() -> None:
    class Opened(Object):
        spec: CarSpec

    kind = Kind(
        "Car",
        storage="v1",
        versions={"v1": Version(Opened)},
        columns=[Column("Size", cell=len), Column("Color", ".spec.color"), Column("Name", ".metadata.name")],
        subresources={"doors": Subresource(field="spec")},
        strategy=Checked(),
    )
    exported = export_kind(kind, "cars.k8s.io")
    told = " | ".join(exported.notes)
    assert "the strategy is left out: Checked has validate" in told
    assert "column Size is left out: a Python function computes it" in told
    assert "column Name comes second" in told
    assert "subresource doors is left out: it is field spec" in told
    assert "api-approved.kubernetes.io" in told
    assert exported.manifest is not None
    assert exported.manifest["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("unapproved")
    columns = exported.manifest["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == ["Color", "Name"]
    pizza_notes = list(left_out(pizza_api))
    assert [note.partition(":")[0] for note in pizza_notes] == [
        "admission plugins are left out",
        "controllers are left out",
    ]


class Keeping:
    async def list(self, request: Any) -> list[Any]:
        del request
        return []


def test_kinds_that_no_definition_can_be_are_refused() -> None:
    virtual = Kind("Car", storage="v1", versions={"v1": Version(Car)}, rest=Keeping(), status=False)
    assert export_kind(virtual, GROUP) == Exported(
        "cars.cars.example.com",
        None,
        ["its objects are not stored (rest=), and those of a definition always are"],
    )
    pizzas, toppings = export_api(pizza_api)
    assert toppings.manifest is not None
    assert pizzas.manifest is None
    assert "--conversion-webhook-url" in pizzas.notes[0]
    (converted,) = export_api(pizza_api, only="Pizza", webhook=WEBHOOK)
    assert converted.manifest is not None
    assert converted.manifest["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": WEBHOOK},
    }


def test_what_kube_apiserver_refuses_is_told_before() -> None:
    """It takes at most eight selectable fields (``validation.go`` maxSelectableFields)."""
    properties = {f"f{number}": {"type": "string"} for number in range(9)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    kind = Kind(
        "Car", storage="v1", versions={"v1": Version(schema)}, selectable=[f".spec.f{number}" for number in range(9)]
    )
    exported = export_kind(kind, GROUP)
    assert exported.manifest is None
    assert "selectableFields" in exported.notes[0]


def test_a_default_whose_rules_need_the_defaults_inside_has_them_written_out() -> None:
    made = manifest(Kind("Dial", storage="v1", versions={"v1": Version(Dial)}))
    spec = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["range"]["default"] == {"low": 1, "high": 2, "note": "x"}


EVERY = [*KINDS, *RULE_KINDS, *(kind for group in pizza_api.groups for kind in group.kinds), CAR]


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_definitions_are_valid_and_survive_yaml(kind: Kind) -> None:
    made = manifest(kind, webhook=WEBHOOK)
    read = yaml.safe_load(to_yaml(made))
    assert read == made
    assert json.loads(json.dumps(read)) == made
    set_defaults(read)
    assert [error.text() for error in validate_create(read)] == []


# -- the same API: every conversation of the differential suite, with an author's kinds and with what is exported of them


class InMemorySide(Side):
    """A side that a server in memory plays."""

    def __init__(self, group: str, server: InMemoryServer) -> None:
        super().__init__(group, 0, None)  # type: ignore[arg-type] # there is no connection
        self.server = server

    def _send(  # type: ignore[override] # neither connections nor their responses
        self, connection: Any, step: Step, path: str, body: bytes | None, known: Mapping[str, str]
    ) -> tuple[Any, bytes]:
        del connection
        headers = {name: value.replace("{g}", known.get("g", "")) for name, value in step.headers.items()}
        path, _, query = path.partition("?")
        parameters = parse_qsl(query, keep_blank_values=True)
        answer = self.server.request(step.method, path, parameters, headers, body)
        found = Message()
        for name, value in answer.headers.items():
            found[name] = value
        return SimpleNamespace(status=answer.status, headers=found, will_close=False), answer.body


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[InMemorySide, InMemorySide]]:
    """The kinds of the author, and those of their definitions, in one server."""
    exported = [kind_of(Definition(manifest(kind, THEIRS))) for kind in KINDS]
    server = InMemoryServer(Api(Group(OURS, *KINDS), Group(THEIRS, *exported)))
    server.start()
    yield InMemorySide(OURS, server), InMemorySide(THEIRS, server)
    server.stop()


CASES = all_cases()
FAST = [
    name
    for name, case in CASES.items()
    # Neither those that wait for a clock, nor documents in protobuf: the hashes in them are not made comparable.
    if not case.slow and not any("watch" in step.path for step in case.steps) and "protobuf" not in name
][::20]
"""One of twenty: tests/differential plays all with these definitions on the real kube-apiserver."""


@pytest.mark.parametrize("name", FAST)
def test_clients_see_no_difference(both: tuple[InMemorySide, InMemorySide], name: str) -> None:
    ours, theirs = (side.play(f"case-{FAST.index(name)}", CASES[name].steps) for side in both)
    assert ours == theirs


def test_documents_are_the_same() -> None:
    """Schemas, paths and parameters, in both versions of OpenAPI, and discovery."""
    kinds = [kind_of(Definition(manifest(kind, OURS))) for kind in KINDS]
    paths = [
        f"/apis/{OURS}",
        *(f"{root}apis/{OURS}/{version}" for root in ("/", "/openapi/v3/") for version in VERSIONS),
    ]
    found = []
    for declared in (KINDS, kinds):
        with serve(Api(Group(OURS, *declared))) as server:
            found.append({path: server.request("GET", path).json() for path in (*paths, "/openapi/v2")})
    for path, document in found[0].items():
        assert document == found[1][path], path


# -- the command


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(crd, ["export", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_documents_and_tells_the_rest_on_standard_error() -> None:
    code, out, err = run("extapi.pizza:api")
    assert code == 1
    (topping,) = yaml.safe_load_all(out)
    assert topping["metadata"]["name"] == "toppings.restaurant.programming-kubernetes.info"
    assert "Error: pizzas.restaurant.programming-kubernetes.info: its versions are converted by Python functions" in err
    assert "controllers are left out: CostController" in err
    code, out, err = run("extapi.pizza:api", "--conversion-webhook-service", "shop/hooks:8443/convert")
    assert code == 0
    pizza, _ = yaml.safe_load_all(out)
    assert pizza["spec"]["conversion"]["webhook"]["clientConfig"] == {
        "service": {"namespace": "shop", "name": "hooks", "port": 8443, "path": "/convert"}
    }
    code, out, _ = run("extapi.pizza:api", "--kind", "toppings")
    assert (code, len(list(yaml.safe_load_all(out)))) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("extapi.pizza:api", "--kind", "Nothing"), "--kind: there is no Nothing; extapi.pizza:api has Pizza, Topping"),
        (("extapi.pizza:nothing",), "module extapi.pizza has no 'nothing'"),
        (("extapi.pizza:api", "--conversion-webhook-url", "http://x"), "must be https://HOST[:PORT][/PATH]"),
        (("extapi.pizza:api", "--conversion-webhook-service", "x"), "must be NAMESPACE/NAME[:PORT][/PATH]"),
        (("extapi.pizza:api", "--conversion-webhook-service", "a/b:0"), "must be NAMESPACE/NAME[:PORT][/PATH]"),
        (
            ("extapi.pizza:api", "--conversion-webhook-service", "a/b", "--conversion-webhook-url", "https://x"),
            "give either --conversion-webhook-url or --conversion-webhook-service",
        ),
        (("extapi.pizza:api", "--conversion-webhook-ca-file", __file__), "--conversion-webhook-ca-file needs"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(arguments: tuple[str, ...], message: str) -> None:
    code, _, err = run(*arguments)
    assert code != 0
    assert message in err


def test_a_broken_declaration_does_not_reach_the_export() -> None:
    with pytest.raises(DeclarationError):
        export_kind(Kind("Car", storage="v1", versions={"v1": Version({"type": "wrong"})}), GROUP)
