"""``/metrics`` and ``/metrics/slis``: everything that an operator's monitoring may read (behaviour C27).

Asks the parts of the server for their figures when somebody reads them; in between nothing is done. Two servers in one process
share nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

from extapi.http.request import Request
from extapi.http.response import Response
from extapi.server.exposition import OPENMETRICS, TEXT, Family, exposition, wants_openmetrics
from extapi.server.processmetrics import process_families, python_families

Collect = Callable[[], Iterable[Family]]
Gather = Callable[[str, list[Family]], Awaitable[Iterable[Family]]]
"""Adds to the families of this process, for one of the paths, those of other processes that serve the same."""

PATHS = ("/metrics", "/metrics/slis")


class Metrics:
    """The two paths.

    Args:
        results: The results of health checks; see :attr:`extapi.server.health.Health.results`.
    """

    def __init__(self, results: Mapping[tuple[str, str], list[int]]) -> None:
        self._results = results
        self._collectors: list[Collect] = []
        self.gather: Gather | None = None
        """None: there are no other processes."""

    def add(self, collect: Collect) -> None:
        """Show the families that ``collect`` returns whenever it is asked, no two with the same name."""
        self._collectors.append(collect)

    def collect(self, path: str) -> Iterator[Family]:
        """What this process shows at one of the paths."""
        return self._slis() if path == "/metrics/slis" else self._all()

    async def answer(self, request: Request, path: str) -> Response:
        """The response for one of the paths."""
        families: Iterable[Family] = self.collect(path)
        if self.gather is not None:
            families = await self.gather(path, list(families))
        openmetrics = wants_openmetrics(request.header("accept"))
        body = exposition(families, openmetrics=openmetrics)
        return Response(200, [("Content-Type", OPENMETRICS if openmetrics else TEXT)], body)

    def _all(self) -> Iterator[Family]:
        for collect in self._collectors:
            yield from collect()
        yield from process_families()
        yield from python_families()

    def _slis(self) -> Iterator[Family]:
        """Source: ``k8s.io/component-base/metrics/prometheus/slis``."""
        yield Family(
            "kubernetes_healthcheck",
            "gauge",
            "This metric records the result of a single healthcheck.",
            ("name", "type"),
            ((names, last) for names, (_, _, last) in self._results.items()),
        )
        yield Family(
            "kubernetes_healthchecks_total",
            "counter",
            "This metric records the results of all healthcheck.",
            ("name", "type", "status"),
            (
                ((*names, status), count)
                for names, (passed, failed, _) in self._results.items()
                for status, count in (("success", passed), ("error", failed))
                if count
            ),
        )
