"""The checks: pure functions from gathered facts to findings, in the order in which a request meets their subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from extapi.doctor.checks.authentication import authentication
from extapi.doctor.checks.availability import availability
from extapi.doctor.checks.certificates import certificates
from extapi.doctor.checks.clocks import clocks
from extapi.doctor.checks.deadlocks import deadlocks
from extapi.doctor.checks.discovery import discovery
from extapi.doctor.checks.etcds import etcds
from extapi.doctor.checks.namespaces import namespaces
from extapi.doctor.checks.openapi import openapi
from extapi.doctor.checks.replicas import replicas
from extapi.doctor.checks.rights import rights
from extapi.doctor.checks.services import services
from extapi.doctor.checks.storedversions import stored_versions
from extapi.doctor.checks.versions import versions
from extapi.doctor.checks.webhooks import webhooks
from extapi.doctor.facts import Facts
from extapi.doctor.finding import Finding, merged

CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    versions,
    availability,
    services,
    certificates,
    rights,
    authentication,
    clocks,
    discovery,
    openapi,
    namespaces,
    stored_versions,
    replicas,
    etcds,
    webhooks,
    deadlocks,
)


def judge(facts: Facts) -> list[Finding]:
    """Every finding, the worst first."""
    return merged(finding for check in CHECKS for finding in check(facts))
