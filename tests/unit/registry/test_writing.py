"""The schema comes first: what breaks it is shown to no author's code, and no author's code hides its errors.

Kubernetes' order for custom resources is mutating admission, validation by schema, validating admission
(``registry.Store`` of k8s.io/apiserver, ``customResourceStrategy``); texts and causes are those of kube-apiserver 1.36.3.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from extapi import (
    Api,
    FieldError,
    Format,
    Group,
    Kind,
    MaxLength,
    Object,
    Operation,
    Pattern,
    Quantity,
    Review,
    Strategy,
    Struct,
    Subresource,
    Version,
)
from extapi.registry.served import ServedKind
from extapi.schema.compile import compile_type
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.unit.verbs.sample import failure

GROUP = "paint.example.com"
POTS = f"/apis/{GROUP}/v1/namespaces/default/pots"
OLDER = f"/apis/{GROUP}/v1beta1/namespaces/default/pots"
MERGE = {"Content-Type": "application/merge-patch+json"}


class Finish(Enum):
    MATT = "matt"
    GLOSS = "gloss"


class Coat(Struct):
    name: str


class PotSpec(Struct):
    color: Literal["red", "green"]
    size: Annotated[str, Pattern("^[0-9]+m?$"), MaxLength(8)] = "1"
    finish: Finish = Finish.MATT
    layers: list[Coat] | None = None
    opened: Annotated[str | None, Format("date-time")] = None


class PotStatus(Struct):
    dry: bool = False


class Pot(Object):
    spec: PotSpec
    status: PotStatus = PotStatus()


SCHEMA = compile_type(Pot).to_openapi()
Hook = Callable[[Review], Awaitable[None]]


class Author(Strategy):
    """All of an author's code for a kind. It keeps what it is shown, and relies on what the schema says."""

    def __init__(self) -> None:
        self.hooks: set[str] = set()
        self.seen: list[str] = []

    def look(self, where: str, obj: Any, old: Any = None) -> None:
        self.seen.append(where)
        for shown in (obj, old):
            if shown is None:
                continue
            found = shown if isinstance(shown, dict) else msgspec.to_builtins(shown)
            assert found["spec"]["color"] in {"red", "green"}
            assert found["spec"].get("finish", "matt") in {"matt", "gloss"}
            assert all(coat["name"] for coat in found["spec"].get("layers", []))
            Quantity.parse(found["spec"].get("size", "1"))

    async def review(self, where: str, review: Review) -> None:
        if where in self.hooks:
            self.look(where, review.object, review.old_object)
        if f"{where} as_version" in self.hooks:
            self.look(where, review.as_version("v1"))

    def prepare(self, obj: Any, old: Any | None) -> None:
        if "prepare" in self.hooks:
            self.look("prepare", obj, old)

    def validate(self, obj: Any, old: Any | None) -> Iterable[FieldError]:
        if "validate" in self.hooks:
            self.look("validate", obj, old)
        return ()

    def warn(self, obj: Any, old: Any | None) -> Iterable[str]:
        if "warn" in self.hooks:
            self.look("warn", obj, old)
        return ()


class Plugin:
    def __init__(self, author: Author) -> None:
        self.author = author
        self.on_mutate: Hook | None = None
        self.on_validate: Hook | None = None

    async def mutate(self, review: Review) -> None:
        if self.on_mutate is not None:
            await self.on_mutate(review)
        await self.author.review("mutate", review)

    async def validate(self, review: Review) -> None:
        if self.on_validate is not None:
            await self.on_validate(review)
        await self.author.review("admit", review)


ALL = ("prepare", "validate", "warn", "mutate", "mutate as_version", "admit", "admit as_version")


class Served:
    """A server, and the author's code in it."""

    def __init__(self, server: InMemoryServer, author: Author, plugin: Plugin) -> None:
        self.server = server
        self.author = author
        self.plugin = plugin

    def post(self, **spec: Any) -> ServerResponse:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Pot", "metadata": {"name": "p"}, "spec": spec}
        return self.server.request("POST", POTS, body=body)

    def merge(self, patch: Any, path: str = f"{POTS}/p") -> ServerResponse:
        return self.server.request("PATCH", path, headers=MERGE, body=patch)


