"""CustomResourceDefinitions: types for clients, rules of writing. :mod:`extapi.controlplane.customresources` serves what they declare.

Objects are dicts, which :mod:`extapi.crd.types` reads as Go would: their schemas refer to
themselves, and no Struct says which zeros were sent.

Source: ``apiextensions-apiserver/pkg/registry/customresourcedefinition`` strategy.go and etcd.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final

from extapi import (
    CLUSTER,
    Atomic,
    Description,
    FieldError,
    Kind,
    ListMap,
    Object,
    PreserveUnknown,
    Strategy,
    Struct,
    Version,
)
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.apiextensionsmessages import DEFINITIONS
from extapi.controlplane.kinds.apiextensionsopenapi import DefinitionOpenAPI
from extapi.controlplane.kinds.parts import CREATED_AT, Base64, ConditionStatus, Int32, Text, Time, spelled
from extapi.crd import validation
from extapi.crd.conditions import TERMINATING, DefinitionCondition, set_condition
from extapi.crd.defaults import set_defaults
from extapi.crd.gojson import GoTypeError
from extapi.crd.types import OLD_API_VERSION, read_definition
from extapi.errors import BadRequest
from extapi.schema.compile import compile_type

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until none of its objects is left."""
MOST_INLINE: Final = 1000
"""Values in a definition that is judged in the reactor's thread. A rule, the costliest of them, takes about 0.2 ms."""

PENDING: Final = DefinitionCondition(
    TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)

_Texts = Annotated[list[str], Atomic()]
_Schema = Annotated[dict[str, Any], PreserveUnknown()]


class Names(Struct):
    """The names under which a kind is served."""

    plural: Annotated[Text, Description("The resource in paths, in lower case.")] = None
    singular: Annotated[Text, Description("The name of one object, in lower case; by default that of the kind.")] = None
    short_names: Annotated[_Texts, Description("Short names for clients, such as kubectl get NAME.")] = []
    kind: Annotated[Text, Description("The kind of an object, in CamelCase.")] = None
    list_kind: Annotated[Text, Description("The kind of a list; by default the kind followed by List.")] = None
    categories: Annotated[_Texts, Description("Groups of resources to which this one belongs, such as all.")] = []


class ServiceReference(Struct):
    """The service of a webhook."""

    namespace: Annotated[Text, Description("The namespace of the service.")] = None
    name: Annotated[Text, Description("The name of the service.")] = None
    path: Annotated[Text, Description("The path of the URL.")] = None
    port: Annotated[Int32 | None, Description("The port of the service; by default 443.")] = None


class WebhookClientConfig(Struct, rename=spelled):
    """How a webhook is called: url or service."""

    url: Annotated[Text, Description("The address, which begins with https.")] = None
    service: Annotated[ServiceReference | None, Description("The service, if it runs in the cluster.")] = None
    ca_bundle: Annotated[Base64 | None, Description("The authorities of its certificate: PEM in base64.")] = None


class WebhookConversion(Struct):
    """The webhook that converts objects between versions."""

    client_config: Annotated[WebhookClientConfig | None, Description("How it is called.")] = None
    conversion_review_versions: Annotated[
        _Texts, Description("The versions of ConversionReview that it knows, best first.")
    ] = []


class Conversion(Struct):
    """How objects are converted between versions."""

    strategy: Annotated[Text, Description("None: only apiVersion changes. Webhook: a webhook converts.")] = None
    webhook: Annotated[WebhookConversion | None, Description("The webhook of the strategy Webhook.")] = None


class SelectableField(Struct):
    """A field that field selectors may name."""

    json_path: Annotated[Text, Description("A simple path of names, such as .spec.color.")] = None


