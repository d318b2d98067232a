"""``apiservice.available``: the condition that kube-aggregator reports for each APIService, explained. Pure.

Source of the reasons: k8s.io/kube-aggregator/pkg/controllers/status (behaviour D3).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from extapi.doctor.accounts import selector_of
from extapi.doctor.checks.pods import logs, port_field
from extapi.doctor.checks.probefailures import Cause, cause_of
from extapi.doctor.checks.proxies import questions
from extapi.doctor.duration import spell
from extapi.doctor.facts import Facts
from extapi.doctor.finding import Finding, error, ok, unknown
from extapi.doctor.registration import RegisteredService, Registration, ReportedCondition

CHECK = "apiservice.available"
CONSEQUENCE = "Meanwhile its requests get 503, and no namespace of the cluster can be deleted."
NEW = dt.timedelta(minutes=1)
"""A condition appears within seconds; kube-aggregator checks again every 30."""

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
        "the Service has no EndpointSlice: {slices_missing}",
        "kubectl get endpointslices -n {namespace} -l kubernetes.io/service-name={service}; {slices_made}",
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
    """One finding per APIService."""
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
    told = explained(known, each, facts)
    return error(CHECK, each.subject, saw=saw, wrong=f"{told.wrong}. {CONSEQUENCE}", do=told.do)


def explained(cause: Cause, each: Registration, facts: Facts) -> Cause:
    """The cause with what is known of this APIService."""
    reference = each.service
    missing, made = _slices(facts, reference) if reference else ("", "")
    values = {
        "name": each.name,
        "namespace": reference.namespace if reference else "",
        "service": reference.name if reference else "",
        "port": reference.port if reference else "",
        "host": reference.host if reference else "",
        "logs": logs(facts, reference) if reference else "",
        "port_field": port_field(facts, reference) if reference else "",
        "proxies": questions(facts),
        "slices_missing": missing,
        "slices_made": made,
    }
    return Cause(cause.wrong.format(**values), cause.do.format(**values))


def _slices(facts: Facts, reference: RegisteredService) -> tuple[str, str]:
    """Why a Service has no EndpointSlice, and what would create one."""
    found = facts.services.get((reference.namespace, reference.name))
    select = "give the Service the labels of the server's pods as spec.selector"
    run = "look at kube-controller-manager, which makes them, and at its log"
    if found is None or not found.service.found:
        return (
            "it has no spec.selector, or kube-controller-manager does not run",
            f"without a spec.selector, {select}; with one, {run}",
        )
    selector = selector_of(found.service.obj())
    if not selector:
        return "it has no spec.selector, and nobody made one by hand", select
    labels = ",".join(f"{key}={value}" for key, value in selector.items())
    return f"its spec.selector is {labels}, and kube-controller-manager has made none", run


def _without(each: Registration, now: dt.datetime) -> Finding:
    """kube-aggregator also sets no condition if it cannot use the caBundle; only its log says so."""
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


def _since(found: ReportedCondition, now: dt.datetime) -> str:
    return f" for {spell(now - found.since)}" if found.since else ""
