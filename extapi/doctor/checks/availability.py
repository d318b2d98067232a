"""``apiservice.available``: what kube-aggregator says of each APIService, explained. Pure.

Source of the reasons: k8s.io/kube-aggregator/pkg/controllers/status (spec D3).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from extapi.doctor.checks.pods import logs, port_field
from extapi.doctor.checks.probefailures import Cause, cause_of
from extapi.doctor.duration import spell
from extapi.doctor.facts import Facts
from extapi.doctor.finding import Finding, error, ok, unknown
from extapi.doctor.registration import Condition, Registration

CHECK = "apiservice.available"
CONSEQUENCE = "Meanwhile its requests get 503, and no namespace of the cluster can be deleted."
NEW = dt.timedelta(minutes=1)
"""A condition is there within seconds; kube-aggregator looks again every 30."""

_CAUSES = {
    "ServiceNotFound": Cause(
        "spec.service names a Service that does not exist",
        "create the Service {service} in the namespace {namespace}, or correct spec.service: kubectl edit apiservice {name}",
    ),
    "ServiceAccessError": Cause(
        "kube-apiserver could not look up the Service in its own cache", "look at kube-apiserver's log, and at etcd"
    ),
    "ServicePortError": Cause(
        "the Service has no port {port}",
        "set spec.service.port of the APIService to a port of the Service: kubectl edit apiservice {name}; "
        "kubectl get service -n {namespace} {service} shows its ports",
    ),
    "EndpointsNotFound": Cause(
        "the Service has no EndpointSlice: it has no spec.selector, or kube-controller-manager does not run",
        "kubectl get endpointslices -n {namespace} -l kubernetes.io/service-name={service}; give the Service the labels of the "
        "server's pods as spec.selector",
    ),
    "EndpointsAccessError": Cause(
        "kube-apiserver could not look up the EndpointSlices in its own cache",
        "look at kube-apiserver's log, and at etcd",
    ),
    "MissingEndpoints": Cause(
        "no pod behind the Service is ready, or none has the port under the name that the Service gives it",
        "kubectl get pods -n {namespace} -o wide; kubectl describe endpointslices -n {namespace} -l "
        "kubernetes.io/service-name={service}",
    ),
}


def availability(facts: Facts) -> Iterator[Finding]:
    """One finding an APIService."""
    for each in facts.registrations:
        yield _judged(each, facts)


def _judged(each: Registration, facts: Facts) -> Finding:
    found = each.available
    if found is None:
        return _without(each, facts.now)
    saw = f"Available={found.status}{_since(found, facts.now)}, {found.reason}: {found.message}"
    if found.status == "True":
        return ok(CHECK, each.subject, saw)
    known = _CAUSES.get(found.reason)
    if known is None:
        known = cause_of(found.message)
    values = {
        "name": each.name,
        "namespace": each.service.namespace if each.service else "",
        "service": each.service.name if each.service else "",
        "port": each.service.port if each.service else "",
        "host": each.service.host if each.service else "",
        "logs": logs(facts, each.service) if each.service else "",
        "port_field": port_field(facts, each.service) if each.service else "",
    }
    wrong = f"{known.wrong.format(**values)}. {CONSEQUENCE}"
    return error(CHECK, each.subject, saw=saw, wrong=wrong, do=known.do.format(**values))


def _without(each: Registration, now: dt.datetime) -> Finding:
    """kube-aggregator also leaves the condition away where it cannot use the caBundle: it says so in its log alone."""
    if each.created is not None and now - each.created < NEW:
        return unknown(
            CHECK, each.subject, "it is new, and kube-apiserver has not looked at it yet", do="try again in a minute"
        )
    return error(
        CHECK,
        each.subject,
        saw="status has no condition Available",
        wrong=f"kube-apiserver has not probed it: its caBundle cannot be used, or the aggregator does not work. {CONSEQUENCE}",
        do="see certificate.bundle, then kube-apiserver's log",
    )


def _since(found: Condition, now: dt.datetime) -> str:
    return f" for {spell(now - found.since)}" if found.since else ""
