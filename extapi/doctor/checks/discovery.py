"""``discovery.*``: what clients learn about each version, and how long it takes. Pure.

kube-apiserver gives discovery 5 seconds (behaviour D8), and merges the documents of all servers (behaviour D12).
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.doctor.checks.availability import explained
from extapi.doctor.checks.pods import logs
from extapi.doctor.checks.probefailures import cause_of_status
from extapi.doctor.facts import ExpectedGroup, Facts, Reading, objects, text
from extapi.doctor.finding import Finding, error, ok, unknown, warning
from extapi.doctor.registration import RegisteredService, Registration

ANSWER, RESOURCES, AGGREGATED = "discovery.answer", "discovery.resources", "discovery.aggregated"
LIMIT = 5.0
"""Seconds after which kube-apiserver gives up."""
SLOW = LIMIT / 2
NOT_AVAILABLE = "kube-apiserver does not proxy to it while it is not Available; see apiservice.available"


def discovery(facts: Facts) -> Iterator[Finding]:
    """For each version its own document, the resources of the app that it lacks, and its entry in the merged document."""
    expected = {(group.name, version): group for group in facts.expected for version in group.versions}
    for each in facts.registrations:
        if each.service is None:
            continue
        reading = facts.discovery[each.name]
        yield _answer(each, each.service, reading, facts)
        if reading.found and (each.group, each.version) in expected:
            yield _resources(each, reading, expected[each.group, each.version])
        yield _aggregated(each, facts.aggregated)


def _answer(each: Registration, reference: RegisteredService, reading: Reading, facts: Facts) -> Finding:
    wanted = f"{each.group}/{each.version}"
    took = f"after {reading.seconds:.1f} s" if reading.seconds >= 0.1 else "at once"
    if not reading.found:
        if reading.status == 503 and not each.passes:
            return unknown(ANSWER, each.subject, NOT_AVAILABLE)
        if reading.status == 0 and reading.seconds < LIMIT:
            # We gave up, with a shorter --timeout, or the connection to kube-apiserver broke.
            return unknown(ANSWER, each.subject, reading.why)
        if reading.status in {503, 504} and reading.seconds < LIMIT:
            return error(
                ANSWER,
                each.subject,
                saw=f"{reading.why}, {took}",
                wrong="kube-apiserver cannot reach the server, or the server itself answers this; if it lasts, kube-apiserver will "
                "mark the version as unavailable",
                do=logs(facts, reference),
            )
        if reading.status in {0, 503, 504}:
            return error(
                ANSWER,
                each.subject,
                saw=f"{reading.why}, {took}",
                wrong=f"the server does not answer discovery within {LIMIT:g} seconds; kube-apiserver will mark it as unavailable",
                do="look at the server's log and load; discovery must not depend on anything slow",
            )
        if reading.status == 403:
            return unknown(ANSWER, each.subject, reading.why)
        cause = explained(cause_of_status(reading.status), each, facts)
        return error(
            ANSWER,
            each.subject,
            saw=f"{reading.status} to {reading.right}: {reading.text}",
            wrong=f"clients cannot find out what the version serves: {cause.wrong}",
            do=cause.do,
        )
    answered = reading.obj()
    if text(answered, "kind") != "APIResourceList" or text(answered, "groupVersion") != wanted:
        return error(
            ANSWER,
            each.subject,
            saw=f"kind {text(answered, 'kind')!r}, groupVersion {text(answered, 'groupVersion')!r}",
            wrong=f"clients expect an APIResourceList of {wanted}: the Service leads to another server, or the APIService "
            "names a version that this one does not have",
            do=f"kubectl get --raw /apis/{wanted}; correct spec.service, spec.group or spec.version of {each.name}",
        )
    if reading.seconds >= SLOW:
        return warning(
            ANSWER,
            each.subject,
            saw=f"an answer {took}",
            wrong=f"kube-apiserver gives up after {LIMIT:g} seconds, and then marks the version as unavailable",
            do="look at the server's log and load; discovery must not depend on anything slow",
        )
    return ok(ANSWER, each.subject, f"{', '.join(sorted(_names(reading))) or 'no resources'}, {took}")


def _resources(each: Registration, reading: Reading, group: ExpectedGroup) -> Finding:
    """Whether the running server has the resources of the app's version."""
    served = _names(reading)
    wanted = {kind.plural for kind in group.kinds if each.version in {*kind.versions} - {*kind.unserved}}
    if served == wanted:
        return ok(RESOURCES, each.subject, f"those of the app: {', '.join(sorted(wanted))}")
    missing, further = ", ".join(sorted(wanted - served)), ", ".join(sorted(served - wanted))
    return error(
        RESOURCES,
        each.subject,
        saw=f"the server has {', '.join(sorted(served)) or 'none'}; the app has {', '.join(sorted(wanted)) or 'none'}",
        wrong=f"the running server is of another version of the app: {missing or 'nothing'} missing, {further or 'nothing'} unknown",
        do="deploy the app again, or name the app that runs with --app",
    )


def _names(reading: Reading) -> set[str]:
    """The resources of a version, without their subresources."""
    names = {text(one, "name") for one in objects(reading.obj().get("resources"))}
    return {name for name in names if "/" not in name}


def _aggregated(each: Registration, aggregated: Reading) -> Finding:
    """The entry in ``/apis`` as kubectl asks for it."""
    if not aggregated.found:
        return unknown(AGGREGATED, each.subject, aggregated.why)
    if text(aggregated.obj(), "kind") != "APIGroupDiscoveryList":
        return unknown(AGGREGATED, each.subject, "this kube-apiserver has no aggregated discovery")
    for group in aggregated.items():
        if text(group, "metadata", "name") != each.group:
            continue
        for version in objects(group.get("versions")):
            if text(version, "version") != each.version:
                continue
            freshness = text(version, "freshness")
            if freshness == "Current":
                return ok(AGGREGATED, each.subject, "Current")
            return warning(
                AGGREGATED,
                each.subject,
                saw=f"freshness {freshness}",
                wrong="kube-apiserver could not read the server's discovery, so clients see the previous one; "
                "namespaces cannot be deleted",
                do="repair what apiservice.available and discovery.answer name; it is read again within a minute",
            )
    if not each.passes:
        return unknown(AGGREGATED, each.subject, NOT_AVAILABLE)
    return warning(
        AGGREGATED,
        each.subject,
        saw="the version is not in /apis",
        wrong="kubectl does not find its resources; kube-apiserver reads a new server's discovery within a minute",
        do="try again in a minute; then look at the server's answers to GET /apis in its log",
    )
