"""What a write answers is what every later reader gets, byte for byte, and it is made once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from extapi import CLUSTER, Api, FieldError, Group, Kind, Object, Review, Strategy, Struct, Version
from extapi.codec.negotiation import PROTOBUF
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.unit.controlplane.kinds.served import stored_kinds

GROUP = "bakery.example.com"
CAKES = f"/apis/{GROUP}/%s/namespaces/default/cakes"
TRAYS = f"/apis/{GROUP}/%s/trays"
JSON, YAML = "application/json", "application/yaml"
MERGE = {"Content-Type": "application/merge-patch+json"}
FINALIZER = "bakery.example.com/guard"

calls: Counter[str] = Counter()
"""How often each of the author's conversion functions was called."""


class CakeSpec(Struct):
    layers: int = 1
    notes: dict[str, str] = {}  # noqa: RUF012 -- a field: msgspec copies the default


class CakeStatus(Struct):
    baked: bool = False


class Cake(Object):
    """The hub."""

    spec: CakeSpec = CakeSpec()
    status: CakeStatus = CakeStatus()


class AlphaSpec(Struct):
    size: str = "1 layers"


class AlphaCake(Object):
    """An older version, which knows no notes."""

    spec: AlphaSpec = AlphaSpec()
    status: CakeStatus = CakeStatus()


class BetaCake(Object):
    """The stored version, of its own type, so that conversion to it calls a function too."""

    spec: CakeSpec = CakeSpec(layers=3)
    status: CakeStatus = CakeStatus()


def from_alpha(cake: AlphaCake) -> Cake:
    calls["from v1alpha1"] += 1
    return Cake(spec=CakeSpec(layers=int(cake.spec.size.split()[0])), status=cake.status)


def to_alpha(cake: Cake) -> AlphaCake:
    calls["to v1alpha1"] += 1
    return AlphaCake(spec=AlphaSpec(size=f"{cake.spec.layers} layers"), status=cake.status)


def from_beta(cake: BetaCake) -> Cake:
    calls["from v1beta1"] += 1
    return Cake(spec=cake.spec, status=cake.status)


def to_beta(cake: Cake) -> BetaCake:
    calls["to v1beta1"] += 1
    return BetaCake(spec=cake.spec, status=cake.status)


class Baker(Strategy):
    """Looks at every object, and changes the smallest."""

    def prepare(self, obj: Cake, old: Cake | None) -> None:
        del old
        if obj.spec.layers == 0:
            obj.spec.layers = 2

    def validate(self, obj: Cake, old: Cake | None) -> Iterable[FieldError]:
        if obj.spec.layers > 9:
            yield FieldError.invalid("spec.layers", obj.spec.layers, f"was {old.spec.layers if old else 0}")


class TraySpec(Struct):
    width: int = 10


class Tray(Object):
    """Its first members are not the type and metadata, by the alphabet."""

    data: dict[str, str] = {}  # noqa: RUF012 -- a field: msgspec copies the default
    spec: TraySpec = TraySpec()


class WideSpec(Struct):
    width: int = 20


class WideTray(Object):
    """The same fields with another default, and no hub between the versions."""

    data: dict[str, str] = {}  # noqa: RUF012 -- a field: msgspec copies the default
    spec: WideSpec = WideSpec()


class Watcher:
    """Changes the labels of objects that ask for it; reads all others."""

    async def mutate(self, review: Review) -> None:
        if review.object is not None and (review.object.metadata.annotations or {}).get("change"):
            review.object.metadata.labels = {"changed": "yes"}

    async def validate(self, review: Review) -> None:
        assert review.object is None or review.object.metadata.name


def bakery(*plugins: Any) -> Api:
    cake = Kind(
        "Cake",
        storage="v1beta1",
        hub=Cake,
        versions={
            "v1beta1": Version(BetaCake, to_hub=from_beta, from_hub=to_beta),
            "v1alpha1": Version(AlphaCake, to_hub=from_alpha, from_hub=to_alpha),
        },
        strategy=Baker(),
    )
    versions = {"v1": Version(Tray), "v1beta1": Version(WideTray)}
    return Api(
        Group(GROUP, cake, Kind("Tray", plural="trays", scope=CLUSTER, storage="v1", versions=versions)),
        admission=plugins,
    )


@pytest.fixture
def served() -> Iterator[InMemoryServer]:
    with serve(bakery(Watcher())) as server:
        calls.clear()
        yield server


def cake(version: str, name: str = "c", **metadata: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"size": "4 layers"} if version == "v1alpha1" else {"layers": 4, "notes": {"uid": "<&>"}}
    metadata = {"name": name, "annotations": {"resourceVersion": "?"}, **metadata}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Cake", "metadata": metadata, "spec": spec}