class PrinterColumn(Struct):
    """A column of tables."""

    name: Annotated[Text, Description("The heading.")] = None
    type: Annotated[Text, Description("boolean, date, integer, number or string.")] = None
    format: Annotated[Text, Description("The OpenAPI format of its values.")] = None
    description: Annotated[Text, Description("What it shows.")] = None
    priority: Annotated[Int32 | None, Description("Columns above 0 are shown in wide tables only.")] = None
    json_path: Annotated[Text, Description("The path of the value in the object.")] = None


class Validation(Struct, rename={"schema": "openAPIV3Schema"}):
    """The schema of a version."""

    schema: Annotated[
        _Schema, Description("The OpenAPI v3 schema by which objects are validated, pruned and defaulted.")
    ] = {}


class StatusSubresource(Struct):
    """The status subresource. It has no settings."""


class ScaleSubresource(Struct):
    """The scale subresource: where it finds the numbers of replicas."""

    spec_replicas_path: Annotated[Text, Description("The path of the wanted number, below .spec.")] = None
    status_replicas_path: Annotated[Text, Description("The path of the actual number, below .status.")] = None
    label_selector_path: Annotated[Text, Description("The path of a label selector as text.")] = None


class Subresources(Struct):
    """The subresources of a version."""

    status: Annotated[StatusSubresource | None, Description("Serve the subresource status.")] = None
    scale: Annotated[ScaleSubresource | None, Description("Serve the subresource scale.")] = None


class DefinitionVersion(Struct):
    """One version of a kind."""

    name: Annotated[Text, Description("The name of the version, such as v1beta1.")] = None
    served: Annotated[bool | None, Description("Whether clients may use it.")] = None
    storage: Annotated[bool | None, Description("Whether objects are stored in it; true for exactly one.")] = None
    deprecated: Annotated[bool | None, Description("Whether clients are warned of it.")] = None
    deprecation_warning: Annotated[Text, Description("The text of the warning.")] = None
    schema: Annotated[Validation | None, Description("The schema of its objects.")] = None
    subresources: Annotated[Subresources | None, Description("Its subresources.")] = None
    additional_printer_columns: Annotated[
        list[PrinterColumn], Atomic(), Description("The columns of tables; by default the age.")
    ] = []
    selectable_fields: Annotated[
        list[SelectableField], Atomic(), Description("Fields that field selectors may name, at most 8.")
    ] = []


class DefinitionSpec(Struct):
    """The kind that is declared."""

    group: Annotated[Text, Description("The API group.")] = None
    names: Annotated[Names, Description("The names of the kind and its resource.")] = Names()
    scope: Annotated[Text, Description("Cluster or Namespaced.")] = None
    versions: Annotated[list[DefinitionVersion], Atomic(), Description("All versions of the kind.")] = []
    conversion: Annotated[Conversion | None, Description("How versions are converted; by default by None.")] = None
    preserve_unknown_fields: Annotated[bool | None, Description("Must be false; for old definitions only.")] = None


class StatusCondition(Struct):
    """One aspect of the state of a definition."""

    type: Annotated[str, Description("Established, NamesAccepted, Terminating or another aspect.")] = ""
    status: ConditionStatus = ""
    last_transition_time: Annotated[Time, Description("When the status changed last.")] = None
    reason: Annotated[Text, Description("Why, in one word for programs.")] = None
    message: Annotated[Text, Description("Why, for people.")] = None
    observed_generation: Annotated[int | None, Description("The generation that it is about.")] = None


class DefinitionStatus(Struct):
    """The state of a definition."""

    conditions: Annotated[list[StatusCondition], ListMap("type"), Description("Aspects of its state.")] = []
    accepted_names: Annotated[Names | None, Description("The names that are used.")] = None
    stored_versions: Annotated[_Texts, Description("All versions in which objects may be stored.")] = []
    observed_generation: Annotated[int | None, Description("The generation that was seen last.")] = None


class CustomResourceDefinition(Object):
    """Declares a kind, which is served while the definition is there. Its name is PLURAL.GROUP."""

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()


