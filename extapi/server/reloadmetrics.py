"""How often what is served has been loaded anew, and whether the last time succeeded: for ``--crd`` and ``--reload``.

Names follow those of Kubernetes' own automatic reloads.

Source: ``k8s.io/apiserver/pkg/server/options/authenticationconfig/metrics``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from extapi.clock import Clock, wall_time
from extapi.server.exposition import Family


class Reloads:
    """The reloads of one source.

    Args:
        source: Its name.
        clock: The time.
    """

    def __init__(self, source: str, clock: Clock) -> None:
        self.source = source
        self._clock = clock
        self.counts = {"success": 0, "failure": 0}
        self.last: dict[str, float] = {}
        """When there was the last one, in seconds since the epoch, by how it ended."""

    def note(self, *, succeeded: bool) -> None:
        """One has ended."""
        status = "success" if succeeded else "failure"
        self.counts[status] += 1
        self.last[status] = wall_time(self._clock)


def reload_families(sources: Iterable[Reloads]) -> Iterator[Family]:
    """The families of all sources."""
    sources = list(sources)
    yield Family(
        "extapi_reloads_total",
        "counter",
        "Number of times that changed files were loaded, by source and status. A failure: something is not served as it is "
        "written; what was served of it before is served still.",
        ("source", "status"),
        [((each.source, status), count) for each in sources for status, count in each.counts.items()],
    )
    yield Family(
        "extapi_reload_last_timestamp_seconds",
        "gauge",
        "When changed files were loaded last, by source and status.",
        ("source", "status"),
        [((each.source, status), at) for each in sources for status, at in each.last.items()],
    )
