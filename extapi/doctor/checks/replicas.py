"""``storage.replicas``: whether a server may store objects beside the others on its store, as it says itself. Pure.

Two releases of an API that cannot read what the other one stores do not run side by side: the one that comes later is not ready
(:mod:`extapi.server.replicas`).
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.doctor.facts import Facts
from extapi.doctor.finding import Finding, error, ok

CHECK = "storage.replicas"
_WELL, _ILL = "[+]replicas ok: ", "[-]replicas failed: "
"""The beginnings of lines of ``/readyz?verbose``, of a server whose store may be shared."""


def replicas(facts: Facts) -> Iterator[Finding]:
    """What servers say of themselves; those without a shared store say nothing."""
    for reference, all_served in facts.served.items():
        subject = f"Service {reference.namespace}/{reference.name}"
        for served in all_served:
            for line in served.readiness.splitlines():
                if line.startswith(_WELL):
                    yield ok(CHECK, subject, f"{served.address} is {line.removeprefix(_WELL)}")
                elif line.startswith(_ILL):
                    yield error(
                        CHECK,
                        subject,
                        saw=f"{served.address} says at /readyz: {line.removeprefix(_ILL)}",
                        wrong="this server is not ready, and stores nothing: clients would be shown errors by one server or another",
                        do="deploy releases in this order: one that has the new version, then, when all servers are of that one, "
                        "one that stores it",
                    )