def kind(author: Strategy, shape: Any = Pot, **more: Any) -> Kind:
    return Kind("Pot", storage="v1", versions={"v1": Version(shape)}, **{"strategy": author, **more})


@contextmanager
def serving(*hooks: str, shape: Any = Pot, stored: Any = None, **more: Any) -> Iterator[Served]:
    """Serve pots; ``stored``: one that was stored when the type was another."""
    author = Author()
    author.hooks.update(hooks)
    plugin = Plugin(author)
    clock = Clock()
    backend = MemoryBackend(clock)
    if stored is not None:
        value = msgspec.json.encode(stored)
        added: list[Any] = []
        committed = backend.commit(f"/registry/{GROUP}/pots/default/p".encode(), value, expected=0)
        Deferred.fromCoroutine(committed).addBoth(added.append)
        assert added == [2]  # the first revision after that of an empty store
    with serve(
        Api(Group(GROUP, kind(author, shape, **more)), admission=[plugin]), backend=backend, clock=clock
    ) as server:
        yield Served(server, author, plugin)


def old_pot(version: str = "v1", metadata: Any = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Pot",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "generation": 1,
            "creationTimestamp": "2023-11-14T22:13:25Z",
            **(metadata or {}),
        },
        "spec": spec,
    }


BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "Literal": ({"color": "blue"}, "spec.color", 'Unsupported value: "blue": supported values: "red", "green"'),
    "Enum": (
        {"color": "red", "finish": "x"},
        "spec.finish",
        'Unsupported value: "x": supported values: "matt", "gloss"',
    ),
    "missing": ({}, "spec.color", "Required value"),
    "type": (
        {"color": "red", "size": 1},
        "spec.size",
        'Invalid value: "integer": spec.size in body must be of type string: "integer"',
    ),
    "pattern": (
        {"color": "red", "size": "much"},
        "spec.size",
        "Invalid value: \"much\": spec.size in body should match '^[0-9]+m?$'",
    ),
    "length": ({"color": "red", "size": "1" * 9}, "spec.size", "Too long: may not be more than 8 bytes"),
    "inside": ({"color": "red", "layers": [{"name": "a"}, {}]}, "spec.layers[1].name", "Required value"),
}
broken = pytest.mark.parametrize("how", BROKEN)
shapes = pytest.mark.parametrize("shape", [Pot, SCHEMA], ids=["types", "dicts"])


def refused(answer: ServerResponse, how: str) -> None:
    _, path, text = BROKEN[how]
    assert answer.status == 422, answer
    told = failure(answer)
    assert told["message"] == f'Pot.{GROUP} "p" is invalid: {path}: {text}'
    assert [cause["field"] for cause in told["details"]["causes"]] == [path]


@shapes
@broken
@pytest.mark.parametrize("hook", ALL)
def test_what_breaks_the_schema_is_shown_to_nobody(hook: str, how: str, shape: Any) -> None:
    with serving(hook, shape=shape) as served:
        spec, _, _ = BROKEN[how]
        refused(served.post(**spec), how)
        assert served.author.seen == []
        assert served.post(color="red").status == 201
        # Taken away in a merge patch, where it was missing in the body.
        assert served.author.seen
        served.author.seen.clear()
        patch = spec or {"color": None}
        refused(served.merge({"spec": patch}), how)
        assert served.author.seen == []


@shapes
def test_a_status_that_breaks_the_schema_is_shown_to_nobody(shape: Any) -> None:
    with serving("validate", "mutate", "admit", shape=shape) as served:
        served.post(color="red")
        served.author.seen.clear()
        answer = served.merge({"status": {"dry": "x"}}, f"{POTS}/p/status")
        assert answer.status == 422
        assert failure(answer)["details"]["causes"][0]["field"] == "status.dry"
        assert served.author.seen == []


def test_errors_of_metadata_are_told_with_those_of_the_schema() -> None:
    with serving(*ALL) as served:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Pot",
            "metadata": {"name": "p", "labels": {"a b": "c"}},
            "spec": {"color": "blue"},
        }
        causes = failure(served.server.request("POST", POTS, body=body))["details"]["causes"]
        assert [cause["field"] for cause in causes] == ["metadata.labels", "spec.color"]


