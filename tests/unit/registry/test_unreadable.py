"""What no client could read never gets into the store, and what is there already is shown all the same.

An author's code can make values that no decoder of a body lets through: NaN, infinities, integers beyond int64, halves of
surrogate pairs. Stores of earlier servers hold integers of any length.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from twisted.logger import capturedLogs, formatEvent

from extapi import (
    CLUSTER,
    Api,
    Column,
    Default,
    Group,
    Kind,
    Object,
    PreserveUnknown,
    Review,
    Strategy,
    Struct,
    Version,
)
from extapi.api.jsonvalue import NotJSONError
from extapi.client.kube import ResourceName
from extapi.codec.strictjson import encode
from extapi.registry.store import MAX_OBJECT
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.unit.verbs.sample import failure

GROUP = "meters.example.com"
GAUGES = f"/apis/{GROUP}/v1/namespaces/default/gauges"
OLDER = f"/apis/{GROUP}/v1alpha1/namespaces/default/gauges"
SENSORS = f"/apis/{GROUP}/v1/sensors"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
FAR = "1" + "0" * 400

BAD = {
    "NaN": math.nan,
    "an infinite number": -math.inf,
    "an integer of more than 64 bits": 10**400,
    "text with half of a surrogate pair, which is not a character": "\ud800",
}
bad = pytest.mark.parametrize("why", BAD)


class GaugeSpec(Struct):
    level: float | None = None
    count: int | None = None
    extra: Annotated[dict[str, Any] | None, PreserveUnknown()] = None


class Gauge(Object):
    spec: GaugeSpec = GaugeSpec()
    status: Annotated[dict[str, Any] | None, PreserveUnknown()] = None


class Code:
    """An author's code, which spoils objects where a test tells it to."""

    def __init__(self) -> None:
        self.where = ""
        self.value: Any = None

    def spoil(self, where: str, gauge: Any) -> Any:
        if where == self.where:
            gauge.spec.extra = {"list": [0, self.value]}
        return gauge

    async def mutate(self, review: Review) -> None:
        if review.object is not None:
            self.spoil(f"mutate {review.subresource}".strip(), review.object)

    def cell(self, _: dict[str, Any]) -> Any:
        return self.value if self.where == "cell" else 1

    async def create(self, asked: Any, sensor: Any) -> Any:
        return self.spoil("serves", sensor)

    async def get(self, asked: Any) -> Any:
        return self.spoil("serves", Gauge(spec=GaugeSpec()))

    async def list(self, asked: Any) -> Any:
        return [self.spoil("serves", Gauge(spec=GaugeSpec()))]


class GaugeStrategy(Strategy):
    def __init__(self, code: Code) -> None:
        self.code = code

    def prepare(self, obj: Any, old: Any | None) -> None:
        self.code.spoil("prepare", obj)

    def prepare_for_deletion(self, obj: Any) -> None:
        self.code.spoil("prepare_for_deletion", obj)


def api(code: Code) -> Api:
    return Api(
        Group(
            GROUP,
            Kind(
                "Gauge",
                storage="v1",
                hub=Gauge,
                versions={
                    "v1": Version(Gauge, from_hub=lambda hub: code.spoil("to v1", hub), to_hub=lambda gauge: gauge),
                    "v1alpha1": Version(
                        Gauge, from_hub=lambda hub: code.spoil("to v1alpha1", hub), to_hub=lambda gauge: gauge
                    ),
                },
                strategy=GaugeStrategy(code),
                columns=[
                    Column("Whole", ".spec.extra.x", "integer"),
                    Column("Real", ".spec.extra.x", "number"),
                    Column("Text", ".spec.extra.x"),
                    Column("Since", ".spec.extra.x", "date"),
                    Column("Filtered", ".spec.extra.items[?(@.x > 5)].x"),
                    Column("Made", cell=code.cell, type="number"),
                ],
            ),
            Kind("Sensor", scope=CLUSTER, storage="v1", versions={"v1": Version(Gauge)}, rest=code),
        ),
        admission=[code],
    )


