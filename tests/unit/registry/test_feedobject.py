"""Which objects of authors can be kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extapi.registry.feedobject import FeedEncoder, FeedError, only_forgets_managers
from extapi.registry.kinds import serve_kinds
from tests.unit.registry.orders import Orders, order, shop


@pytest.fixture
def encoder() -> FeedEncoder:
    (kind,) = serve_kinds(shop(Orders()))
    return FeedEncoder(kind)


def test_an_object_is_kept_in_the_storage_version(encoder: FeedEncoder) -> None:
    key, value = encoder.encode(order("a", 2, resource_version="7"))
    assert key == b"/registry/shop.example.com/orders/default/a"
    kept = json.loads(value)
    assert kept["apiVersion"] == "shop.example.com/v1"
    assert kept["spec"] == {"note": "", "size": 2}
    assert "resourceVersion" not in kept["metadata"]


def test_a_namespace_is_filled_in_only_where_there_is_none(encoder: FeedEncoder) -> None:
    assert encoder.encode(order("a", namespace=""), "given").key.endswith(b"/given/a")
    assert encoder.encode(order("a", namespace="own"), "given").key.endswith(b"/own/a")


def test_a_uid_is_made_of_names_and_creation(encoder: FeedEncoder) -> None:
    def uid(name: str, **metadata: Any) -> str:
        found: str = json.loads(encoder.encode(order(name, **metadata)).value)["metadata"]["uid"]
        return found

    assert uid("a") == uid("a")
    assert uid("a")[14] == "5"  # RFC 9562, section 5.5: the version
    assert len({uid("a"), uid("b"), uid("a", creation_timestamp="2026-01-01T00:00:00Z")}) == 3
    assert uid("a", uid="mine") == "mine"


def test_digests_tell_objects_apart(encoder: FeedEncoder) -> None:
    assert encoder.digest(order("a")) == encoder.digest(order("a"))
    assert encoder.digest(order("a")) != encoder.digest(order("a", 2))
    assert encoder.digest({"a": object()}) == b""


def test_what_is_wrong_is_named_but_not_shown(encoder: FeedEncoder) -> None:
    """Logs are read by more people than objects."""
    secret = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"note": object(), "size": "secret"}}
    with pytest.raises(FeedError, match='object "default/a"') as raised:
        encoder.encode(secret)
    assert "secret" not in str(raised.value)
    long = {"metadata": {"name": "n" * 1000, "namespace": "default"}}
    with pytest.raises(FeedError) as raised:
        encoder.encode(long)
    assert str(raised.value).startswith('object "default/nnn')


def test_only_managers_that_are_gone_are_no_change() -> None:
    before = b'{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"spec":{"x":1}}'
    assert only_forgets_managers(b'{"metadata":{"name":"a"},"spec":{"x":1}}', before)
    assert not only_forgets_managers(b'{"metadata":{"name":"a"},"spec":{"x":true}}', before)
    assert not only_forgets_managers(b'{"metadata":{"name":"a","managedFields":[]},"spec":{"x":1}}', before)
