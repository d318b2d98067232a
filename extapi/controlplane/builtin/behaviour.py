"""The behaviour of kinds that are built into kube-apiserver, where it differs from a custom resource's.

Each class overrides the rules of one stage in :mod:`extapi.api.behaviour`, which says what the questions are.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from extapi.api.behaviour import (
    COMMON_FIELDS,
    Answering,
    Behaviour,
    Decoding,
    OpenAPIRules,
    Routing,
    Selecting,
    Storing,
)
from extapi.api.metadata import finalizer_errors
from extapi.api.names import dns1123_subdomain, name_rule
from extapi.api.types import Obj
from extapi.codec.body import not_registered
from extapi.codec.strictjson import encode, encode_typed
from extapi.controlplane.builtin.protobuf import Messages
from extapi.controlplane.builtin.strategicmerge import StrategicMergePatch
from extapi.errors import FieldError, MethodNotAllowed, NotFound, go_quote

STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
_TYPE = frozenset({"apiVersion", "kind"})


@dataclass(frozen=True, kw_only=True)
class BuiltInRouting(Routing):
    """A route for each path and method, as go-restful has them."""

    discovery_order: Sequence[str] = tuple(sorted(Routing.discovery_order))
    first_subresources: Sequence[str] = ()
    scope_before_method: bool = False
    create_by_name: bool = False

    def no_subresource(self, group: str, resource: str, name: str) -> NotFound:
        """See :class:`extapi.api.behaviour.Routing`."""
        del group, resource, name
        return NotFound.path()

    def no_verb(self, group: str, resource: str, verb: str) -> MethodNotAllowed:
        """See :class:`extapi.api.behaviour.Routing`."""
        del group, resource, verb
        return MethodNotAllowed.on_path()


@dataclass(frozen=True, kw_only=True)
class BuiltInDecoding(Decoding):
    """What a body does not say of its type is the endpoint's, and another type is refused at once."""

    known: Container[str] = frozenset()
    """The kinds that the server knows: of another one it says something else."""
    registered: Container[str] = frozenset()
    """Further versions (``GROUP/VERSION``) that kube-apiserver can read, though not serve: of these it says so later."""
    knows_empty_managed_fields: bool = True
    drops_applied_metadata: bool = False
    lenient_about_kind: bool = False

    def typed(self, value: Any, kind: str, group_version: str) -> Any:
        """See :class:`extapi.api.behaviour.Decoding`."""
        value = {} if value is None else value
        if isinstance(value, dict):
            typed = {"apiVersion": value.get("apiVersion") or group_version, "kind": value.get("kind") or kind}
            return {**typed, **value, **typed}
        return value

    def wrong_type(self, kind: str, api_version: str, wanted: str, group_version: str) -> str:
        """See :class:`extapi.api.behaviour.Decoding`."""
        if kind == wanted and (api_version == group_version or api_version in self.registered):
            return ""
        if kind == wanted or kind.removesuffix("List") not in self.known:
            return not_registered(kind, api_version)
        internal = group_version.partition("/")[0].partition(".")[0] if "/" in group_version else "core"
        return f"converting ({api_version.rpartition('/')[2]}.{kind}) to ({internal}.{wanted}): unknown conversion"

    def wrong_patched_type(self, kind: str, api_version: str, wanted: str, group_version: str) -> str:
        """See :class:`extapi.api.behaviour.Decoding`: a patch must leave an object its version and kind."""
        return "" if (kind, api_version) == (wanted, group_version) else not_registered(kind, api_version)


@dataclass(frozen=True, kw_only=True)
class BuiltInStoring(Storing):
    """What most strategies in ``kubernetes/pkg/registry`` say; a kind whose own says otherwise overrides it."""

    generation: bool = False
    unconditional_update: bool = True
    subresource_metadata: bool = True
    qualified_finalizers: bool = True
    """Refuse a finalizer that is neither qualified (``group/name``) nor one of Kubernetes' own."""

    def finalizer_errors(self, obj: Obj) -> Sequence[FieldError]:
        """See :class:`extapi.api.behaviour.Storing`."""
        return finalizer_errors(obj) if self.qualified_finalizers else ()