def test_a_plugin_that_does_not_look_is_asked_before_the_schema() -> None:
    """As in kube-apiserver: 403 by a mutating plugin comes before 422."""

    async def refuse(review: Review) -> None:
        review.refuse("not today")

    with serving("validate") as served:
        served.plugin.on_mutate = refuse
        assert served.post(color="blue").status == 403
        served.plugin.on_mutate, served.plugin.on_validate = None, refuse
        assert served.post(color="blue").status == 422


def test_a_plugin_that_swallows_the_refusal_hides_nothing() -> None:
    async def swallow(review: Review) -> None:
        with pytest.raises(Exception, match="Unsupported value"):
            review.object  # noqa: B018 -- asking is what raises

    with serving("validate") as served:
        served.plugin.on_mutate = swallow
        refused(served.post(color="blue"), "Literal")


@shapes
def test_what_one_plugin_breaks_is_not_shown_to_the_next(shape: Any) -> None:
    class Breaking:
        async def mutate(self, review: Review) -> None:
            if isinstance(review.object, dict):
                review.object["spec"]["color"] = "blue"
            else:
                review.object.spec.color = "blue"

    author = Author()
    author.hooks.add("mutate")
    api = Api(Group(GROUP, kind(author, shape)), admission=[Breaking(), Plugin(author)])
    with serve(api) as server:
        refused(Served(server, author, Plugin(author)).post(color="red"), "Literal")
    assert author.seen == []


@shapes
def test_each_plugin_sees_what_the_one_before_made_in_shape(shape: Any) -> None:
    """As kube-apiserver fills in defaults again after each webhook that changed something."""
    found: list[str] = []

    class Taking:
        async def mutate(self, review: Review) -> None:
            if isinstance(review.object, dict):
                del review.object["spec"]["size"]
                review.object["spec"]["unknown"] = 1
            else:
                review.object.spec = PotSpec(color="green")

    class Looking:
        async def mutate(self, review: Review) -> None:
            made = review.as_version("v1")
            assert made is not None
            found.append(made["spec"]["size"])
            assert "unknown" not in made["spec"]

    with serve(Api(Group(GROUP, kind(Strategy(), shape)), admission=[Taking(), Looking()])) as server:
        assert Served(server, Author(), Plugin(Author())).post(color="red", size="5").status == 201
    assert found == ["1"]


def test_the_schema_is_asked_once_if_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    rules = ServedKind.schema_errors

    def counted(self: ServedKind, obj: Any, old: Any, version: str, part: str = "") -> Any:
        asked.append((obj["spec"]["size"], old is not None))
        return rules(self, obj, old, version, part)

    monkeypatch.setattr(ServedKind, "schema_errors", counted)
    with serving(*ALL) as served:
        assert served.post(color="red").status == 201
        assert asked == [("1", False)]
        asked.clear()
        assert served.merge({"spec": {"size": "2"}}).status == 200
        assert asked == [("2", True), ("1", False)]  # what is written, and what is stored
    asked.clear()
    with serve(Api(Group(GROUP, kind(Strategy())))) as server:
        served = Served(server, Author(), Plugin(Author()))
        served.post(color="red")
        served.merge({"spec": {"size": "2"}})
        assert asked == [("1", False), ("2", True)]


# -- what msgspec refuses and a schema does not


class Dated(Struct):
    at: dt.datetime


class Event(Object):
    spec: Dated


def test_a_time_that_only_go_knows_is_422() -> None:
    """Go has a year 0, and Python has none: the schema's format lets it pass, as kube-apiserver's does."""
    dated = Kind("Event", storage="v1", versions={"v1": Version(Event)}, strategy=Looking())
    with serve(Api(Group(GROUP, dated))) as server:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Event",
            "metadata": {"name": "e"},
            "spec": {"at": "0000-01-01T00:00:00Z"},
        }
        answer = server.request("POST", f"/apis/{GROUP}/v1/namespaces/default/events", body=body)
        assert answer.status == 422
        assert failure(answer)["message"] == (
            f'Event.{GROUP} "e" is invalid: spec.at: Invalid value: Invalid RFC3339 encoded datetime'
        )


class Looking(Strategy):
    """Looks at nothing in particular."""

    def validate(self, obj: Any, old: Any | None) -> Iterable[FieldError]:
        del obj, old
        return ()


class Numbered(Struct):
    count: int


class Box(Object):
    spec: Numbered


