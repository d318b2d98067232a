from __future__ import annotations

import gc
import json
from typing import Any

import pytest

from extapi.errors import InternalError, Invalid, NotFound, Unauthorized
from extapi.storage.keys import KeyLayout
from extapi.watch.cachedobject import CachedObject, CacheSource
from tests.unit.watch.store import LAYOUT, PREFIX, AtOnce, Pizzas, pizza


def cached(
    value: bytes, key: bytes = PREFIX + b"a/one", projector: Any = None, *, namespaced: bool = True
) -> CachedObject:
    source = CacheSource(KeyLayout("food.example", "pizzas", namespaced), projector or Pizzas())
    return CachedObject(key, 7, value, source.labels(value), source)


class Broken(AtOnce):
    """A projector that fails as it is told."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = 0

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
        self.asked += 1
        raise self.error

    def cells(self, value: bytes, version: str) -> tuple[Any, ...]:
        raise self.error

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        raise self.error


def test_name_and_namespace_come_from_the_key() -> None:
    found = cached(pizza("one"))
    assert (found.namespace, found.name) == ("a", "one")
    cluster = cached(pizza("one"), PREFIX + b"one", namespaced=False)
    assert (cluster.namespace, cluster.name) == ("", "one")
    assert cluster.fields() == {"metadata.name": "one", "metadata.namespace": ""}


def test_the_revision_is_put_into_the_metadata() -> None:
    shown = cached(pizza("one", size=3)).serialized("v2")
    assert json.loads(shown.with_revision(41)) == {
        "apiVersion": "food.example/v2",
        "kind": "Pizza",
        "metadata": {"name": "one", "namespace": "a", "resourceVersion": "41"},
        "spec": {"size": "3"},
    }
    assert b'"resourceVersion"' not in shown.without_revision
    assert shown.with_revision(7) == shown.data
    assert json.loads(shown.data)["metadata"]["resourceVersion"] == "7"


def test_a_form_that_is_the_stored_object_keeps_no_second_copy() -> None:
    value = pizza("one")
    found = cached(value)
    assert found.serialized("v2").without_revision != value
    assert [found.stored, found.serialized("v1").without_revision] == [value, value]
    assert found.stored is None
    assert found.value == value


def test_each_version_is_projected_once() -> None:
    projector = Pizzas()
    found = cached(pizza("one"), projector=projector)
    first = found.serialized("v1")
    found.serialized("v2")
    assert found.serialized("v1") is first
    found.serialized("v2")
    assert projector.projected == ["v1", "v2"]


def test_cells_are_those_of_the_version_and_made_once() -> None:
    found = cached(pizza("one", size=4))
    assert found.serialized("v1").raw_cells() == ("one", 4)
    cells = found.serialized("v2").raw_cells()
    assert cells == ("one", "4")
    assert found.serialized("v2").raw_cells() is cells


@pytest.mark.parametrize(
    "error",
    [
        InternalError.because("no way"),
        NotFound.named("pizzas", "food.example", "one"),
        Invalid.of("Pizza", "food.example", "one", []),
        Unauthorized(),
    ],
)
def test_a_failed_conversion_is_told_to_every_reader_and_tried_once(error: Any) -> None:
    projector = Broken(error)
    shown = cached(pizza("one"), projector=projector).serialized("v1")
    for ask in (
        lambda: shown.with_revision(1),
        lambda: shown.with_revision(7),  # the object's own
        shown.raw_cells,
        lambda: shown.with_revision(2),
    ):
        with pytest.raises(type(error)) as raised:
            ask()
        assert raised.value.status() == error.status()
        assert raised.value.args == error.args
    assert projector.asked == 1


def test_an_error_that_is_kept_keeps_no_frames() -> None:
    shown = cached(pizza("one"), projector=Broken(InternalError("no way"))).serialized("v1")
    for _ in range(2):
        with pytest.raises(InternalError):
            shown.with_revision(1)
    assert shown.error is not None
    assert shown.error.__traceback__ is None


def test_a_bug_in_a_converter_is_an_internal_error_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    shown = cached(pizza("one"), projector=Broken(KeyError("secret"))).serialized("v1")
    with pytest.raises(InternalError) as raised:
        shown.with_revision(1)
    assert "secret" not in raised.value.message
    assert raised.value.code == 500


def test_labels_are_shared_by_content() -> None:
    source = CacheSource(LAYOUT, Pizzas())
    one = source.labels(pizza("one", labels={"tier": "web"}))
    two = source.labels(pizza("two", labels={"tier": "web"}))
    assert one == {"tier": "web"}
    assert one is two
    assert source.labels(pizza("three")) == {}


@pytest.mark.parametrize(
    "value",
    [b"", b"null", b"not json", b"{}", b'{"metadata":{"labels":{"a":1}}}', b'{"metadata":{"labels":null}}', b'"\xff"'],
)
def test_objects_whose_labels_cannot_be_read_have_none(value: bytes) -> None:
    assert cached(value).labels == {}


def test_shared_label_sets_are_bounded() -> None:
    source = CacheSource(LAYOUT, Pizzas())
    for number in range(10_001):
        assert source.labels(b'{"metadata":{"labels":{"n":"%d"}}}' % number) == {"n": str(number)}
    assert len(source._labels) < 10_001


def test_entries_and_forms_are_nothing_to_the_garbage_collector() -> None:
    found = cached(pizza("one"))
    assert not gc.is_tracked(found)
    assert not gc.is_tracked(found.serialized("v1"))


def test_selectable_fields_are_read_once_a_version_and_only_when_asked_for() -> None:
    projector = Pizzas()
    found = cached(pizza("one", size=3), projector=projector)
    found.serialized("v1")
    found.fields()
    assert projector.read == []
    assert found.fields_in("v1") == {"metadata.name": "one", "metadata.namespace": "a", "spec.size": "3"}
    found.fields_in("v1")
    found.fields_in("v2")
    assert projector.read == ["v1", "v2"]


def test_the_fields_of_what_cannot_be_shown_are_its_error() -> None:
    found = cached(pizza("one", size=13))
    with pytest.raises(InternalError, match="no such size in v2"):
        found.fields_in("v2")
    assert found.fields_in("v1")["spec.size"] == "13"
