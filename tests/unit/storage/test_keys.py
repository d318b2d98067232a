"""Keys of objects (behaviour K4), and what holds for keys and writes in every backend."""

from __future__ import annotations

import pytest

from extapi.storage.keys import KeyLayout, check_write, resource_prefix_of, successor


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        # k8s.io/etcd client/v3 GetPrefixRangeEnd: the last byte that can grow grows, what follows it falls away.
        (b"/a", b"/b"),
        (b"/a/", b"/a0"),
        (b"a\xff", b"b"),
        (b"a\xff\xff", b"b"),
        (b"a\x00", b"a\x01"),
        (b"", None),
        (b"\xff", None),
        (b"\xff\xff", None),
    ],
)
def test_the_end_of_a_prefix(prefix: bytes, end: bytes | None) -> None:
    assert successor(prefix) == end


def test_writes_that_cannot_be_meant() -> None:
    check_write(b"/a", b"", 0)
    check_write(b"/a", None, 1)
    with pytest.raises(ValueError, match="at least one byte"):
        check_write(b"", b"x", 0)
    with pytest.raises(ValueError, match="needs the revision"):
        check_write(b"/a", None, 0)


NAMESPACED = KeyLayout("food.example", "pizzas", namespaced=True)
CLUSTER = KeyLayout("", "namespaces", namespaced=False)


def test_keys_of_objects() -> None:
    assert NAMESPACED.key("a", "one") == b"/registry/food.example/pizzas/a/one"
    assert CLUSTER.key("", "one") == b"/registry/core/namespaces/one"
    assert NAMESPACED.namespace_prefix("a") == b"/registry/food.example/pizzas/a/"
    assert NAMESPACED.namespace_prefix("") == NAMESPACED.prefix == b"/registry/food.example/pizzas/"
    assert CLUSTER.namespace_prefix("a") == CLUSTER.prefix == b"/registry/core/namespaces/"


@pytest.mark.parametrize(("layout", "namespace", "name"), [(NAMESPACED, "a", "one"), (CLUSTER, "", "one")])
def test_keys_are_read_back(layout: KeyLayout, namespace: str, name: str) -> None:
    key = layout.key(namespace, name)
    assert (layout.namespace(key), layout.name(key)) == (namespace, name)
    assert key.endswith(layout.name_suffix(name))
    assert not key.endswith(layout.name_suffix("ne"))


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        (b"/registry/food.example/pizzas/a/one", b"/registry/food.example/pizzas/"),
        (b"/registry/core/namespaces/one", b"/registry/core/namespaces/"),
        (b"/registry/food.example/pizzas", b""),
        (b"/registry/food.example", b""),
        (b"compact_rev_key", b""),
        (b"", b""),
    ],
)
def test_the_resource_of_a_key(key: bytes, prefix: bytes) -> None:
    assert resource_prefix_of(key) == prefix


@pytest.mark.parametrize(("group", "resource"), [("g", ""), ("g", "a/b"), ("a/b", "r")])
def test_what_is_no_resource_has_no_keys(group: str, resource: str) -> None:
    with pytest.raises(ValueError, match="not a resource"):
        KeyLayout(group, resource, namespaced=True)