LOOSE = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"count": {"x-kubernetes-int-or-string": True}}}},
}


def test_what_msgspec_alone_refuses_is_422_with_its_path() -> None:
    """A version whose own schema is wider than the type that all versions are converted through."""
    box = Kind(
        "Box",
        plural="boxes",
        hub=Box,
        storage="v1",
        versions={"v1": Version(Box), "v1beta1": Version(LOOSE, to_hub=lambda box: box, from_hub=lambda box: box)},
    )
    with serve(Api(Group(GROUP, box))) as server:
        body = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Box", "metadata": {"name": "b"}, "spec": {"count": "x"}}
        answer = server.request("POST", f"/apis/{GROUP}/v1beta1/namespaces/default/boxes", body=body)
        assert answer.status == 422
        assert failure(answer)["details"]["causes"] == [
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: Expected `int`, got `str`",
                "field": "spec.count",
            }
        ]


# -- what was stored before the type changed

MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "Literal": ({"color": "blue"}, "spec.color"),
    "Enum": ({"color": "red", "finish": "x"}, "spec.finish"),
    "missing": ({"size": "1"}, "spec.color"),
    "type": ({"color": "red", "size": 1}, "spec.size"),
    "inside": ({"color": "red", "layers": [{"name": "a"}, {}]}, "spec.layers[1].name"),
}
misfit = pytest.mark.parametrize("how", MISFITS)
LABEL = {"metadata": {"labels": {"a": "b"}}}


@misfit
@pytest.mark.parametrize("hook", [hook for hook in ALL if "as_version" not in hook])  # a dict needs no types
def test_a_stored_object_that_no_longer_fits_is_422_with_its_path(hook: str, how: str) -> None:
    spec, path = MISFITS[how]
    with serving(hook, stored=old_pot(**spec)) as served:
        assert served.server.request("GET", f"{POTS}/p").status == 200
        writes = [(LABEL, f"{POTS}/p"), ({"status": {"dry": True}}, f"{POTS}/p/status")]
        for patch, where in writes[: 1 if hook == "prepare" else 2]:
            answer = served.merge(patch, where)
            assert answer.status == 422, answer
            assert [cause["field"] for cause in failure(answer)["details"]["causes"]] == [path]
        assert served.author.seen == []


@misfit
def test_it_can_be_put_right(how: str) -> None:
    """The author's code is shown the write's spec in place of the old one, which no type holds."""
    spec, _ = MISFITS[how]
    shown: list[tuple[str, bool]] = []

    async def compare(review: Review) -> None:
        shown.append((review.old_object.spec.color, review.old_object.spec == review.object.spec))
        assert review.old_object.metadata.uid == "u"
        assert review.old_object.metadata.labels == {"old": "yes"}
        old = review.old_as_version("v1")
        assert old is not None
        assert old["spec"].items() >= spec.items()

    with serving(*ALL, stored=old_pot(metadata={"labels": {"old": "yes"}}, **spec)) as served:
        served.plugin.on_validate = compare
        patch = {"metadata": {"labels": None}, "spec": dict.fromkeys(spec) | {"color": "green"}}
        answer = served.merge(patch)
        assert answer.status == 200, answer
        assert answer.json()["spec"] == {"color": "green", "size": "1", "finish": "matt"}
        assert answer.json()["metadata"]["generation"] == 2
        assert shown == [("green", True)]
        served.plugin.on_validate = None
        assert served.merge(LABEL).status == 200


def test_parts_that_still_fit_are_shown_as_they_were() -> None:
    stored = {**old_pot(color="red"), "status": {"dry": "very"}}
    compared: list[tuple[str, bool]] = []

    async def compare(review: Review) -> None:
        compared.append((review.old_object.spec.color, review.old_object.status.dry))

    with serving(stored=stored) as served:
        served.plugin.on_validate = compare
        assert served.merge({"status": {"dry": True}}, f"{POTS}/p/status").status == 200
        assert served.merge({"spec": {"color": "green"}}).status == 200
        assert compared == [("red", True), ("red", True)]