def tray(version: str, name: str = "t", **metadata: Any) -> dict[str, Any]:
    data = {"metadata": "x", "a": "b"}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Tray", "metadata": {"name": name, **metadata}, "data": data}


ACCEPTS = [{"Accept": JSON}, {"Accept": f"{JSON};q=1", "User-Agent": "curl/8"}, {"Accept": YAML}]


def same_for_readers(server: InMemoryServer, path: str, answer: ServerResponse, headers: dict[str, str]) -> None:
    """The answer's bytes are those of GET, and if they are compact those of LIST too."""
    assert answer.status in {200, 201}, answer.body
    read = server.request("GET", path, headers=headers)
    assert answer.body == read.body
    assert answer.headers["content-type"] == read.headers["content-type"]
    collection = path.rpartition("/")[0]
    if headers == ACCEPTS[0]:
        assert answer.body.strip() in server.request("GET", collection, headers=headers).body


@pytest.mark.parametrize("headers", ACCEPTS, ids=["json", "pretty", "yaml"])
@pytest.mark.parametrize("changes", [{}, {"annotations": {"change": "1"}}], ids=["as-sent", "changed"])
@pytest.mark.parametrize(
    ("paths", "make", "version"),
    [(CAKES, cake, "v1beta1"), (CAKES, cake, "v1alpha1"), (TRAYS, tray, "v1"), (TRAYS, tray, "v1beta1")],
)
def test_every_write_answers_with_the_bytes_of_a_read(
    served: InMemoryServer, headers: dict[str, str], changes: dict[str, Any], paths: str, make: Any, version: str
) -> None:
    collection = paths % version
    obj = make(version, finalizers=[FINALIZER], **changes)
    answer = served.request("POST", collection, headers=headers, body=obj)
    path = f"{collection}/{obj['metadata']['name']}"
    same_for_readers(served, path, answer, headers)

    obj = served.request("GET", path).json()
    obj["metadata"]["labels"] = {"uid": "u", "z": "1"}
    obj["spec"] = {}
    same_for_readers(served, path, served.request("PUT", path, headers=headers, body=obj), headers)
    obj = served.request("GET", path).json()
    same_for_readers(served, path, served.request("PUT", path, headers=headers, body=obj), headers)  # changes nothing

    for suffix, patch in (
        ("", {"metadata": {"annotations": {"b": "\u2028", "change": None}}}),
        ("/status", {"status": {"baked": True}}),
    ):
        answer = served.request("PATCH", f"{path}{suffix}", (), {**headers, **MERGE}, patch)
        if make is cake or not suffix:  # trays have no status
            same_for_readers(served, path, answer, headers)
    same_for_readers(
        served, path, served.request("DELETE", path, headers=headers), headers
    )  # it waits for its finalizer


@pytest.mark.parametrize(
    ("paths", "make", "version", "other"),
    [
        (CAKES, cake, "v1beta1", "v1alpha1"),
        (CAKES, cake, "v1alpha1", "v1beta1"),
        (TRAYS, tray, "v1", "v1beta1"),
        (TRAYS, tray, "v1beta1", "v1"),
    ],
)
def test_watchers_of_every_version_see_the_bytes_of_a_read(
    served: InMemoryServer, paths: str, make: Any, version: str, other: str
) -> None:
    streams = {each: served.watch(paths % each) for each in (version, other)}
    name = make(version)["metadata"]["name"]
    answer = served.request("POST", paths % version, body=make(version)).body.strip()
    served.advance()
    reads = {each: served.request("GET", f"{paths % each}/{name}").body.strip() for each in streams}
    assert reads[version] == answer
    for each, stream in streams.items():
        assert stream.lines == [b'{"type":"ADDED","object":%b}' % reads[each]]


@pytest.mark.parametrize(
    ("paths", "make", "versions"),
    [(CAKES, cake, ("v1beta1", "v1alpha1")), (TRAYS, tray, ("v1", "v1beta1"))],
)
def test_a_server_that_starts_later_reads_the_same_bytes(
    served: InMemoryServer, paths: str, make: Any, versions: tuple[str, str]
) -> None:
    """What a write hands to the cache is what the cache makes of the stored object by itself."""
    items = []
    for version in versions:
        served.request("POST", paths % version, body=make(version, name=version, finalizers=[FINALIZER]))
        served.request("POST", paths % version, body=make(version, name=f"{version}-patched"))
        patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"extra": 1}, "data": {"c": "d"}}
        served.request("PATCH", f"{paths % version}/{version}-patched", (), MERGE, patch)
        served.request("DELETE", f"{paths % version}/{version}")
        items += [f"{paths % each}/{name}" for each in versions for name in (version, f"{version}-patched")]
    reads = {item: served.request("GET", item).body for item in items}
    assert all(b'"resourceVersion"' in body for body in reads.values())
    later = InMemoryServer(bakery(), backend=served.backend, clock=served.clock)
    later.start()
    assert {item: later.request("GET", item).body for item in items} == reads
    later.stop()


