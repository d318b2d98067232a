"""``--reload``: an author's modules are imported anew when their files change, and what comes of it is served.

What cannot be imported or served is logged, and the last good version goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.python.failure import Failure

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Api
from extapi.loading.authorscode import AuthorsCode
from extapi.loading.module import LoadingError, declared
from extapi.loading.modules import AuthorsModules, Reimport, Stamp
from extapi.registry.storedversions import UnknownStoredVersion
from extapi.server.plugins import NotStarted
from extapi.server.reloadmetrics import Reloads
from extapi.server.settled import SettledFiles
from extapi.server.structuredlog import structlog
from extapi.storage.base import Unavailable

INTERVAL = 0.1
"""Seconds between two looks at the files, of which there are few."""
FAILED = "the changed code is not served; the last good version is, until the files change again"


class Reloader:
    """Follows the files of an API that is served.

    Args:
        target: ``MODULE:NAME`` of the API.
        api: The API, as it is served.
        replace: Serves the first API in place of the second.
        clock: The reactor.
    """

    def __init__(
        self, target: str, api: Api, replace: Callable[[Api, Api], Coroutine[Any, Any, None]], clock: Any
    ) -> None:
        self.api = api
        """What is served now."""
        self.reloads = Reloads("modules", clock)
        """What has come of changes of the files."""
        self._target = target
        self._replace = replace
        self._log = structlog.get_logger("extapi.server")
        self._modules = AuthorsModules(target)
        self._followed: SettledFiles[Mapping[str, Stamp]] = SettledFiles(
            self._modules.look, self._reload, self._failed, clock
        )
        self._followed.known = self._modules.look()

    def start(self) -> None:
        """Begin to follow the files. A change since the object was made counts."""
        self._followed.start(INTERVAL)

    def stop(self) -> None:
        """Follow them no more."""
        self._followed.stop()

    async def _reload(self, found: Mapping[str, Stamp]) -> None:
        try:
            await self._import_and_serve()
        finally:
            # There may be files more or less now. Those that have changed meanwhile differ.
            self._followed.known = {path: found.get(path, stamp) for path, stamp in self._modules.look().items()}

    def _failed(self, failure: Failure) -> None:
        self.reloads.note(succeeded=False)
        self._log.error(FAILED, traceback=failure.getTraceback())

    async def _import_and_serve(self) -> None:
        began = time.perf_counter()
        try:
            reimport = self._modules.import_changed()
        except LoadingError as error:
            self._refuse(error.problems)
            return
        imported = time.perf_counter() - began
        if await self._serve(reimport):
            self.reloads.note(succeeded=True)
            seconds = time.perf_counter() - began
            self._log.info(f"reloaded {self._target}", importing=f"{imported:.2f} s", all=f"{seconds:.2f} s")

    async def _serve(self, reimport: Reimport) -> bool:
        """Serve what has been imported; whether that could be done."""
        api, before = reimport.api, self.api
        try:
            if api is not before:
                await self._replace(api, before)
        except BaseException as error:
            reimport.undo()
            if isinstance(error, CancelledError) or not isinstance(error, Exception):
                raise
            self._refuse(self._told(error))
            return False
        reimport.accept()
        self.api = api
        return True

    def _told(self, error: Exception) -> Sequence[str]:
        """Why an API that could be imported cannot be served."""
        if isinstance(error, DeclarationError):
            return [declared(problem, ()) for problem in error.problems]
        if isinstance(error, (NotStarted, UnknownStoredVersion, Unavailable)):
            return [str(error)]
        return [AuthorsCode.of(self._target).describe(error)]  # of a plugin

    def _refuse(self, problems: Sequence[str]) -> None:
        self.reloads.note(succeeded=False)
        self._log.error("\n".join([FAILED, *problems]))