@shapes
def test_what_a_plugin_puts_right_is_not_shown_as_it_was(shape: Any) -> None:
    async def repair(review: Review) -> None:
        if isinstance(review.object, dict):
            review.object["spec"]["size"] = "3"
        else:
            review.object.spec.size = "3"
        assert review.old_object

    with serving(
        "prepare", "validate", "warn", "admit", shape=shape, stored=old_pot(color="red", size="much")
    ) as served:
        served.plugin.on_mutate = repair
        answer = served.merge(LABEL)
        assert answer.status == 200, answer
        assert answer.json()["spec"]["size"] == "3"


@shapes
def test_what_breaks_a_later_rule_and_stays_is_let_pass_unless_authors_code_fails_on_it(shape: Any) -> None:
    """Behaviour J26, as kube-apiserver: the value was there before the rule. What relies on the rule must not end in 500."""
    with serving(shape=shape, stored=old_pot(color="red", size="much")) as served:
        assert served.merge(LABEL).status == 200
    for hook in ("prepare", "validate", "warn", "mutate", "admit"):
        with serving(hook, shape=shape, stored=old_pot(color="red", size="much")) as served:
            refused(served.merge(LABEL), "pattern")
            assert served.merge({"spec": {"size": "2"}}).status == 200


def test_authors_code_that_fails_on_a_sound_object_is_a_500() -> None:
    async def fail(review: Review) -> None:
        raise ValueError("secret")

    with serving(stored=old_pot(color="red")) as served:
        served.plugin.on_validate = fail
        assert served.merge(LABEL).status == 500


# -- deletion


class Keeper(Author):
    """A strategy with a say about deletion."""

    def prepare_for_deletion(self, obj: Any) -> None:
        self.look("prepare_for_deletion", obj)

    def blocks_deletion(self, obj: Any) -> bool:
        self.look("holds", obj)
        return True


@misfit
@pytest.mark.parametrize("finalizers", [[], ["example.com/x"]], ids=["free", "held"])
def test_what_no_longer_fits_can_be_deleted(how: str, finalizers: list[str]) -> None:
    spec, _ = MISFITS[how]
    keeper = Keeper()
    stored = old_pot(metadata={"finalizers": finalizers} if finalizers else {}, **spec)

    async def guard(review: Review) -> None:
        if review.operation is Operation.DELETE:
            review.refuse(f"no, {review.old_object.spec.color}")

    with serving(strategy=keeper, stored=stored) as served:
        served.plugin.on_validate = guard
        with capturedLogs() as logs:
            answer = served.server.request("DELETE", f"{POTS}/p")
        assert answer.status == 200, answer
        told = [formatEvent(event) for event in logs]
        assert any('"Plugin" is ignored for the deletion of pots default/p' in str(text) for text in told)
        if finalizers:
            assert "deletionTimestamp" in answer.json()["metadata"]
            assert served.server.request("DELETE", f"{POTS}/p").status == 200
            return
        assert answer.json()["kind"] == "Status"
        assert served.server.request("GET", f"{POTS}/p").status == 404
    assert keeper.seen == []


def test_a_guard_that_reads_the_dict_is_heard() -> None:
    async def guard(review: Review) -> None:
        old = review.old_as_version("v1")
        if review.operation is Operation.DELETE and old is not None and old["spec"]["color"] == "blue":
            review.refuse("blue ones stay")

    with serving(stored=old_pot(color="blue")) as served:
        served.plugin.on_validate = guard
        assert served.server.request("DELETE", f"{POTS}/p").status == 403


# -- with a hub


class OldPotSpec(Struct):
    paint: Literal["red", "green"]
    size: Annotated[str, Pattern("^[0-9]+l$")] = "1l"


class OldPot(Object):
    spec: OldPotSpec


def hubbed(storage: str) -> dict[str, Any]:
    def up(old: OldPot) -> Pot:
        return Pot(spec=PotSpec(color=old.spec.paint, size=str(int(old.spec.size.removesuffix("l")))))

    def down(pot: Pot) -> OldPot:
        return OldPot(spec=OldPotSpec(paint=pot.spec.color, size=f"{pot.spec.size}l"))

    return {
        "hub": Pot,
        "storage": storage,
        "status": False,
        "versions": {"v1": Version(Pot), "v1beta1": Version(OldPot, to_hub=up, from_hub=down)},
    }


