"""Services. There is no network here: they are only stored, and the aggregator reads their addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import ascii_lowercase, digits
from typing import Annotated, Any

from extapi import (
    Atomic,
    Column,
    Description,
    FieldError,
    IntOrString,
    ListMap,
    Object,
    Strategy,
    Struct,
)
from extapi.api.markers import MergeKey
from extapi.api.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import AGE, Int32, StatusCondition, Text, kind_of, port_problems, spelled

_EXPOSED = ("NodePort", "LoadBalancer")


class ServicePort(Struct):
    """A port that a service offers."""

    name: Annotated[Text, Description("Required and unique if the service has several ports.")] = None
    protocol: Annotated[str, Description("TCP, UDP or SCTP.")] = "TCP"
    app_protocol: Annotated[Text, Description("The protocol on the port, such as kubernetes.io/h2c.")] = None
    port: Annotated[Int32, Description("The number of the port.")] = 0
    target_port: Annotated[int | str | None, IntOrString(), Description("Number or name; by default port.")] = None
    node_port: Annotated[Int32 | None, Description("The port on each node; there are no nodes here.")] = None


class ClientIPConfig(Struct):
    """The duration of session affinity."""

    timeout_seconds: Annotated[Int32 | None, Description("The duration in seconds.")] = None


class SessionAffinityConfig(Struct, rename=spelled):
    """Settings of session affinity."""

    client_ip: ClientIPConfig | None = None


class ServiceSpec(Struct, rename=spelled):
    """The ports and addresses of a service."""

    ports: Annotated[list[ServicePort], ListMap("port", "protocol"), MergeKey("port"), Description("Its ports.")] = []
    selector: Annotated[dict[str, str], Atomic(), Description("Labels of the pods that serve it.")] = {}
    cluster_ip: Annotated[Text, Description("The address. None is allocated.")] = None
    cluster_ips: Annotated[list[str], Atomic(), Description("One address of each family.")] = []
    type: Annotated[str, Description("ExternalName, ClusterIP, NodePort or LoadBalancer.")] = "ClusterIP"
    external_ips: Annotated[list[str], Atomic(), Description("Further addresses of the service.")] = []
    session_affinity: Annotated[str, Description("ClientIP or None.")] = "None"
    load_balancer_ip: Annotated[Text, Description("Deprecated: the wanted address of a load balancer.")] = None
    load_balancer_source_ranges: Annotated[
        list[str], Atomic(), Description("Addresses of clients that may use the load balancer.")
    ] = []
    external_name: Annotated[Text, Description("The DNS name that an ExternalName service stands for.")] = None
    external_traffic_policy: Annotated[Text, Description("Cluster or Local: where traffic from outside goes.")] = None
    health_check_node_port: Annotated[Int32 | None, Description("The port of health checks on nodes.")] = None
    publish_not_ready_addresses: Annotated[bool | None, Description("Publish endpoints that are not ready.")] = None
    session_affinity_config: Annotated[SessionAffinityConfig | None, Description("Settings of session affinity.")] = (
        None
    )
    ip_families: Annotated[list[str], Atomic(), Description("IPv4, IPv6 or both.")] = []
    ip_family_policy: Annotated[Text, Description("SingleStack, PreferDualStack or RequireDualStack.")] = None
    allocate_load_balancer_node_ports: Annotated[
        bool | None, Description("Whether the load balancer gets ports on nodes.")
    ] = None
    load_balancer_class: Annotated[Text, Description("The implementation of the load balancer.")] = None
    internal_traffic_policy: Annotated[Text, Description("Cluster or Local: where traffic from inside goes.")] = None
    traffic_distribution: Annotated[Text, Description("Which endpoints are preferred.")] = None


class PortStatus(Struct):
    """A port of a load balancer."""

    port: Annotated[Int32, Description("The number of the port.")] = 0
    protocol: Annotated[str, Description("TCP, UDP or SCTP.")] = ""
    error: Annotated[Text, Description("The error of the port.")] = None


class LoadBalancerIngress(Struct):
    """An entry point of a load balancer."""

    ip: Annotated[Text, Description("The address, if there is one.")] = None
    hostname: Annotated[Text, Description("The DNS name, if there is one.")] = None
    ip_mode: Annotated[Text, Description("VIP or Proxy: how traffic to the address arrives.")] = None
    ports: Annotated[list[PortStatus], Atomic(), Description("Its ports.")] = []


class LoadBalancerStatus(Struct):
    """The load balancer of a service."""

    ingress: Annotated[list[LoadBalancerIngress], Atomic(), Description("Its entry points.")] = []


class ServiceCondition(StatusCondition):
    """One aspect of the state of a service."""

    observed_generation: Annotated[int | None, Description("The generation that the condition is about.")] = None


class ServiceStatus(Struct):
    """The state of a service."""

    load_balancer: LoadBalancerStatus | None = None
    conditions: Annotated[list[ServiceCondition], ListMap("type"), MergeKey("type"), Description("Its state.")] = []


class Service(Object):
    """A name for servers on the network."""

    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class ServiceStrategy(Strategy):
    """Defaults and rules of services, without those that need a network.

    Source: ``kubernetes/pkg/apis/core`` v1 SetDefaults_Service, validation validateService.
    """

    def prepare(self, obj: Service, old: Service | None) -> None:
        """Fill in defaults that depend on other fields, and drop fields that the type does not use."""
        obj.status.load_balancer = obj.status.load_balancer or LoadBalancerStatus()
        spec = obj.spec
        if spec.type == "ExternalName" and old is not None and spec.cluster_ips == old.spec.cluster_ips:
            spec.cluster_ip, spec.cluster_ips = None, []
        if spec.cluster_ip and (not spec.cluster_ips or (old is not None and spec.cluster_ips == old.spec.cluster_ips)):
            spec.cluster_ips = [spec.cluster_ip]
        exposed = spec.type in _EXPOSED or (spec.type == "ClusterIP" and bool(spec.external_ips))
        if not exposed and old is not None and spec.external_traffic_policy == old.spec.external_traffic_policy:
            spec.external_traffic_policy = None

    def warn(self, obj: Service, old: Service | None) -> Iterable[str]:
        """Warn of fields without effect in a service without an address.

        Source: ``kubernetes/pkg/api/service/warnings.go`` GetWarningsForService.
        """
        del old
        spec = obj.spec
        if spec.cluster_ips != ["None"] and spec.cluster_ip != "None":
            return
        if spec.load_balancer_ip:
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.external_ips:
            yield "spec.externalIPs is ignored for headless services"
        if spec.session_affinity != "None":
            yield "spec.SessionAffinity is ignored for headless services"

    def validate(self, obj: Service, old: Service | None) -> Iterable[FieldError]:
        """Check type, ports and policies."""
        del old
        spec = obj.spec
        if not spec.ports and spec.cluster_ips != ["None"] and spec.type != "ExternalName":
            yield FieldError.required("spec.ports")
        for key, value in spec.selector.items():
            yield from (FieldError.invalid("spec.selector", key, problem) for problem in qualified_name(key))
            yield from (FieldError.invalid("spec.selector", value, problem) for problem in label_value(value))
        if spec.type == "ExternalName":
            yield from _broken_external_name(spec)
        names: set[str] = set()
        for index, port in enumerate(spec.ports):
            path = f"spec.ports[{index}]"
            yield from _broken_port(port, path, names, named=len(spec.ports) > 1)
            if port.node_port and spec.type == "ClusterIP":
                yield FieldError.forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
        yield from _unknown("spec.sessionAffinity", spec.session_affinity, ["ClientIP", "None"])
        yield from _unknown("spec.type", spec.type, ["ClusterIP", "ExternalName", *sorted(_EXPOSED)])
        policies = ["Cluster", "Local"]
        yield from _unknown("spec.externalTrafficPolicy", spec.external_traffic_policy, policies)
        yield from _unknown("spec.internalTrafficPolicy", spec.internal_traffic_policy, policies)


def _unknown(path: str, value: str | None, known: list[str]) -> Iterator[FieldError]:
    if value and value not in known:
        yield FieldError.not_supported(path, value, known)


def _broken_external_name(spec: ServiceSpec) -> Iterator[FieldError]:
    """Errors of a service that is only a DNS name."""
    for name, value in (
        ("clusterIPs", spec.cluster_ips),
        ("ipFamilies", spec.ip_families),
        ("ipFamilyPolicy", spec.ip_family_policy),
    ):
        if value:
            yield FieldError.forbidden(f"spec.{name}", "may not be set for ExternalName services")
    name = (spec.external_name or "").removesuffix(".")
    if not name:
        yield FieldError.required("spec.externalName")
    for problem in dns1123_subdomain(name) if name else ():
        yield FieldError.invalid("spec.externalName", name, problem)


def _broken_port(port: ServicePort, path: str, names: set[str], *, named: bool) -> Iterator[FieldError]:
    """``validateServicePort``; ``names``: of the ports before, to which this one's is added."""
    if named and not port.name:
        yield FieldError.required(f"{path}.name")
    elif port.name:
        yield from (FieldError.invalid(f"{path}.name", port.name, problem) for problem in dns1123_label(port.name))
        if port.name in names:
            yield FieldError.duplicate(f"{path}.name", port.name)
        names.add(port.name)
    yield from (FieldError.invalid(f"{path}.port", port.port, problem) for problem in port_problems(port.port))
    yield from _unknown(f"{path}.protocol", port.protocol, ["SCTP", "TCP", "UDP"])
    target = port.target_port
    problems = _port_name_problems(target) if isinstance(target, str) else port_problems(target or 0)
    yield from (FieldError.invalid(f"{path}.targetPort", target, problem) for problem in problems)
    for problem in qualified_name(port.app_protocol) if port.app_protocol is not None else ():
        yield FieldError.invalid(f"{path}.appProtocol", port.app_protocol, problem)


