"""The addresses of the server behind a Service, as far as the Service and its EndpointSlices tell. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from extapi.doctor.facts import Obj, ServiceFacts, member, objects, text
from extapi.doctor.registration import RegisteredService

Address = tuple[str, int]
"""Host and port."""
MOST = 3
"""Addresses per Service that are tried."""


def addresses_of(reference: RegisteredService, facts: ServiceFacts, *, in_cluster: bool) -> list[Address]:
    """Addresses in the order in which they are tried: the external name, or else ready endpoints and the cluster IP.

    ``in_cluster``: whether this is a pod. Elsewhere a cluster IP leads nowhere, or to an unrelated machine.
    """
    service = facts.service.obj()
    external = text(service, "spec", "externalName")
    if text(service, "spec", "type") == "ExternalName":
        return [(external, reference.port)] if external else []
    port = service_port(service, reference.port)
    found = [*ready_addresses(facts, text(port, "name"))]
    cluster_ip = text(service, "spec", "clusterIP")
    if in_cluster and port is not None and cluster_ip not in {"", "None"}:
        found = [*found[: MOST - 1], (cluster_ip, reference.port)]
    return found[:MOST]


def service_port(service: Obj, number: int) -> Obj | None:
    """The entry of ``spec.ports`` with that port number."""
    return next((each for each in objects(member(service, "spec", "ports")) if each.get("port") == number), None)


def ready_addresses(facts: ServiceFacts, port_name: str) -> Iterator[Address]:
    """The ready addresses of the EndpointSlices with the target port of ``port_name``.

    Counted as kube-aggregator does: an endpoint without conditions is ready (``hasAvailableEndpoint``).
    """
    for each in facts.slices.items() if facts.slices else ():
        for port in objects(each.get("ports")):
            number = port.get("port")
            if (port.get("name") or "") != port_name or not isinstance(number, int):
                continue
            for endpoint in objects(each.get("endpoints")):
                if member(endpoint, "conditions", "ready") is not False:
                    yield from ((str(address), number) for address in endpoint.get("addresses") or ())
