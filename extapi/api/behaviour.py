"""What kube-apiserver does differently for custom resources and for the kinds that are built into it.

A :class:`Behaviour` answers each such question in one place; every default here is a custom resource's answer, which is that
of ``k8s.io/apiextensions-apiserver``. The development control plane overrides them for its kinds, in
:mod:`extapi.controlplane.builtin`. Rules are grouped by the stage that asks: routing, decoding, patching, storing,
selecting, answering, and the OpenAPI documents. Not part of the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from extapi.api.metadata_rules import NameRule
from extapi.api.names import object_name
from extapi.api.types import Obj
from extapi.errors import BadRequest, FieldError, MethodNotAllowed, NotFound

COMMON_FIELDS: Final = ("metadata.name", "metadata.namespace")
"""The fields that field selectors can name for every namespaced kind."""

DISCOVERY_ORDER: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The verbs in the order of ``apiextensions-apiserver/pkg/apiserver/customresource_discovery_controller.go``."""


class Serializer(Protocol):
    """Reads and writes whole objects in protobuf, in an envelope that names their type (``runtime.Unknown``)."""

    def unwrap(self, body: bytes) -> tuple[str, str, bytes]:
        """The apiVersion and kind that a body names, each possibly empty, and its content.

        Raises:
            ValueError: The body is no envelope.
        """
        ...

    def decode(self, kind: str, content: bytes) -> Obj:
        """The object in ``content``, without apiVersion and kind.

        Raises:
            ValueError: The content cannot be read, or ``kind`` is unknown.
        """
        ...

    def encode(self, obj: Obj) -> bytes:
        """A valid object in its envelope."""
        ...

    def encode_list(self, head: Obj, kind: str, items: Iterable[Obj]) -> bytes:
        """A list in its envelope. ``head``: its apiVersion, kind and metadata; ``kind``: of its items."""
        ...


class PatchType(Protocol):
    """Applies patches of one media type."""

    def apply(self, obj: Obj, patch: bytes, schema: Any, *, kind: str, api_version: str, mode: Any) -> Any:
        """``obj`` after ``patch``; ``obj`` stays as it is.

        Args:
            obj: The live object.
            patch: The request's body.
            schema: The :class:`extapi.schema.structural.Structural` of the version.
            kind: Of the endpoint.
            api_version: Of the endpoint.
            mode: The :data:`extapi.codec.options.Validation` of the request: what becomes of duplicate fields.

        Returns:
            The :class:`extapi.codec.patches.Patched` object.

        Raises:
            ApiError: The patch is none, or does not fit the object.
        """
        ...


def _quick(obj: Obj) -> bool:
    del obj
    return False


def _unchanged(_: Obj) -> None:
    pass