_IN_PORT_NAME = f"-{ascii_lowercase}{digits}"


def _port_name_problems(name: str) -> list[str]:
    """What is wrong with the name of a port (``IsValidPortName``)."""
    rules = {
        "must be no more than 15 characters": len(name) <= 15,
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)": bool(name)
        and not name.strip(_IN_PORT_NAME),
        "must contain at least one letter (a-z)": not set(ascii_lowercase).isdisjoint(name),
        "must not contain consecutive hyphens": "--" not in name,
        "must not begin or end with a hyphen": name == name.strip("-"),
    }
    return [text for text, holds in rules.items() if not holds]


def _external(obj: dict[str, Any]) -> str:
    """The cell External-IP."""
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return str(spec.get("externalName", ""))
    points = obj.get("status", {}).get("loadBalancer", {}).get("ingress", ()) if spec["type"] == "LoadBalancer" else ()
    found = sorted({point.get("ip") or point.get("hostname", "") for point in points} - {""})
    none = "<pending>" if spec["type"] == "LoadBalancer" else "<none>"
    return ",".join([*found, *spec.get("externalIPs", ())]) or none


def _ports(obj: dict[str, Any]) -> str:
    """The cell Port(s)."""
    shown = (
        f"{each['port']}:{each['nodePort']}/{each['protocol']}"
        if each.get("nodePort")
        else f"{each['port']}/{each['protocol']}"
        for each in obj["spec"].get("ports", ())
    )
    return ",".join(shown) or "<none>"


