"""Strategic merge patches: merge patches that know which lists are merged, and by what.

Responsible for: applying such a patch by a structural schema, without changing the object, and refusing it with
kube-apiserver's codes and texts. How lists are merged and ordered stands in :mod:`extapi.codec.strategiclist`. Must not
know which kinds take such patches.
Source: ``apimachinery/pkg/util/strategicpatch``; ``apiserver/pkg/endpoints/handlers/patch.go``; API concept "strategic
merge patch".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extapi.codec import strictjson
from extapi.codec.body import json_type
from extapi.codec.options import Validation
from extapi.codec.patches import Patched
from extapi.codec.strategiclist import Lists, bad_argument, go_value
from extapi.errors import BadRequest, StorageError
from extapi.schema.structural import Structural, replace

__all__ = ["go_value", "strategic_merge_patch"]

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"

_TEXT = Structural(type="string")
_TEXTS = Structural(type="object", additional_properties=_TEXT)
_OBJECT = Structural(type="object")
_METADATA: Final = Structural(
    type="object",
    properties={
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": Structural(type="array", items=_TEXT, patch_strategy="merge"),
        "ownerReferences": Structural(type="array", items=_OBJECT, patch_strategy="merge", patch_merge_key="uid"),
        "managedFields": Structural(type="array", items=_OBJECT),
    },
)


def strategic_merge_patch(
    doc: dict[str, Any], patch: bytes, schema: Structural, kind: str, mode: Validation = "Warn"
) -> Patched:
    """``doc`` after the patch. ``schema``: of the kind; metadata has its own rules.

    Raises :class:`BadRequest` for what is no patch, :class:`StorageError` (500, as kube-apiserver does) for a patch that
    contradicts itself or the schema, :class:`extapi.errors.Invalid` for lists of lists.
    """
    try:
        decoded = strictjson.decode(patch)
    except (strictjson.JSONError, strictjson.NumberRangeError) as error:
        raise BadRequest(str(error)) from None
    value = {} if decoded.value is None else decoded.value
    if not isinstance(value, dict):
        raise BadRequest(f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}")
    root = replace(schema, properties={**schema.properties, "metadata": _METADATA})
    merged = _merge(strictjson.copy(doc), value, _Rules(root, kind, kind))
    duplicates = [f'duplicate field "{path}"' for path in decoded.duplicates]
    return Patched(merged, [] if mode == "Ignore" else duplicates, value)


class _Rules:
    """What a schema says of merging. ``name``: what the type is called in texts, which is near to its name in Go."""

    __slots__ = ("_kind", "_node", "name")

    def __init__(self, node: Structural | None, kind: str, name: str) -> None:
        self._node = node
        self._kind = kind
        self.name = name

    def of(self, key: str) -> tuple[Structural, _Rules]:
        """The schema of a member, and the rules within it. Raises :class:`StorageError` if there is no such member."""
        node = self._node
        found = node.properties.get(key) if node is not None else None
        if found is None:
            if node is not None and node.properties and not node.preserve_unknown:
                raise StorageError(f'unable to find api field in struct {self.name} for the json field "{key}"')
            found = Structural()  # of a map, whose values are merged as far as they are maps
        name = "ObjectMeta" if found is _METADATA else self._kind + key[:1].upper() + key[1:]
        return found, _Rules(found.items if found.type == "array" else found, self._kind, name)


def _merge(original: dict[str, Any], patch: dict[str, Any], rules: _Rules) -> dict[str, Any]:
    """``original`` after ``patch``; changes both."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    _retain(original, patch)
    _in_order(original, patch, rules)
    for key, value in patch.items():
        deletes = key.startswith(_DELETE_FROM)
        name = _named(key, _DELETE_FROM, "invalid patch format of primitive list") if deletes else key
        if value is None:
            original.pop(name, None)
            continue
        current = original.get(name)
        if type(current) is not type(value):
            if not deletes:
                _put(original, name, _without_nulls(value))
        elif isinstance(value, dict):
            original[name] = _merge(original[name], value, rules.of(name)[1])
        elif isinstance(value, list):
            node, inner = rules.of(name)
            if node.patch_strategy == "merge" or deletes:
                original[name] = _lists(node, inner).merged(original[name], value, deletes=deletes)
            else:
                original[name] = value
        else:
            original[name] = value
    return original


def _lists(node: Structural, inner: _Rules) -> Lists:
    return Lists(node.patch_merge_key, lambda original, patch: _merge(original, patch, inner))


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    """A whole object that says what becomes of it."""
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        del patch[_DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise StorageError(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")


def _retain(original: dict[str, Any], patch: dict[str, Any]) -> None:
    """Drop what ``$retainKeys`` does not name; it has to name all that the patch sets."""
    if _RETAIN not in patch:
        return
    listed = patch.pop(_RETAIN)
    if not isinstance(listed, list) or not all(isinstance(key, str) for key in listed):
        raise BadRequest("invalid patch format of retainKeys")
    keep = set(listed)
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _ORDER)) and key not in keep:
            raise BadRequest("invalid patch format of retainKeys")
    for key in original.keys() - keep:
        del original[key]


def _in_order(original: dict[str, Any], patch: dict[str, Any], rules: _Rules) -> None:
    """Merge the lists that come with an order, and take them out of the patch."""
    for key in [key for key in patch if key.startswith(_ORDER)]:
        order = _expect_list(patch.pop(key))
        name = _named(key, _ORDER, "invalid patch format of setElementOrder list")
        current = _expect_list(original.get(name, []))
        changes = _expect_list(patch.get(name, []))
        node, inner = rules.of(name)
        lists = _lists(node, inner)
        lists.check_order(changes, order)
        if name not in original and name not in patch:
            continue
        if name not in patch:
            merged = current
        elif name not in original:
            merged = [_undirected(item) for item in changes if not _is_directed(item)]
        elif node.patch_strategy == "merge":
            merged = lists.merged(current, changes)
        else:
            merged = changes
        lists.one_type(current, changes)
        original[name] = lists.ordered(merged, order, current)
        patch.pop(name, None)


def _expect_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise bad_argument("[]interface {}", value)
    return value


def _named(key: str, prefix: str, refusal: str) -> str:
    """The field that a directive such as ``$setElementOrder/ports`` is about."""
    head, slash, name = key.partition("/")
    if head != prefix or not slash:
        raise BadRequest(refusal)
    return name


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    """Set what was not there, or was something else; an object that is a directive itself is nothing."""
    if _is_directed(value):
        into.pop(key, None)
    else:
        into[key] = _undirected(value)


def _is_directed(value: Any) -> bool:
    return isinstance(value, Mapping) and _DIRECTIVE in value


def _undirected(value: Any) -> Any:
    """The value without the objects in it that are directives."""
    if isinstance(value, dict):
        return {key: _undirected(item) for key, item in value.items() if not _is_directed(item)}
    if isinstance(value, list):
        return [_undirected(item) for item in value if not _is_directed(item)]
    return value


def _without_nulls(value: Any) -> Any:
    """The value without members that are null, at any depth; nulls in lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