@dataclass(frozen=True, kw_only=True)
class BuiltInSelecting(Selecting):
    """A kind without fields of its own has the default conversion function, which accepts both fields of metadata.

    Source: ``apimachinery/pkg/runtime/conversion.go`` DefaultMetaV1FieldSelectorConversion.
    """

    def common(self, own: Sequence[str], *, namespaced: bool) -> tuple[str, ...]:
        """See :class:`extapi.api.behaviour.Selecting`."""
        return COMMON_FIELDS if namespaced or not own else COMMON_FIELDS[:1]

    def refusal(self, key: str, fields: Sequence[str]) -> str:
        """See :class:`extapi.api.behaviour.Selecting`."""
        if fields == COMMON_FIELDS:
            return f'{go_quote(key)} is not a known field selector: only "metadata.name", "metadata.namespace"'
        return super().refusal(key, fields)


@dataclass(frozen=True, kw_only=True)
class BuiltInAnswering(Answering):
    """Items of typed lists do not say what they are."""

    type_first: bool = True
    table_needs_get: bool = True

    def list_metadata(self, metadata: Obj) -> Obj:
        """See :class:`extapi.api.behaviour.Answering`."""
        return metadata

    def list_items(self, items: list[bytes], kind: str, api_version: str) -> list[bytes]:
        """See :class:`extapi.api.behaviour.Answering`."""
        return untyped(items, kind, api_version)

    def list_item(self, obj: Obj) -> Obj:
        """See :class:`extapi.api.behaviour.Answering`."""
        return {name: value for name, value in obj.items() if name not in _TYPE}


def untyped(items: Iterable[bytes], kind: str, api_version: str) -> list[bytes]:
    """The items of a list, each as JSON, without apiVersion and kind."""
    head = encode({"apiVersion": api_version, "kind": kind})[:-1] + b","
    size = len(head)
    return [b"{" + item[size:] if item.startswith(head) else _untyped(item) for item in items]


def _untyped(item: bytes) -> bytes:
    """An item that was stored with its members in another order."""
    obj = msgspec.json.decode(item)
    return encode_typed({name: value for name, value in obj.items() if name not in _TYPE})


@dataclass(frozen=True, kw_only=True)
class BuiltInOpenAPI(OpenAPIRules):
    """Schemas and operations as ``/openapi`` of kube-apiserver names those of ``k8s.io/api``."""

    body_types: tuple[str, ...] = ("*/*",)
    patch_codes: tuple[int, ...] = (200, 201)
    get_resource_version: bool = False
    deletecollection_options: bool = True
    selectable_fields: bool = False

    def model_name(self, group: str, version: str, kind: str) -> str:
        """See :class:`extapi.api.behaviour.OpenAPIRules`: only the first part of the group counts."""
        return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


def built_in(
    messages: Messages | None = None,
    *,
    names: Callable[[str], Sequence[str]] = dns1123_subdomain,
    without: frozenset[str] = frozenset(),
    returns_deleted: bool = False,
    computed: Mapping[str, Callable[[Obj], str]] | None = None,
    strategic_merge: bool = True,
    openapi: OpenAPIRules | None = None,
    read: Callable[[Obj], list[str]] | None = None,
    complete: Callable[[Obj], None] | None = None,
    registered: Container[str] = frozenset(),
    **storing: Any,
) -> Behaviour:
    """The behaviour of a built-in kind.

    Args:
        messages: Reads and writes the kind in protobuf; None: it is not served in it.
        names: What is wrong with a name.
        without: Verbs that the kind lacks though its storage has them.
        returns_deleted: A delete answers with the object that is gone.
        computed: Fields for field selectors that are computed from the whole object.
        strategic_merge: Accept strategic merge patches.
        openapi: How the documents describe the kind.
        read: Reads what the schema leaves open, in place; see :class:`extapi.api.behaviour.Decoding`.
        complete: Completes what a client sent, in place; see :class:`extapi.api.behaviour.Decoding`.
        registered: See :class:`BuiltInDecoding`.
        storing: Further fields of :class:`BuiltInStoring`.
    """
    return Behaviour(
        routing=BuiltInRouting(without=without),
        decoding=BuiltInDecoding(
            registered=registered,
            known=messages if messages is not None else frozenset(),
            read=read or BuiltInDecoding.read,
            complete=complete or BuiltInDecoding.complete,
        ),
        protobuf=messages,
        patch_types={STRATEGIC_MERGE_PATCH: StrategicMergePatch()} if strategic_merge else {},
        storing=BuiltInStoring(names=name_rule(names), **storing),
        selecting=BuiltInSelecting(computed=computed or {}),
        answering=BuiltInAnswering(returns_deleted=returns_deleted),
        openapi=openapi or BuiltInOpenAPI(),
    )