def _selector(obj: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(obj["spec"].get("selector", {}).items())) or "<none>"


def _complete(obj: Obj) -> None:
    """Fill in defaults that depend on other fields (``SetDefaults_Service``)."""
    spec = obj.setdefault("spec", {})
    if not isinstance(spec, dict):
        return
    kind = spec["type"] = spec.get("type") or "ClusterIP"
    affinity = spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP" and not spec.get("sessionAffinityConfig"):
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    ports = spec.get("ports")
    for port in ports if isinstance(ports, list) else ():
        if isinstance(port, dict):
            port["protocol"] = port.get("protocol") or "TCP"
            port["targetPort"] = port.get("targetPort") or port.get("port", 0)
    if kind in ("ClusterIP", *_EXPOSED):
        spec["internalTrafficPolicy"] = spec.get("internalTrafficPolicy") or "Cluster"
    if kind in _EXPOSED or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True


SERVICE = kind_of(
    Service,
    short_names=["svc"],
    categories=["all"],
    columns=[
        Column("Type", ".spec.type"),
        Column("Cluster-IP", cell=lambda obj: obj["spec"].get("clusterIPs", ["<none>"])[0]),
        Column("External-IP", cell=_external),
        Column("Port(s)", cell=_ports),
        AGE,
        Column("Selector", cell=_selector, priority=1),
    ],
    strategy=ServiceStrategy(),
    selectable=[".spec.clusterIP", ".spec.type"],
    behaviour=built_in(
        MESSAGES,
        names=dns1123_label,
        returns_deleted=True,
        complete=_complete,
        zero={"spec": {}, "status": {"loadBalancer": {}}},
    ),
)