def _nothing_unknown(_: Obj) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Which requests reach a verb, and how the others are refused.

    kube-apiserver has a route for each path and method of a built-in kind; all requests for custom resources reach one
    handler, which looks for the object first. Source: ``apiextensions-apiserver/pkg/apiserver/customresource_handler.go``;
    for built-in kinds ``apiserver/pkg/endpoints/installer.go``.
    """

    without: frozenset[str] = frozenset()
    """Verbs that the kind lacks though its storage has them, such as deletecollection of namespaces."""
    discovery_order: Sequence[str] = DISCOVERY_ORDER
    """All verbs, in the order in which discovery lists those of a resource."""
    first_subresources: Sequence[str] = ("status", "scale")
    """The subresources that discovery lists first; the others follow by name."""
    scope_before_method: bool = True
    """A path with a namespace too many or too few is 404 whatever the method; else 405 comes first."""
    create_by_name: bool = True
    """A POST to the path of an object is a create; else it is 405."""

    def discovered(self, verbs: Collection[str]) -> list[str]:
        """The verbs that discovery lists, of those that a resource has."""
        return [verb for verb in self.discovery_order if verb in verbs]

    def no_subresource(self, group: str, resource: str, name: str) -> NotFound:
        """The refusal of a subresource that does not exist (behaviour J38)."""
        return NotFound.named(resource, group, name)

    def no_verb(self, group: str, resource: str, verb: str) -> MethodNotAllowed:
        """The refusal of a verb that the resource does not have."""
        return MethodNotAllowed.on(resource, group, verb)


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """What a body has to say of its type.

    The decoder of custom resources knows no Go types: the body has to name its kind, and a wrong one is left to validation,
    which answers 422 (behaviour J24). Source: ``customresource_handler.go`` schemaCoercingDecoder; for built-in kinds
    ``apimachinery/pkg/runtime/serializer`` json and protobuf.
    """

    read: Callable[[Obj], list[str]] = _nothing_unknown
    """Reads, in place, parts of an object that its schema leaves open: returns the paths of their unknown fields, and raises
    :class:`BadRequest` if a value has a wrong type."""
    complete: Callable[[Obj], None] = _unchanged
    """Completes what a client sent, in place, before anybody is said to manage it: what Go's ``SetDefaults`` functions and
    conversions do beyond the defaults of a schema. The object may break its schema."""
    knows_empty_managed_fields: bool = False
    """``managedFields: []`` asks to forget all managers, as ``[{}]`` does; of a custom resource it is the same as none."""
    drops_applied_metadata: bool = True
    """What fits the schema of metadata, but cannot be read, such as a time that is none, is dropped when it is applied: only
    the store reads it, as it reads old objects (observed on 1.36.3). An object of a Go type is refused."""
    lenient_about_kind: bool = True
    """With ``fieldValidation=Ignore``, errors name the endpoint's kind where the body names none."""

    def typed(self, value: Any, kind: str, group_version: str) -> Any:
        """The decoded body, with what it does not say of its type; ``kind`` and ``group_version``: of the endpoint."""
        del kind, group_version
        return value

    def wrong_type(self, kind: str, api_version: str, wanted: str, group_version: str) -> str:
        """Why a body of this type is refused at once; the empty string: it is not."""
        del kind, api_version, wanted, group_version
        return ""

    def refusal(self, error: BadRequest) -> BadRequest:
        """The error for a body that cannot be decoded, or is refused as it is."""
        return error

    def wrong_patched_type(self, kind: str, api_version: str, wanted: str, group_version: str) -> str:
        """The same for the object that a patch has led to."""
        del kind, api_version, wanted, group_version
        return ""


@dataclass(frozen=True, kw_only=True)
class StoredAs:
    """The objects of a kind are stored as those of another: one storage, seen in two groups.

    Both functions take a whole object and give all but its type and metadata, which the server carries over.
    """

    group: str
    kind: str
    """The other kind, which has one version."""
    write: Callable[[Obj], Obj]
    """Makes an object of this kind, in its stored version, one of the other."""
    read: Callable[[Obj], Obj]
    """The reverse."""


@dataclass(frozen=True, kw_only=True)
class Storing:
    """The rules of writing an object, beside those of :class:`extapi.api.strategy.Strategy`.

    Source: ``apiextensions-apiserver/pkg/registry/customresource/strategy.go``; for built-in kinds the strategy of each in
    ``kubernetes/pkg/registry``.
    """

    names: NameRule = object_name
    """What is wrong with a name."""
    generation: bool = True
    """Count ``metadata.generation`` (behaviour J27)."""
    unconditional_update: bool = False
    """An update without resourceVersion replaces whatever is there (``AllowUnconditionalUpdate``, behaviour E40)."""
    subresource_metadata: bool = False
    """A write of ``status``, or of another part, may change labels, annotations, finalizers and owners too (behaviour E73)."""
    zero: Obj = field(default_factory=dict)
    """What an object of the Go type says even if nothing of it is set, such as ``spec: {}``: nobody manages that."""
    canonicalize: Callable[[Obj], None] = _unchanged
    """Completes an object in place at every write, those of its parts included (``Canonicalize``)."""
    is_slow: Callable[[Obj], bool] = _quick
    """Whether to run the strategy's ``validate`` and ``warn`` on an object takes so long that a thread does it."""
    propagates: bool = True
    """A delete may wait for dependents, or release them (``DefaultGarbageCollectionPolicy`` is not ``Unsupported``, behaviour
    E52). Without, the policy and its finalizers are dropped: nobody follows the kind's objects."""
    stored_as: StoredAs | None = None
    """The kind whose storage this one shares: events of ``events.k8s.io`` are those of the core group."""

    def finalizer_errors(self, obj: Obj) -> Sequence[FieldError]:
        """Errors about unqualified finalizers; for custom resources they are warnings (behaviour J28)."""
        del obj
        return ()