def test_the_members_of_a_custom_resource_are_sorted(served: InMemoryServer) -> None:
    """As those of Go's maps, which kube-apiserver has for custom resources."""
    for version in ("v1", "v1beta1"):
        body = served.request("POST", TRAYS % version, body=tray(version, name=version)).body
        assert body == json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("headers", [{"Accept": JSON}, {"Accept": PROTOBUF}, {"Accept": YAML}])
def test_built_in_kinds_answer_with_the_bytes_of_a_read(headers: dict[str, str]) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"metadata": "x"}}
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}}
    event |= {"eventTime": "2024-01-01T00:00:00.000000Z", "type": "Normal", "reason": "r", "action": "a"}
    event |= {"reportingController": "x/y", "reportingInstance": "z", "regarding": {"namespace": "default"}}
    with serve(stored_kinds(), lifecycle=False) as server:
        for collection, obj in ((maps, made), (events, event)):
            path = f"{collection}/{obj['metadata']['name']}"  # type: ignore[index]
            answer = server.request("POST", collection, headers=headers, body=obj)
            same_for_readers(server, path, answer, headers if headers["Accept"] != JSON else {"Accept": f"{JSON};q=1"})
            patch = {"metadata": {"labels": {"a": "b"}}}
            answer = server.request("PATCH", path, (), {**headers, **MERGE}, patch)
            assert answer.body == server.request("GET", path, headers=headers).body
        assert server.request("GET", f"{maps}/m").body.startswith(b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{')


# -- how often


def test_one_create_converts_once_each_way(served: InMemoryServer) -> None:
    """Plugin and strategy look at the object; the answer is what the cache has, so that readers convert nothing."""
    stream = served.watch(CAKES % "v1alpha1")
    served.request("POST", CAKES % "v1alpha1", body=cake("v1alpha1"))
    assert calls == {"from v1alpha1": 1, "to v1beta1": 1, "from v1beta1": 1, "to v1alpha1": 1}
    served.advance()
    for version in ("v1alpha1", "v1beta1"):
        served.request("GET", f"{CAKES % version}/c")
        served.request("GET", CAKES % version)
    assert len(stream.lines) == 1
    assert sum(calls.values()) == 4


def test_what_is_stored_as_it_was_sent_is_only_shown(served: InMemoryServer) -> None:
    served.request("POST", CAKES % "v1beta1", body=cake("v1beta1"))
    assert calls == {"from v1beta1": 1}


@pytest.mark.parametrize(("version", "expected"), [("v1beta1", {}), ("v1alpha1", {"from": 2, "to": 2})])
def test_where_no_code_looks_there_is_no_hub_object(version: str, expected: dict[str, int]) -> None:
    kind = Kind(
        "Cake",
        storage="v1beta1",
        hub=Cake,
        versions={
            "v1beta1": Version(BetaCake, to_hub=from_beta, from_hub=to_beta),
            "v1alpha1": Version(AlphaCake, to_hub=from_alpha, from_hub=to_alpha),
        },
    )
    with serve(Api(Group(GROUP, kind))) as server:
        calls.clear()
        server.request("POST", CAKES % version, body=cake(version))
        found: Counter[str] = Counter()
        for name, count in calls.items():
            found[name.partition(" ")[0]] += count
        assert found == expected


def test_an_update_takes_the_old_object_from_the_cache(served: InMemoryServer) -> None:
    """Both objects become hub objects for the strategy; the new one is converted there and back."""
    served.request("POST", CAKES % "v1alpha1", body=cake("v1alpha1"))
    calls.clear()
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"size": "5 layers"}}
    served.request("PATCH", f"{CAKES % 'v1alpha1'}/c", (), MERGE, patch)
    assert calls == {"from v1alpha1": 2, "to v1beta1": 1, "from v1beta1": 1, "to v1alpha1": 1}


# -- what authors' code cannot do


def test_a_validator_cannot_change_what_is_stored() -> None:
    class Sly:
        async def validate(self, review: Review) -> None:
            review.object.spec.layers = 7

    with serve(bakery(Sly())) as server:
        for version in ("v1alpha1", "v1beta1"):
            answer = server.request("POST", CAKES % version, body=cake(version, name=version))
            assert answer.status == 201
            stored = server.request("GET", f"{CAKES % 'v1beta1'}/{version}").json()
            assert stored["spec"]["layers"] == 4