@pytest.fixture
def code() -> Code:
    return Code()


@pytest.fixture
def meters(code: Code) -> Iterator[InMemoryServer]:
    with serve(api(code)) as server:
        yield server


def gauge(name: str = "a", version: str = "v1", kind: str = "Gauge", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


def refused(answer: ServerResponse, whose: str, why: str, path: str = "spec.extra.list[1]") -> None:
    """A clear 500: whose code it was, where the value is, and what is wrong with it."""
    assert answer.status == 500, answer
    told = failure(answer)
    assert told["reason"] == "InternalError"
    assert told["message"] == f"Internal error occurred: {whose} made what is no JSON for clients: {path} is {why}"


@bad
@pytest.mark.parametrize(
    ("where", "whose"), [("mutate", 'admission plugin "Code" of Gauge'), ("prepare", "prepare of Gauge")]
)
def test_what_an_author_spoils_is_not_stored(
    meters: InMemoryServer, code: Code, where: str, whose: str, why: str
) -> None:
    created = meters.request("POST", GAUGES, body=gauge("there", count=1)).json()
    code.where, code.value = where, BAD[why]
    refused(meters.request("POST", GAUGES, body=gauge()), whose, why)
    refused(meters.request("POST", GAUGES, {"dryRun": "All"}, body=gauge()), whose, why)
    refused(meters.request("PUT", f"{GAUGES}/there", body={**created, "spec": {"count": 2}}), whose, why)
    refused(meters.request("PATCH", f"{GAUGES}/there", headers=MERGE, body={"spec": {"count": 3}}), whose, why)
    code.where = ""
    assert meters.request("GET", GAUGES).json()["items"] == [created]


@bad
def test_what_is_spoilt_beside_a_status_is_not_stored(meters: InMemoryServer, code: Code, why: str) -> None:
    created = meters.request("POST", GAUGES, body=gauge()).json()
    code.where, code.value = "mutate status", BAD[why]
    answer = meters.request("PATCH", f"{GAUGES}/a/status", headers=MERGE, body={"status": {"x": 1}})
    refused(answer, 'admission plugin "Code" of Gauge', why)
    assert meters.request("GET", f"{GAUGES}/a").json() == created


@bad
def test_what_is_spoilt_in_a_deletion_is_not_stored(meters: InMemoryServer, code: Code, why: str) -> None:
    body = gauge()
    body["metadata"]["finalizers"] = ["a.example.com/b"]
    created = meters.request("POST", GAUGES, body=body).json()
    code.where, code.value = "prepare_for_deletion", BAD[why]
    refused(meters.request("DELETE", f"{GAUGES}/a"), "prepare_for_deletion of Gauge", why)
    assert meters.request("GET", f"{GAUGES}/a").json() == created


@bad
def test_what_a_conversion_spoils_is_not_stored(meters: InMemoryServer, code: Code, why: str) -> None:
    code.where, code.value = "to v1", BAD[why]
    refused(meters.request("POST", OLDER, body=gauge(version="v1alpha1")), "the conversion to v1 of Gauge", why)
    assert meters.request("GET", GAUGES).json()["items"] == []


@bad
def test_what_a_conversion_spoils_for_its_readers_leaves_the_others_alone(
    meters: InMemoryServer, code: Code, why: str
) -> None:
    created = meters.request("POST", GAUGES, body=gauge()).json()
    code.where, code.value = "to v1alpha1", BAD[why]
    whose = "the conversion to v1alpha1 of Gauge"
    refused(meters.request("GET", f"{OLDER}/a"), whose, why)
    patch = {"metadata": {"labels": {"a": "b"}}}
    refused(meters.request("PATCH", f"{OLDER}/a", {"dryRun": "All"}, headers=MERGE, body=patch), whose, why)
    assert meters.request("GET", GAUGES).json()["items"] == [created]
    assert meters.request("DELETE", f"{GAUGES}/a").status == 200


@bad
def test_what_serves_a_kind_shows_nothing_that_is_spoilt(meters: InMemoryServer, code: Code, why: str) -> None:
    code.where, code.value = "serves", BAD[why]
    whose = "what serves sensors of Sensor"
    refused(meters.request("GET", f"{SENSORS}/a"), whose, why)
    refused(meters.request("GET", SENSORS), whose, why)
    refused(meters.request("POST", SENSORS, body=gauge(kind="Sensor")), whose, why)


@bad
def test_a_controller_hears_at_once_of_what_cannot_be_sent(meters: InMemoryServer, why: str) -> None:
    gauges = ResourceName(GROUP, "v1", "gauges")
    with pytest.raises(NotJSONError, match=f"spec.extra.x is {why}"):
        meters.run(meters.client.create(gauges, gauge(extra={"x": BAD[why]}), namespace="default"))


@pytest.mark.parametrize("value", [*BAD.values(), object()], ids=[*BAD, "an object"])
def test_a_cell_that_is_spoilt_is_one_bad_cell(meters: InMemoryServer, code: Code, value: Any) -> None:
    meters.request("POST", GAUGES, body=gauge())
    code.where, code.value = "cell", value
    answer = meters.request("GET", GAUGES, headers=TABLE)
    assert answer.status == 200
    assert [row["cells"] for row in answer.json()["rows"]] == [["a", None, None, None, None, None, None]]


def test_the_log_says_whose_code_it_was(meters: InMemoryServer, code: Code) -> None:
    code.where, code.value = "prepare", math.nan
    with capturedLogs() as events:
        meters.request("POST", GAUGES, body=gauge())
    texts = [str(formatEvent(event)) for event in events]
    assert [text for text in texts if "prepare of Gauge" in text and "spec.extra.list[1] is NaN" in text]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_an_author_nests_no_deeper_than_a_client(meters: InMemoryServer, code: Code) -> None:
    code.where, code.value = "prepare", nested(300)
    answer = meters.request("POST", GAUGES, body=gauge())
    assert answer.status == 500
    assert "nested deeper than 200 levels" in failure(answer)["message"]
    assert meters.request("GET", GAUGES).json()["items"] == []


def test_patches_make_no_object_larger_than_the_store_takes(meters: InMemoryServer) -> None:
    meters.request("POST", GAUGES, body=gauge(extra={"x": "y" * 1_000_000}))
    made = []
    for number in range(8):
        copies = [{"op": "copy", "from": "/spec/extra/x", "path": f"/spec/extra/x{number}"}]
        made.append(meters.request("PATCH", f"{GAUGES}/a", headers=JSON_PATCH, body=copies).status)
    assert made == [200] * 5 + [413] * 3
    assert (
        failure(meters.request("PATCH", f"{GAUGES}/a", headers=JSON_PATCH, body=copies))["reason"]
        == "RequestEntityTooLarge"
    )
    assert len(meters.request("GET", f"{GAUGES}/a").body) < MAX_OBJECT
    assert (
        meters.request(
            "PATCH", f"{GAUGES}/a", headers=JSON_PATCH, body=[{"op": "remove", "path": "/spec/extra/x1"}]
        ).status
        == 200
    )
    assert meters.request("DELETE", f"{GAUGES}/a").status == 200


NUMBERS: list[tuple[str, list[Any]]] = [
    (FAR, [None, sys.float_info.max, "1.7976931348623157e+308", None]),
    (f"-{FAR}", [None, -sys.float_info.max, "-1.7976931348623157e+308", None]),
    ("9" * 5000, [None, sys.float_info.max, "1.7976931348623157e+308", None]),
    ("18446744073709551616", [None, 18446744073709552000, "1.8446744073709552e+19", None]),
    ("123456789012345678901234567890", [None, 1.2345678901234568e29, "1.2345678901234568e+29", None]),
    ("9223372036854775807", [9223372036854775807, 9223372036854776000, "9223372036854775807", None]),
]


@pytest.mark.parametrize(("number", "cells"), NUMBERS, ids=[number[:24] for number, _ in NUMBERS])
def test_an_old_number_makes_nothing_unreadable(meters: InMemoryServer, number: str, cells: list[Any]) -> None:
    """A record as servers wrote it that kept integers as they came."""
    meters.request("POST", GAUGES, body=gauge("good"))
    old = encode({**gauge("old"), "metadata": {"name": "old", "namespace": "default", "uid": "u", "generation": 1}})
    value = old.replace(b'"spec":{}', f'"spec":{{"extra":{{"x":{number},"items":[{{"x":{number}}}]}}}}'.encode())
    meters.run(meters.backend.commit(f"/registry/{GROUP}/gauges/default/old".encode(), value, expected=0))

    def items(answer: ServerResponse) -> list[Any]:
        assert answer.status == 200, answer
        # As a Go client reads it: what no float64 holds is an error.
        found = json.loads(answer.body, parse_int=_int64_or_float)
        return [item["metadata"]["name"] for item in found["items"]]

    assert items(meters.request("GET", GAUGES)) == ["good", "old"]
    assert items(meters.request("GET", OLDER)) == ["good", "old"]
    assert items(meters.request("GET", GAUGES, {"fieldSelector": "metadata.name=old"})) == ["old"]
    assert meters.request("GET", GAUGES, headers={"Accept": "application/yaml"}).status == 200
    table = meters.request("GET", GAUGES, headers=TABLE)
    assert table.status == 200
    assert [row["cells"][:5] for row in table.json()["rows"]] == [["good", None, None, None, None], ["old", *cells]]
    watched = meters.watch(GAUGES, {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"})
    assert [obj["metadata"]["name"] for kind, obj in watched.events if kind == "ADDED"] == ["good", "old"]
    watched.close()
    changed = meters.request("PATCH", f"{GAUGES}/old", headers=MERGE, body={"metadata": {"labels": {"a": "b"}}})
    assert changed.status == 200
    assert meters.request("DELETE", GAUGES).status == 200
    assert items(meters.request("GET", GAUGES)) == []


def _int64_or_float(text: str) -> float:
    if -(2**63) <= int(text[:30]) < 2**63:
        return int(text)
    assert math.isfinite(float(text))
    return float(text)


@bad
@pytest.mark.parametrize("make", [lambda value: value, lambda value: {"a": [value]}], ids=["itself", "inside"])
def test_a_default_that_no_client_could_read_keeps_the_server_from_starting(
    why: str, make: Callable[[Any], Any]
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"x": {"x-kubernetes-preserve-unknown-fields": True, "default": make(BAD[why])}},
            }
        },
    }
    kind = Kind("Gauge", storage="v1", versions={"v1": Version(schema)})
    with pytest.raises(
        ValueError, match=rf"kind Gauge: version v1: properties\[spec\].properties\[x\].default(.a\[0\])?: .* is {why}"
    ):
        serve(Api(Group(GROUP, kind))).__enter__()


class Boundless(Object):
    level: float = math.inf


class Endless(Object):
    count: int = 10**400


class Halved(Object):
    text: Annotated[str | None, Default("\ud800")] = None


@pytest.mark.parametrize(
    ("form", "why"), [(Boundless, "infinite"), (Endless, "more than 64 bits"), (Halved, "surrogate")]
)
def test_the_default_of_a_type_is_judged_alike(form: type[Object], why: str) -> None:
    kind = Kind("Gauge", storage="v1", versions={"v1": Version(form)})
    with pytest.raises(ValueError, match=rf"{form.__name__}\.[a-z]+: default: .*{why}"):
        serve(Api(Group(GROUP, kind))).__enter__()
