"""Which group versions of the extension server the control plane serves already, and what keeps the others.

Knows APIServices, aggregated discovery and the index of OpenAPI v3; knows nothing of processes and of time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from extapi.client.transport import TransportError
from extapi.dev.kube import KubeClient, KubeError
from extapi.dev.registration import APISERVICES, GroupVersions

SHOWN = 5
"""Names in a line of text."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Availability:
    """The group versions that have not answered yet. One that has is not asked again.

    Args:
        client: The administrator.
        groups: All groups and versions.
    """

    def __init__(self, client: KubeClient, groups: Sequence[GroupVersions]) -> None:
        self._client = client
        self._missing = {
            f"{version}.{group.group}": f"apis/{group.group}/{version}"
            for group in groups
            for version in group.versions
        }
        self._names = list(self._missing)
        self.all = len(self._missing)
        """How many there are."""
        self._answered: set[str] = set()

    @property
    def found(self) -> int:
        """How much is there: it grows when a version is available, answers, or has its schemas published."""
        return len(self._answered) + self.all - len(self._missing)

    def missing(self) -> str | None:
        """Why a version does not answer yet, and which others do not; None if all have.

        The condition could still be from an earlier run, so each version is asked, too. kube-apiserver publishes the schemas
        a moment later; without them kubectl can neither explain nor validate. At the end all versions have to be in discovery
        as it is then: those that were missed by a probe meanwhile are stale in it, and kubectl does not find their resources.
        """
        first = ""
        try:
            with self._client.kept() as client:
                if self._missing:
                    first = self._first_problem(client)
                if not self._missing:
                    return self._not_current(client.get("/apis", accept=_AGGREGATED))
        except (KubeError, TransportError) as error:
            first = f"{next(iter(self._missing), 'the control plane')}: {error}"
        others = [name for name in self._missing if not first.startswith(f"{name}: ")]
        return f"{first}; also missing: {shortened(others)}" if first and others else first or None

    def _first_problem(self, client: KubeClient) -> str:
        """Ask about all that are missing, and check off those that are not any more; what keeps the first of the rest."""
        first = ""
        services = {item["metadata"]["name"]: item for item in client.get(APISERVICES)["items"]}
        published = client.get("/openapi/v3")["paths"]
        for name in list(self._missing):
            problem = self._problem(client, name, services.get(name, {}), published)
            if problem is None:
                del self._missing[name]
            elif not first:
                first = f"{name}: {problem}"
        return first

    def _not_current(self, discovery: Mapping[str, Any]) -> str | None:
        """Which versions an APIGroupDiscoveryList has not, or not as they are now; None if it has all."""
        current = {
            f"{version['version']}.{group['metadata']['name']}"
            for group in discovery["items"]
            for version in group["versions"]
            if version.get("freshness") == "Current"
        }
        absent = [name for name in self._names if name not in current]
        return f"{shortened(absent)}: discovery does not show what is served yet" if absent else None

    def _problem(
        self, client: KubeClient, name: str, service: Mapping[str, Any], published: Collection[str]
    ) -> str | None:
        conditions = {each["type"]: each for each in (service.get("status") or {}).get("conditions") or ()}
        available = conditions.get("Available", {"status": "Unknown", "message": "it has not been checked yet"})
        if available["status"] != "True":
            return str(available.get("message"))
        path = self._missing[name]
        if name not in self._answered:
            try:
                client.request("GET", f"/{path}")
            except (KubeError, TransportError) as error:
                return str(error)
            self._answered.add(name)
        return None if path in published else "its schemas have not been published yet"


def shortened(names: Sequence[str]) -> str:
    """Names for a line of text: the first ones, and how many more there are."""
    more = len(names) - SHOWN
    return f"{', '.join(names[:SHOWN])} and {more} more" if more > 1 else ", ".join(names)
