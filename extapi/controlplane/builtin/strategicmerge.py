"""Strategic merge patches: merge patches that also merge lists, by the keys that the schema names.

Responsible for: applying a patch by a structural schema to a copy of the object, and refusing it with kube-apiserver's codes
and texts. Lists are merged and ordered in :mod:`extapi.controlplane.builtin.strategiclist`. Must not know kinds.
Source: ``apimachinery/pkg/util/strategicpatch``; ``apiserver/pkg/endpoints/handlers/patch.go``; API concept "strategic
merge patch".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.codec import strictjson
from extapi.codec.body import json_type
from extapi.codec.options import Validation
from extapi.codec.patches import Patched
from extapi.controlplane.builtin.strategiclist import Lists, bad_argument, go_value
from extapi.errors import BadRequest, StorageError
from extapi.schema.structural import Structural, replace

__all__ = ["StrategicMergePatch", "strategic_merge_patch"]

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


@dataclass(frozen=True, slots=True)
class StrategicallyPatched(Patched):
    """Refusals show the patch, not the result."""

    patch: dict[str, Any] = field(default_factory=dict)
    """What is left of the patch after its directives."""

    def shown(self) -> str:
        """The patch as Go prints it."""
        return go_value(self.patch)


class StrategicMergePatch:
    """The :class:`extapi.api.behaviour.PatchType` of strategic merge patches."""

    def apply(
        self, obj: Obj, patch: bytes, schema: Structural, *, kind: str, api_version: str, mode: Validation
    ) -> Patched:
        """See :class:`extapi.api.behaviour.PatchType`. The type is the endpoint's, whatever the patch says."""
        patched = strategic_merge_patch(obj, patch, schema, kind, mode)
        patched.value.update(apiVersion=api_version, kind=kind)
        return patched


def strategic_merge_patch(
    doc: Obj, patch: bytes, schema: Structural, kind: str, mode: Validation = "Warn"
) -> StrategicallyPatched:
    """``doc`` after the patch. ``schema``: of the kind; metadata has its own rules.

    Raises:
        BadRequest: It is no patch.
        Invalid: It has lists of lists.
        StorageError: It contradicts itself or the schema; 500, as from kube-apiserver.
    """
    try:
        decoded = strictjson.decode(patch)
    except (strictjson.JSONError, strictjson.NumberRangeError) as error:
        raise BadRequest(str(error)) from None
    value = {} if decoded.value is None else decoded.value
    if not isinstance(value, dict):
        raise BadRequest(f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}")
    root = replace(schema, properties={**schema.properties, "metadata": _METADATA})
    merged = _merge(json_copy(doc), value, _Rules(root, kind, kind))
    duplicates = [f'duplicate field "{path}"' for path in decoded.duplicates]
    return StrategicallyPatched(merged, [] if mode == "Ignore" else duplicates, value)


class _Rules:
    """The rules by which a schema merges. ``name``: of the type in texts, similar to its name in Go."""

    __slots__ = ("_kind", "_node", "name")

    def __init__(self, node: Structural | None, kind: str, name: str) -> None:
        self._node = node
        self._kind = kind
        self.name = name

    def of(self, key: str) -> tuple[Structural, _Rules]:
        """The schema of a member, and the rules within it.

        Raises:
            StorageError: There is no such member.
        """
        node = self._node
        found = node.properties.get(key) if node is not None else None
        if found is None:
            if node is not None and node.properties and not node.preserve_unknown:
                raise StorageError(f'unable to find api field in struct {self.name} for the json field "{key}"')
            found = Structural()  # a value of a map: merged if it is a map as well
        name = "ObjectMeta" if found is _METADATA else self._kind + key[:1].upper() + key[1:]
        return found, _Rules(found.items if found.type == "array" else found, self._kind, name)


def _merge(original: dict[str, Any], patch: dict[str, Any], rules: _Rules) -> dict[str, Any]:
    """``original`` after ``patch``. Changes both."""
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
    """The result of a directive for a whole object."""
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        del patch[_DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise StorageError(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")


def _retain(original: dict[str, Any], patch: dict[str, Any]) -> None:
    """Drop the members that ``$retainKeys`` does not name. It has to name all that the patch sets."""
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
    """Merge the lists for which the patch has an order, and remove them from the patch."""
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
    """The field that a directive such as ``$setElementOrder/ports`` names."""
    head, slash, name = key.partition("/")
    if head != prefix or not slash:
        raise BadRequest(refusal)
    return name


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    """Set a member that is new or of another type. An object with a directive is dropped."""
    if _is_directed(value):
        into.pop(key, None)
    else:
        into[key] = _undirected(value)


def _is_directed(value: Any) -> bool:
    return isinstance(value, Mapping) and _DIRECTIVE in value


def _undirected(value: Any) -> Any:
    """The value without the objects in it that have a directive."""
    if isinstance(value, dict):
        return {key: _undirected(item) for key, item in value.items() if not _is_directed(item)}
    if isinstance(value, list):
        return [_undirected(item) for item in value if not _is_directed(item)]
    return value


def _without_nulls(value: Any) -> Any:
    """The value without members that are null, at any depth. Nulls in lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
