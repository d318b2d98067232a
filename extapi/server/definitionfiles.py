"""``--crd``: definitions in files and folders as a source of kinds, followed while the server runs.

A manifest with errors changes nothing: what was served of it is served still, and operators are told by the log, by metrics and by
``/readyz?verbose``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from twisted.python.failure import Failure

from extapi.crd.files import DefinitionFiles, FoundKinds, Stamps
from extapi.server.exposition import Family
from extapi.server.health import NamedCheck
from extapi.server.kindsources import KindSources, OfferedKind
from extapi.server.reloadmetrics import Reloads
from extapi.server.settled import SettledFiles
from extapi.server.structuredlog import structlog
from extapi.storage.base import Unavailable

INTERVAL: Final = 0.5
"""Seconds between two looks at the files."""
SOURCE: Final = "files"
"""The name of the source."""


class DefinitionsError(Exception):
    """Files that were named one by one have errors, so that the server does not start; with a line per problem."""


class FollowedFiles:
    """Offers the kinds of files to a server, first when it starts; a startable among its ``builtin``.

    Args:
        files: The files.
        clock: The reactor.
    """

    def __init__(self, files: DefinitionFiles, clock: Any) -> None:
        self._files = files
        self._log = structlog.get_logger("extapi.server")
        self._sources: KindSources | None = None
        self._problems: list[str] = []
        self.reloads = Reloads(SOURCE, clock)
        """What has come of changes of the files."""
        self._followed: SettledFiles[Stamps] = SettledFiles(files.look, self._offer, self._failed, clock)
        self.health = NamedCheck("custom-resource-definitions", self._missing, frozenset({"readyz"}), self._note)
        """Not ready before the first kinds are served."""

    def serve_through(self, sources: KindSources) -> None:
        """Say who serves the kinds; before :meth:`start`."""
        self._sources = sources

    async def start(self, context: Any) -> None:
        """Serve what the files say, and follow them.

        Raises:
            DefinitionsError: A file that was named itself has errors. Those in a folder keep no other from being served: who
                puts a file there may be somebody else than who starts the server.
        """
        del context
        await self._offer(self._files.look(), first=True)
        self._followed.start(INTERVAL)

    def stop(self) -> None:
        """Follow them no more."""
        self._followed.stop()

    def _missing(self) -> str | None:
        return None if self._followed.known is not None else "the definitions of --crd are not served yet"

    def _note(self) -> str:
        count = len(self._problems)
        return (
            f"{count} {'problem' if count == 1 else 'problems'} with manifests of --crd: see the log" if count else ""
        )

    def families(self) -> Iterator[Family]:
        """What metrics say of the files, besides :attr:`reloads`."""
        yield Family(
            "extapi_definition_problems",
            "gauge",
            "Number of problems with manifests of --crd: what they are about is not served as it is written.",
            (),
            [((), len(self._problems))],
        )

    async def _offer(self, stamps: Stamps, *, first: bool = False) -> None:
        """Read the files and serve what they say; ``stamps``: their state before.

        Raises:
            DefinitionsError: It is the first time, and files that were named have errors.
            Unavailable: Nothing can be served now; the next look tries again.
        """
        assert self._sources is not None  # noqa: S101 -- the server that starts this has been told
        reading: FoundKinds = self._files.read()
        if first and reading.named_problems:
            raise DefinitionsError("\n".join(reading.named_problems))
        kinds = [OfferedKind(each.definition.group, each.kind, each.origin) for each in reading.kinds]
        refused = await self._sources.offer(SOURCE, kinds)
        self._followed.known = stamps
        problems = [*reading.problems, *(each.text() for each in refused)]
        for problem in problems:
            if problem not in self._problems:
                self._log.error("a definition is not served as it is written", problem=problem)
        self._problems = problems
        if not first:
            self.reloads.note(succeeded=not problems)
        self._log.info("serving definitions", kinds=len(kinds) - len(refused), problems=len(problems))

    def _failed(self, failure: Failure) -> None:
        if isinstance(failure.value, Unavailable):
            self._log.warning("definitions cannot be served now, trying again", reason=failure.getErrorMessage())
            return
        self.reloads.note(succeeded=False)
        self._followed.known = self._followed.seen  # whatever it is, it is not tried again before the files change
        self._log.error("definitions could not be read or served", reason=failure.getTraceback())
