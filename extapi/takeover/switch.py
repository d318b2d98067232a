"""The switch from a definition to an extension server, step by step. Every step can be repeated, and finds out what is done.

1. Freeze: kube-apiserver refuses writes of the definition's objects.
2. Drain: the writes that it had accepted end; then a list shows the last state, and the store gets what it lacks of it.
3. The store is closed, and the server started on it: one process has a store of SQLite at a time.
4. The APIServices lead to the server, and reads through kube-apiserver show that they do.
5. Watches that are still open on the definition end, so that their clients come to the server; the freeze goes.

Which step is next follows from the APIServices, the freeze, and what the store remembers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.client.kube import Obj, ResourceName
from extapi.clock import sleep
from extapi.console.display import say
from extapi.console.failure import told
from extapi.errors import ApiError
from extapi.takeover import shell
from extapi.takeover.cluster import PASSING, Cluster
from extapi.takeover.copying import Copies
from extapi.takeover.draining import change, drain, restore
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.freeze import Freeze
from extapi.takeover.moved import MovedKind
from extapi.takeover.record import ImportRecord, changed_since, peek_record
from extapi.takeover.replica import MARGIN, together
from extapi.takeover.routing import Route

BY_HAND = "by hand"
"""The token of a freeze that is the operator's own matter."""
PROOFS = 3
"""How many reads in a row have to come from the new server: more than one kube-apiserver may answer."""
SECONDS = 60.0
"""How long the server may take to be available."""