@contextmanager
def two_versions(storage: str, stored: Any) -> Iterator[Served]:
    author = Keeper()
    author.hooks.update(ALL)
    plugin = Plugin(author)
    clock = Clock()
    backend = MemoryBackend(clock)
    Deferred.fromCoroutine(
        backend.commit(f"/registry/{GROUP}/pots/default/p".encode(), msgspec.json.encode(stored), expected=0)
    )
    api = Api(Group(GROUP, Kind("Pot", **{"strategy": author, **hubbed(storage)})), admission=[plugin])
    with serve(api, backend=backend, clock=clock) as server:
        yield Served(server, author, plugin)


OLD_MISFITS = {"type": ({"paint": "blue"}, "spec.paint"), "to_hub": ({"paint": "red", "size": "much"}, "spec.size")}
"""What breaks the type of v1beta1, and what only the author's own function fails on."""
old_misfit = pytest.mark.parametrize("how", OLD_MISFITS)


@old_misfit
@pytest.mark.parametrize("storage", ["v1", "v1beta1"])
@pytest.mark.parametrize("path", [POTS, OLDER], ids=["v1", "v1beta1"])
def test_the_same_through_versions_with_a_hub(storage: str, path: str, how: str) -> None:
    spec, field = OLD_MISFITS[how]
    with two_versions(storage, old_pot("v1beta1", **spec)) as served:
        answer = served.merge(LABEL, f"{path}/p")
        assert answer.status == 422
        assert [cause["field"] for cause in failure(answer)["details"]["causes"]] == [field]
        assert served.server.request("DELETE", f"{path}/p").status == 200
        assert served.server.request("GET", f"{OLDER}/p").status == 404


@old_misfit
@pytest.mark.parametrize("path", [POTS, OLDER], ids=["v1", "v1beta1"])
def test_it_waits_for_finalizers_in_the_version_that_it_is_in(path: str, how: str) -> None:
    spec, _ = OLD_MISFITS[how]
    stored = old_pot("v1beta1", metadata={"finalizers": ["example.com/x"]}, **spec)
    with two_versions("v1", stored) as served:
        answer = served.server.request("DELETE", f"{path}/p")
        assert answer.status == 200
        left = served.server.request("GET", f"{OLDER}/p").json()
        assert "deletionTimestamp" in left["metadata"]
        assert left["spec"].items() >= spec.items()


@old_misfit
def test_it_can_be_put_right_in_its_own_version(how: str) -> None:
    spec, _ = OLD_MISFITS[how]
    with two_versions("v1", old_pot("v1beta1", **spec)) as served:
        answer = served.merge({"spec": {"paint": "green", "size": "5l"}}, f"{OLDER}/p")
        assert answer.status == 200, answer
        assert served.server.request("GET", f"{POTS}/p").json()["spec"]["size"] == "5"


# -- what answers itself


class Serving:
    """Answers for pots without a store; keeps what it is given."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    async def get(self, asked: Any) -> Any:
        return {"metadata": {"name": asked.name}, "spec": {"color": "blue"}}

    async def create(self, asked: Any, obj: Any) -> Any:
        self.given.append(obj)
        return obj

    async def update(self, asked: Any, obj: Any) -> Any:
        self.given.append(obj)
        return obj


def test_what_answers_itself_is_not_given_what_breaks_the_schema() -> None:
    serving_pots = Serving()
    pot = Kind("Pot", storage="v1", versions={"v1": Version(Pot)}, status=False, rest=serving_pots)
    with serve(Api(Group(GROUP, pot))) as server:
        served = Served(server, Author(), Plugin(Author()))
        refused(served.post(color="blue"), "Literal")
        # What the author's own code gave breaks it too, and stays: there is no Struct of it.
        refused(served.merge(LABEL), "Literal")
        assert serving_pots.given == []
        assert served.merge({"spec": {"color": "red"}}).status == 200


def test_nor_is_a_subresource() -> None:
    tints = Serving()
    pot = Kind(
        "Pot",
        storage="v1",
        versions={"v1": Version(Pot)},
        subresources={"tint": Subresource(rest=tints, kind="Pot", type=Pot)},
    )
    with serve(Api(Group(GROUP, pot))) as server:
        Served(server, Author(), Plugin(Author())).post(color="red")
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Pot", "metadata": {"name": "p"}, "spec": {"color": "blue"}}
        refused(server.request("POST", f"{POTS}/p/tint", body=body), "Literal")
        assert tints.given == []
