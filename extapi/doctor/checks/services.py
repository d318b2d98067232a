"""``service.*``: the Service of an APIService or a webhook, its port, and what is behind it. Pure.

kube-aggregator checks ports and endpoints of ClusterIP Services only (behaviour D3), and connects to the ClusterIP, or with
``--enable-aggregator-routing`` to an endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.client.authority import authority
from extapi.doctor.accounts import deployments_behind, selector_of
from extapi.doctor.addresses import ready_addresses, service_port
from extapi.doctor.facts import Facts, NamedBy, Obj, ServiceFacts, member, objects, text
from extapi.doctor.finding import Finding, error, ok, unknown
from extapi.doctor.registration import RegisteredService

EXISTS, PORT, SELECTOR, ENDPOINTS = "service.exists", "service.port", "service.selector", "service.endpoints"


def services(facts: Facts) -> Iterator[Finding]:
    """Judge each Service once, and each port that an APIService or a webhook names once."""
    for reference, named in facts.references().items():
        found = facts.services[reference.namespace, reference.name]
        yield _exists(reference, found, named)
        if not found.service.found:
            continue
        service = found.service.obj()
        if text(service, "spec", "type") == "ExternalName":
            name = text(service, "spec", "externalName")
            saw = f"kube-apiserver connects to {name}:{reference.port}, without endpoints"
            yield ok(PORT, reference.subject, saw)
            continue
        yield from _port(reference, service, named)
        yield from _pods(reference, found, service)
        yield _endpoints(reference, found, service)


def _exists(reference: RegisteredService, found: ServiceFacts, named: NamedBy) -> Finding:
    if found.service.found:
        kind = text(found.service.obj(), "spec", "type") or "ClusterIP"
        return ok(EXISTS, reference.subject, f"there, of type {kind}")
    if found.service.status != 404:
        return unknown(EXISTS, reference.subject, found.service.why)
    return error(
        EXISTS,
        reference.subject,
        saw=found.service.text,
        wrong=f"{named.what} lead to a Service that does not exist",
        do=f"kubectl get services -n {reference.namespace}; create the Service, or correct {named.fields}",
    )


def _port(reference: RegisteredService, service: Obj, named: NamedBy) -> Iterator[Finding]:
    """Judge the port that the APIService or the webhook names."""
    ports = objects(member(service, "spec", "ports"))
    listed = ", ".join(f"{each.get('port')}{f' ({name})' if (name := text(each, 'name')) else ''}" for each in ports)
    found = service_port(service, reference.port)
    if found is None:
        yield error(
            PORT,
            reference.subject,
            saw=f"the {named.what} name port {reference.port}; the Service has {listed or 'none'}",
            wrong="kube-apiserver does not connect to a port that the Service does not have",
            do=f"set the port in {named.fields} to a port of the Service (it is the port's number, never its name)",
        )
    elif (protocol := text(found, "protocol") or "TCP") != "TCP":
        yield error(
            PORT,
            reference.subject,
            saw=f"port {reference.port} is of protocol {protocol}",
            wrong="kube-apiserver connects by TCP",
            do=f"set protocol of port {reference.port} of the Service to TCP",
        )
    else:
        yield ok(
            PORT,
            reference.subject,
            f"port {reference.port} leads to targetPort {found.get('targetPort', reference.port)}",
        )


def _pods(reference: RegisteredService, found: ServiceFacts, service: Obj) -> Iterator[Finding]:
    """Whether the Service selects pods, and whether they have its target port."""
    selector = selector_of(service)
    labels = ",".join(f"{key}={value}" for key, value in selector.items())
    if not selector:
        yield ok(SELECTOR, reference.subject, "no selector: something else makes its EndpointSlices")
        return
    if found.pods is None or not found.pods.found:
        yield unknown(SELECTOR, reference.subject, found.pods.why if found.pods else "the pods were not read")
        return
    pods = found.pods.items()
    if pods:
        yield from _target_port(reference, service, pods)
        return
    makers = ", ".join(f"Deployment {text(each, 'metadata', 'name')}" for each in deployments_behind(found))
    yield error(
        SELECTOR,
        reference.subject,
        saw=f"no pod in {reference.namespace} has the labels {labels}{f'; {makers} would make some' if makers else ''}",
        wrong="there is nothing behind the Service",
        do=f"kubectl describe deployments -n {reference.namespace} (scaled to 0, or its pods are refused?)"
        if makers
        else f"kubectl get pods -n {reference.namespace} --show-labels; let spec.selector be the labels of the server's pods",
    )


def _target_port(reference: RegisteredService, service: Obj, pods: list[Obj]) -> Iterator[Finding]:
    """A named targetPort must be the name of a container port; a number works even if it is not declared.

    Sidecars (init containers that keep running) count, too (k8s.io/endpointslice, ``FindPort``).
    """
    yield ok(SELECTOR, reference.subject, f"pods that it selects: {len(pods)}")
    target = (service_port(service, reference.port) or {}).get("targetPort")
    names = {
        text(port, "name")
        for pod in pods
        for kind in ("containers", "initContainers")
        for container in objects(member(pod, "spec", kind))
        if kind == "containers" or container.get("restartPolicy") == "Always"
        for port in objects(container.get("ports"))
    }
    if isinstance(target, str) and target not in names:
        yield error(
            PORT,
            reference.subject,
            saw=f"targetPort is {target!r}; the pods' containers have {', '.join(sorted(names - {''})) or 'no named ports'}",
            wrong="no port has that name, so the Service has no endpoints",
            do=f"give the port of --secure-port the name {target!r} in the pod's template, or name its number as targetPort",
        )


def _endpoints(reference: RegisteredService, found: ServiceFacts, service: Obj) -> Finding:
    if found.slices is None or not found.slices.found:
        return unknown(ENDPOINTS, reference.subject, found.slices.why if found.slices else "they were not read")
    slices = found.slices.items()
    where = f"-n {reference.namespace} -l kubernetes.io/service-name={reference.name}"
    if not slices:
        return error(
            ENDPOINTS,
            reference.subject,
            saw="no EndpointSlice",
            wrong="the Service leads nowhere: without a selector, nothing makes its EndpointSlices; with one, "
            "kube-controller-manager does",
            do=f"kubectl get endpointslices {where}; see service.selector",
        )
    port = service_port(service, reference.port)
    ready = [authority(*address) for address in ready_addresses(found, text(port, "name"))] if port else []
    total = sum(len(objects(each.get("endpoints"))) for each in slices)
    if ready:
        return ok(ENDPOINTS, reference.subject, f"{len(ready)} of {total} endpoints ready: {', '.join(ready[:5])}")
    if port is None:
        return unknown(ENDPOINTS, reference.subject, f"the Service has no port {reference.port}; see service.port")
    names = sorted({text(each, "name") for one in slices for each in objects(one.get("ports"))})
    return error(
        ENDPOINTS,
        reference.subject,
        saw=f"{total} endpoints, with ports named {', '.join(map(repr, names)) or 'nothing'}; none is ready with the name "
        f"{text(port, 'name')!r} of the Service's port",
        wrong="kube-apiserver has no address to connect to",
        do=f"kubectl describe endpointslices {where}; kubectl get pods -n {reference.namespace}: /readyz tells why one is not ready",
    )
