"""``openapi.*``: whether kube-apiserver publishes the schemas of each version. Pure.

kubectl explain and apply need v3; v2 of all servers is merged into one document (behaviour D14, D15).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from extapi.doctor.checks.discovery import NOT_AVAILABLE
from extapi.doctor.checks.pods import logs
from extapi.doctor.facts import Facts, Reading, member, objects
from extapi.doctor.finding import Finding, ok, unknown, warning
from extapi.doctor.registration import RegisteredService, Registration

V3, V2 = "openapi.v3", "openapi.v2"
_AGAIN = "try again in a minute; then look at the server's answers to GET /openapi/{} in its log"


class _Paths(msgspec.Struct):
    """Only the names of the paths, of a document of some megabytes."""

    paths: dict[str, msgspec.Raw] = {}


def openapi(facts: Facts) -> Iterator[Finding]:
    """Judge both documents of each version that serves anything."""
    merged = _merged(facts.openapi_v2)
    for each in facts.registrations:
        if each.service is None:
            continue
        reading = facts.discovery[each.name]
        if not reading.found:
            why = "see discovery.answer" if each.passes else NOT_AVAILABLE
            yield unknown(V3, each.subject, why)
            yield unknown(V2, each.subject, why)
        elif objects(reading.obj().get("resources")):
            yield _v3(each, each.service, facts)
            yield _v2(each, facts.openapi_v2, merged)


def _v3(each: Registration, reference: RegisteredService, facts: Facts) -> Finding:
    if not facts.openapi_v3.found:
        return unknown(V3, each.subject, facts.openapi_v3.why)
    document = facts.documents.get(each.name)
    if document is None:
        return warning(
            V3,
            each.subject,
            saw=f"/openapi/v3 does not list apis/{each.group}/{each.version}",
            wrong="kubectl can neither explain nor validate its kinds",
            do=_through_others(each, facts) or _AGAIN.format("v3"),
        )
    if document.over:
        return unknown(V3, each.subject, document.why)
    if not document.found:
        return warning(
            V3,
            each.subject,
            saw=document.why,
            wrong="kubectl can neither explain nor validate its kinds",
            do=_through_others(each, facts)
            or f"see the server's answers to GET /openapi/v3 in its log: {logs(facts, reference)}",
        )
    schemas = member(document.obj(), "components", "schemas")
    if not isinstance(schemas, dict) or not schemas:
        return warning(
            V3,
            each.subject,
            saw="a document without components.schemas",
            wrong="kubectl can neither explain nor validate its kinds",
            do="give the kinds schemas",
        )
    return ok(V3, each.subject, f"{len(schemas)} schemas")


def _through_others(each: Registration, facts: Facts) -> str:
    """The versions of the same server that are not available; empty if there are none.

    kube-apiserver takes all documents of a server through one of its APIServices (k8s.io/kube-aggregator/pkg/controllers/openapiv3).
    """
    away = [other.name for other in facts.registrations if other.service == each.service and not other.passes]
    if not away:
        return ""
    return f"see apiservice.available of {', '.join(away)}: kube-apiserver may ask the same server by way of it"


def _v2(each: Registration, reading: Reading, merged: list[str] | None) -> Finding:
    if merged is None:
        return unknown(
            V2, each.subject, reading.why if not reading.found else "/openapi/v2 is no document that can be read"
        )
    prefix = f"/apis/{each.group}/{each.version}/"
    found = [path for path in merged if path.startswith(prefix)]
    if found:
        return ok(V2, each.subject, f"{len(found)} paths in the merged document")
    return warning(
        V2,
        each.subject,
        saw=f"no path below {prefix} in /openapi/v2",
        wrong="clients that know OpenAPI v2 alone do not know its kinds",
        do=_AGAIN.format("v2"),
    )


def _merged(reading: Reading) -> list[str] | None:
    try:
        return list(msgspec.json.decode(reading.data, type=_Paths).paths) if reading.found else None
    except (msgspec.DecodeError, RecursionError):
        return None
