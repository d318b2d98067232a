"""APIServices: the server of each group and version. The aggregator writes their status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from extapi import CLUSTER, Column, Description, FieldError, Object, Strategy, Struct
from extapi.api.names import dns1035_label, dns1123_subdomain, path_segment
from extapi.api.types import Obj
from extapi.codec.gobytes import byte_count
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import (
    AGE,
    Base64,
    Conditions,
    Int32,
    Text,
    canonical,
    kind_of,
    part_of,
    port_problems,
    spelled,
)
from extapi.errors import go_quote


class ServiceReference(Struct):
    """The service that serves an API."""

    namespace: Annotated[Text, Description("The namespace of the service.")] = None
    name: Annotated[Text, Description("The name of the service.")] = None
    port: Annotated[Int32 | None, Description("The port of the service; by default 443.")] = None


class APIServiceSpec(Struct, rename=spelled):
    """The server of a group and version."""

    service: Annotated[ServiceReference | None, Description("Without it, this server itself serves the API.")] = None
    group: Annotated[Text, Description("The API group.")] = None
    version: Annotated[Text, Description("The version of the group.")] = None
    insecure_skip_tls_verify: Annotated[bool | None, Description("Do not verify the server's certificate.")] = None
    ca_bundle: Annotated[Base64 | None, Description("The authorities of the server's certificate: PEM in base64.")] = (
        None
    )
    group_priority_minimum: Annotated[Int32, Description("Groups with higher ones come first.")] = 0
    version_priority: Annotated[Int32, Description("Versions of the group with higher ones come first.")] = 0


class APIServiceStatus(Struct):
    """Whether the API is available."""

    conditions: Conditions = []


class APIService(Object):
    """A group and version, and the server that serves it. Its name is VERSION.GROUP."""

    spec: APIServiceSpec = APIServiceSpec()
    status: APIServiceStatus = APIServiceStatus()


class APIServiceStrategy(Strategy):
    """An APIService is named after its version and group, and says how to trust its server (behaviour D17)."""

    def prepare(self, obj: APIService, old: APIService | None) -> None:
        """Normalize the certificates."""
        del old
        obj.spec.ca_bundle = canonical("APIService", obj.spec.ca_bundle or "") or None

    def validate(self, obj: APIService, old: APIService | None) -> Iterable[FieldError]:
        """Check the name, the priorities and the trust, and the statuses of conditions.

        Source: ``kube-aggregator/pkg/apis/apiregistration/validation/validation.go`` ValidateAPIService.
        """
        del old
        spec, group, version = obj.spec, obj.spec.group or "", obj.spec.version or ""
        wanted = f"{version}.{group}"
        if obj.metadata.name != wanted and not path_segment(obj.metadata.name):
            why = f'must be `spec.version+"."+spec.group`: {go_quote(wanted)}'
            yield FieldError.invalid("metadata.name", obj.metadata.name, why)
        if not group and version != "v1":
            yield FieldError.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
        for problem in dns1123_subdomain(group) if group else ():
            yield FieldError.invalid("spec.group", group, problem)
        for problem in dns1035_label(version):
            yield FieldError.invalid("spec.version", version, problem)
        if not 0 < spec.group_priority_minimum <= 20000:
            why = "must be positive and less than 20000"
            yield FieldError.invalid("spec.groupPriorityMinimum", spec.group_priority_minimum, why)
        if not 0 < spec.version_priority <= 1000:
            why = "must be positive and less than 1000"
            yield FieldError.invalid("spec.versionPriority", spec.version_priority, why)
        yield from _broken_trust(spec)
        for index, condition in enumerate(obj.status.conditions):
            if condition.status not in {"True", "False", "Unknown"}:
                path = f"status.conditions[{index}].status"
                yield FieldError.not_supported(path, condition.status, ["True", "False", "Unknown"])


def _broken_trust(spec: APIServiceSpec) -> Iterable[FieldError]:
    """The rules of the service, and of how its certificate is verified."""
    bundle, insecure = spec.ca_bundle or "", bool(spec.insecure_skip_tls_verify)
    if spec.service is None:
        if bundle:
            why = "local APIServices may not have a caBundle"
            yield FieldError.invalid("spec.caBundle", f"{byte_count(bundle)} bytes", why)
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            yield FieldError.invalid("spec.insecureSkipTLSVerify", insecure, why)
        return
    if not spec.service.namespace:
        yield FieldError.required("spec.service.namespace")
    if not spec.service.name:
        yield FieldError.required("spec.service.name")
    port = spec.service.port or 0
    if problems := port_problems(port):
        yield FieldError.invalid("spec.service.port", port, f"port is not valid: {', '.join(problems)}")
    if insecure and bundle:
        yield FieldError.invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present")


def _service(obj: dict[str, Any]) -> str:
    service = obj["spec"].get("service")
    return "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"


def _available(obj: dict[str, Any]) -> str:
    """The cell Available: True, or another status with its reason."""
    for condition in obj.get("status", {}).get("conditions", ()):
        if condition["type"] == "Available":
            reason = "" if condition["status"] == "True" else condition.get("reason", "")
            return f"{condition['status']} ({reason})" if reason else str(condition["status"])
    return "Unknown"


def _complete(obj: Obj) -> None:
    """Fill in the port (``SetDefaults_ServiceReference``)."""
    service = part_of(obj, "spec").get("service")
    if isinstance(service, dict) and service.get("port") is None:
        service["port"] = 443


API_SERVICE = kind_of(
    APIService,
    scope=CLUSTER,
    categories=["api-extensions"],
    columns=[Column("Service", cell=_service), Column("Available", cell=_available), AGE],
    strategy=APIServiceStrategy(),
    behaviour=built_in(
        MESSAGES,
        names=path_segment,
        unconditional_update=False,
        qualified_finalizers=False,
        subresource_metadata=False,
        complete=_complete,
        zero={"spec": {"groupPriorityMinimum": 0, "versionPriority": 0}, "status": {}},
    ),
)