class CustomResourceDefinitionStrategy(Strategy):
    """The rules of writing a definition."""

    def prepare(self, obj: Obj, old: Obj | None) -> None:
        """Remember the storage version as one in which objects may be stored."""
        status = obj.setdefault("status", {})
        if old is None:
            status.clear()
        stored = status.get("storedVersions") or []
        new = [version["name"] for version in obj["spec"].get("versions", ()) if version.get("storage")][:1]
        status["storedVersions"] = [*stored, *(name for name in new if name not in stored)] or None

    def validate(self, obj: Obj, old: Obj | None) -> Iterable[FieldError]:
        """Check the definition, or its status."""
        if old is None:
            return validation.validate_create(obj)
        if _only_status(obj, old):
            return validation.validate_status_update(obj, old)
        return validation.validate_update(obj, old)

    def warn(self, obj: Obj, old: Obj | None) -> Iterable[str]:
        """Warn of formats that nobody knows, once."""
        return () if old is not None and _only_status(obj, old) else validation.warnings(obj, old)

    def prepare_for_deletion(self, obj: Obj) -> None:
        """Keep the definition until its objects are gone. Its generation does not change."""
        metadata = obj["metadata"]
        del metadata["deletionGracePeriodSeconds"]
        metadata["generation"] -= 1
        if CLEANUP not in metadata.get("finalizers", ()):
            metadata["finalizers"] = [*metadata.get("finalizers", ()), CLEANUP]
        set_condition(obj, PENDING, metadata["deletionTimestamp"])

    def blocks_deletion(self, obj: Obj) -> bool:
        """The first delete only marks the definition."""
        return "deletionTimestamp" not in obj["metadata"]


def _only_status(obj: Obj, old: Obj) -> bool:
    """Whether a write is one of the status: no other can change it, and it changes nothing else of the content."""
    return bool(obj["spec"] == old["spec"] and obj.get("status") != old.get("status"))


def _read(obj: Obj) -> list[str]:
    """Read an object as Go does, in place.

    Returns:
        The paths of unknown fields.

    Raises:
        BadRequest: A value has a wrong type.
    """
    metadata = obj["metadata"]
    try:
        read, unknown = read_definition(obj)
    except GoTypeError as error:
        raise BadRequest(str(error)) from None
    obj.clear()
    if read.get("apiVersion") == OLD_API_VERSION:  # it will be refused, and its members are not in the schema
        read = {name: read[name] for name in ("apiVersion", "kind")}
    obj.update(read, metadata=metadata)
    return unknown


def _is_large(obj: Obj) -> bool:
    """Whether a definition has more than :data:`MOST_INLINE` values."""
    left = MOST_INLINE
    waiting: list[Any] = [obj["spec"]]
    while waiting:
        value = waiting.pop()
        left -= len(value)
        if left < 0:
            return True
        members = value.values() if isinstance(value, dict) else value
        waiting.extend(each for each in members if isinstance(each, dict | list))
    return False


_NAMES: Final = {"plural": "", "kind": ""}

CUSTOM_RESOURCE_DEFINITION = Kind(
    "CustomResourceDefinition",
    versions={"v1": Version(compile_type(CustomResourceDefinition).to_openapi())},
    storage="v1",
    scope=CLUSTER,
    short_names=["crd", "crds"],
    categories=["api-extensions"],
    columns=[CREATED_AT],
    strategy=CustomResourceDefinitionStrategy(),
    behaviour=built_in(
        DEFINITIONS,
        registered=frozenset({OLD_API_VERSION}),
        read=_read,
        complete=set_defaults,
        openapi=DefinitionOpenAPI(),
        generation=True,
        is_slow=_is_large,
        propagates=False,
        unconditional_update=False,
        qualified_finalizers=False,
        zero={"spec": {"group": "", "names": _NAMES, "scope": ""}, "status": {"acceptedNames": _NAMES}},
    ),
)