@dataclass(frozen=True, kw_only=True)
class Selecting:
    """Which fields field selectors can name, beside ``Kind.selectable`` (behaviour E34).

    Source: ``customresource.GetAttrs``; for built-in kinds ``AddFieldLabelConversionFunc`` of each version.
    """

    computed: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    """Fields that are computed from the whole object, such as the source of an event."""

    def common(self, own: Sequence[str], *, namespaced: bool) -> tuple[str, ...]:
        """The fields of metadata; ``own``: the kind's further fields."""
        del own
        return COMMON_FIELDS if namespaced else COMMON_FIELDS[:1]

    def refusal(self, key: str, fields: Sequence[str]) -> str:
        """The text for a field that is none of ``fields``."""
        del fields
        return f"field label not supported: {key}"


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What answers look like."""

    returns_deleted: bool = False
    """A delete answers with the object that is gone, not with a Status (``ReturnDeletedObject``)."""
    type_first: bool = False
    """An object begins with apiVersion, kind and metadata, as one of a Go type does; else all members are sorted."""
    table_needs_get: bool = False
    """Only a resource that can be read is shown as a table; a review is not (``rest.TableConvertor``)."""

    def list_metadata(self, metadata: Obj) -> Obj:
        """The metadata of a list. That of custom resources always has ``continue`` (observed on 1.36.3)."""
        return {"continue": "", **metadata}

    def list_items(self, items: list[bytes], kind: str, api_version: str) -> list[bytes]:
        """The items of a list in JSON. Those of custom resources say what they are."""
        del kind, api_version
        return items

    def list_item(self, obj: Obj) -> Obj:
        """The same for one item, decoded."""
        return obj


@dataclass(frozen=True, kw_only=True)
class OpenAPIRules:
    """How the OpenAPI documents describe a kind.

    Source: ``apiextensions-apiserver/pkg/controller/openapi/builder``; for built-in kinds ``k8s.io/kube-openapi`` and
    ``apiserver/pkg/endpoints/installer.go``.
    """

    body_types: tuple[str, ...] = ("application/json", "application/yaml")
    """The media types of bodies other than patches."""
    patch_codes: tuple[int, ...] = (200,)
    """The codes of a successful patch. One of a built-in kind may create an object, by server-side apply."""
    get_resource_version: bool = True
    """A GET of an object has the parameter ``resourceVersion``."""
    deletecollection_options: bool = False
    """A deletecollection has the parameters of a delete, and a body; else those of a list, and none."""
    selectable_fields: bool = True
    """``x-kubernetes-selectable-fields`` is published."""

    def model_name(self, group: str, version: str, kind: str) -> str:
        """The name of a kind's schema, such as ``com.example.stable.v1.CronTab``; in the core group that of Kubernetes."""
        return ".".join([*reversed(group.split(".")), version, kind]) if group else f"io.k8s.api.core.{version}.{kind}"

    def operation_group(self, group: str) -> str:
        """The part of the group's name that ids of operations contain."""
        return group.removesuffix(".k8s.io")

    def complete(self, schema: Obj, reference: Callable[[str, str], Obj]) -> Mapping[str, Obj]:
        """Complete the schema of the kind as it is published, in place, with what structural schemas cannot say.

        Args:
            schema: The schema.
            reference: Makes a reference to a schema, given its name and a description.

        Returns:
            Further schemas that it refers to, by name.
        """
        del schema, reference
        return {}


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Answers every question that has one answer for custom resources and another one for a built-in kind."""

    defined: bool = False
    """A CustomResourceDefinition declares the kind. It has been validated as such, so that no rule for authors applies."""
    routing: Routing = Routing()
    decoding: Decoding = Decoding()
    protobuf: Serializer | None = None
    """Reads and writes whole objects in protobuf; None: only metadata is written in it, and other requests are 406 and 415."""
    patch_types: Mapping[str, PatchType] = field(default_factory=dict)
    """Patches beside JSON patches and merge patches, by media type."""
    converter: Any = None
    """The :class:`extapi.conversion.converter.Converter` of a kind whose versions differ and that has no hub; it may wait.
    None: an author's functions convert, or only ``apiVersion`` differs."""
    storing: Storing = Storing()
    selecting: Selecting = Selecting()
    answering: Answering = Answering()
    openapi: OpenAPIRules = OpenAPIRules()


CUSTOM_RESOURCE: Final = Behaviour()
"""What a custom resource does, and with it every kind of an author."""