def test_validators_see_the_stored_object_whatever_mutators_did_to_it() -> None:
    seen: list[int] = []

    class Liar:
        async def mutate(self, review: Review) -> None:
            if review.old_object is not None:
                review.old_object.spec.layers = 9

        async def validate(self, review: Review) -> None:
            if review.old_object is not None:
                seen.append(review.old_object.spec.layers)

    with serve(bakery(Liar())) as server:
        server.request("POST", CAKES % "v1beta1", body=cake("v1beta1"))
        server.request("PATCH", f"{CAKES % 'v1beta1'}/c", (), MERGE, {"spec": {"layers": 5}})
        assert seen == [4]


def test_validators_see_the_metadata_that_is_stored() -> None:
    """The generation of an update is counted after mutating admission (behaviour J27)."""
    seen: list[tuple[int, str]] = []

    class Reader:
        async def mutate(self, review: Review) -> None:
            assert review.object.metadata.name == "c"

        async def validate(self, review: Review) -> None:
            seen.append((review.object.metadata.generation, review.object.metadata.uid))

    with serve(bakery(Reader())) as server:
        uid = server.request("POST", CAKES % "v1alpha1", body=cake("v1alpha1")).json()["metadata"]["uid"]
        server.request("PATCH", f"{CAKES % 'v1alpha1'}/c", (), MERGE, {"spec": {"size": "5 layers"}})
        assert seen == [(1, uid), (2, uid)]


def knob(**defaults: int) -> dict[str, Any]:
    """The schema of one version: the same fields in each, and other defaults."""
    fields = {name: {"type": "integer"} for name in ("low", "high")}
    spec = {
        name: {**schema, **({"default": defaults[name]} if name in defaults else {})} for name, schema in fields.items()
    }
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}


def test_what_an_attempt_showed_is_not_stored_by_the_next_one() -> None:
    """Without a hub, readers see defaults of the storage version that nobody stored. The first generated name is taken."""
    kind = Kind(
        "Knob", scope=CLUSTER, storage="v1", versions={"v1": Version(knob(low=1)), "v1beta1": Version(knob(high=2))}
    )
    path = f"/apis/{GROUP}/v1beta1/knobs"
    obj = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Knob", "metadata": {"generateName": "k-"}, "spec": {}}
    names: list[str] = []
    for _ in range(2):
        with serve(Api(Group(GROUP, kind))) as server:
            for name in names:
                server.request("POST", path, body={**obj, "metadata": {"name": name}})
            made = server.request("POST", path, body=obj).json()
            names.append(made["metadata"]["name"])
            key = f"/registry/{GROUP}/knobs/{names[-1]}".encode()
            stored = server.run(server.backend.get(key))
            assert stored is not None
            assert json.loads(stored.value)["spec"] == {"high": 2}
            assert made["spec"] == {"low": 1, "high": 2}
    assert names[0] != names[1]


def test_what_cannot_be_shown_again_is_stored_all_the_same(served: InMemoryServer, monkeypatch: Any) -> None:
    """The failure is the answer's alone, as from kube-apiserver, which converts the answer after the commit."""
    served.request("POST", CAKES % "v1beta1", body=cake("v1beta1"))

    def fail(cake: Cake) -> AlphaCake:
        raise ValueError(cake.metadata.name)

    monkeypatch.setattr(to_alpha, "__code__", fail.__code__)
    answer = served.request("POST", CAKES % "v1alpha1", body=cake("v1alpha1", name="d"))
    assert answer.status == 500
    assert "conversion of Cake failed" in answer.json()["message"]
    assert served.request("GET", f"{CAKES % 'v1beta1'}/d").status == 200
    assert served.request("GET", f"{CAKES % 'v1alpha1'}/d").status == 500


def test_a_write_tries_a_failed_conversion_again(served: InMemoryServer, monkeypatch: Any) -> None:
    """Readers of this object get the failure that the cache keeps; a write starts from a conversion of its own."""
    served.request("POST", CAKES % "v1beta1", body=cake("v1beta1"))

    def fail(cake: Cake) -> AlphaCake:
        raise ValueError(cake.metadata.name)

    with monkeypatch.context() as broken:
        broken.setattr(to_alpha, "__code__", fail.__code__)
        assert served.request("GET", f"{CAKES % 'v1alpha1'}/c").status == 500
    answer = served.request("PATCH", f"{CAKES % 'v1alpha1'}/c", (), MERGE, {"spec": {"size": "5 layers"}})
    assert (answer.status, answer.json()["spec"]) == (200, {"size": "5 layers"})