@dataclass(frozen=True)
class Switch:
    """Everything that the switch, and its way back, need to know.

    Args:
        cluster: The cluster.
        kinds: What moves.
        path: The store's file.
        reactor: The reactor.
        settle: Seconds until every kube-apiserver has seen a change; nothing depends on it where there is only one.
        by_hand: Whether the operator has stopped all writers instead of a freeze.
    """

    cluster: Cluster
    kinds: Sequence[MovedKind]
    path: Path
    reactor: Any
    settle: float
    by_hand: bool = False

    @property
    def routes(self) -> list[Route]:
        """The versions that move."""
        pairs = [(kind.definition.group, each) for kind in self.kinds for each in kind.definition.served_versions]
        return [Route(*pair) for pair in dict.fromkeys(pairs)]

    async def moved(self) -> list[Route]:
        """The versions that have moved already."""
        return [route for route in self.routes if await route.is_moved(self.cluster)]

    def _freezes(self) -> list[Freeze]:
        return [Freeze(self.cluster, kind, settle=self.settle) for kind in self.kinds]

    async def is_complete(self) -> bool:
        """Whether the store has everything, and nothing can have been written since."""
        for kind, freeze in zip(self.kinds, self._freezes(), strict=True):
            record = peek_record(self.path, kind)
            if record is None or not record.freeze or record.definition != kind.uid:
                return False
            if record.freeze != (BY_HAND if self.by_hand else await freeze.token()):
                return False
        return True

    async def complete(self, copies: Copies) -> None:
        """Steps 1 and 2, on an open store that follows.

        Raises:
            TakeoverFailure: A step failed.
        """
        tokens = []
        for freeze in self._freezes():
            tokens.append(BY_HAND if self.by_hand else await freeze.begin())
            say(f"frozen: {freeze.kind.name} takes no writes")
        await sleep(self.reactor, self.settle)
        await copies.hold()
        await together(drain(self.cluster, kind) for kind in self.kinds)
        say("drained: all earlier writes have ended")
        count = await copies.complete(tokens)
        for freeze, token in zip(self._freezes(), tokens, strict=True):
            if not self.by_hand and await freeze.token() != token:
                raise TakeoverFailure(f"somebody has changed the freeze {freeze.name} meanwhile; run it again")
        say(f"complete: the store has all {count} objects")

    async def start(self, command: str) -> None:
        """Step 3: start the server. Returns when the command has ended.

        Raises:
            TakeoverFailure: It failed.
        """
        otherwise = "Writes are still refused. Start the server and run the same command again, or go back: extapi import --abort"
        await shell.command(self.reactor, "--start", command, otherwise)
        say("started: the command of --start has ended")

    async def move(self, services: Mapping[Route, Obj]) -> None:
        """Step 4: lead the versions to the server, and wait until it answers.

        Raises:
            TakeoverFailure: kube-apiserver refuses, or the server does not answer.
        """
        for route in self.routes:
            await route.move(self.cluster, services[route])
        await self._all_answered(moved=True)
        say(f"moved: {', '.join(route.name for route in self.routes)}; reads come from the new server")

    async def move_back(self) -> None:
        """Have kube-apiserver serve the definitions again.

        Raises:
            TakeoverFailure: It does not.
        """
        for route in self.routes:
            await route.move_back(self.cluster)
        await self._all_answered(moved=False)

    async def _all_answered(self, *, moved: bool) -> None:
        """Wait until every version is served by the extension server, or by kube-apiserver again."""
        records = [peek_record(self.path, kind) for kind in self.kinds]
        floor = min((record.floor for record in records if record is not None), default=MARGIN)
        for kind in self.kinds:
            group, plural = kind.definition.group, kind.definition.plural
            for version in kind.definition.served_versions:
                await self._answered(Route(group, version), ResourceName(group, version, plural), floor, moved=moved)

    async def _answered(self, route: Route, resource: ResourceName, floor: int, *, moved: bool) -> None:
        """Wait until reads come from the server, whose revisions are above ``floor``; or from the definition again."""
        in_a_row = 0

        async def missing() -> str | None:
            nonlocal in_a_row
            try:
                page = await self.cluster.client.list(resource, query={"limit": "1"})
            except PASSING as error:
                in_a_row = 0
                return await self._why(route, error)
            except ApiError as error:
                in_a_row = 0
                return f"{resource.path()}: {told(error)}"
            there = int(page["metadata"]["resourceVersion"]) >= floor
            in_a_row = in_a_row + 1 if there == moved else 0
            return None if in_a_row >= PROOFS else "not every answer comes from the right server yet"

        await self.cluster.until(
            missing,
            f"{route.name} to be served by {'the extension server' if moved else 'kube-apiserver'}",
            seconds=SECONDS,
            otherwise="Put the server right and run the same command again, or go back: extapi import --abort"
            if moved
            else "Run the same command again",
        )

    async def _why(self, route: Route, error: Exception) -> str:
        """What kube-apiserver says of the APIService, or the error."""
        live = await route.live(self.cluster)
        for condition in ((live or {}).get("status") or {}).get("conditions") or ():
            if condition["type"] == "Available" and condition["status"] != "True":
                return f"{route.name}: {condition.get('message', '')}"
        return told(error)

    async def finish(self, *, keep: bool) -> None:
        """Step 5. With ``keep``, the freeze stays: it holds for the definition alone.

        Raises:
            TakeoverFailure: The definition cannot be changed.
        """
        await sleep(self.reactor, self.settle)
        for kind in self.kinds:
            await change(self.cluster, kind)
        # kube-apiserver ends watches a second after that; two changes at once could look like none.
        await sleep(self.reactor, max(self.settle, 2.0))
        for kind in self.kinds:
            await restore(self.cluster, kind)
        if not keep:
            for freeze in self._freezes():
                await freeze.end()
        say("done: watches on the definition have ended" + (", the freeze stays" if keep else ", the freeze is gone"))

    async def abort(self) -> None:
        """The way back as long as nothing was written to the new server.

        Raises:
            TakeoverFailure: Something was written there, or a step failed.
        """
        records = {kind.name: peek_record(self.path, kind) for kind in self.kinds}
        moved = await self.moved()
        if moved:
            self._check_unwritten(records)
            await self.move_back()
            self._check_unwritten(records)
        for kind in self.kinds:
            await restore(self.cluster, kind)
        for freeze in self._freezes():
            await freeze.thaw()
        say("aborted: kube-apiserver serves the definitions, and takes writes")

    def _check_unwritten(self, records: Mapping[str, ImportRecord | None]) -> None:
        """Check that the store is as the import has left it.

        Raises:
            TakeoverFailure: It is not, or nobody knows.
        """
        for kind in self.kinds:
            record = records[kind.name]
            if record is None or not record.freeze:
                raise TakeoverFailure(
                    f"{self.path} has no complete import of {kind.name}, so that nobody knows what was written since; "
                    "name the server's store"
                )
            if written := changed_since(self.path, kind, record.revision):
                raise TakeoverFailure(
                    f"{kind.name}: {written} writes have reached the new server, and would be lost; extapi export takes them back"
                )
