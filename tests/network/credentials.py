"""Credentials that change, fail or hang under a client that lists twice a second: how often it asks for them, and what its calls become.

As with :mod:`tests.network.scenarios`, what is right is what client-go does.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.network import programs
from tests.network.faultserver import Connection, FaultServer, Request
from tests.network.programs import Followed
from tests.network.scenarios import page, status

BURST = 20
"""Calls at once, in the beginning."""
BEFORE, AFTER = 2.0, 10.0
"""Seconds before something happens to the credentials, and after that."""


@dataclass(frozen=True)
class Case:
    """``plugin``: an exec plugin gives the token, or else a file; ``expires``: its tokens say when.

    ``refuse``: the server accepts the next token instead of the first; ``breaks``: the plugin fails or hangs from then on.
    """

    name: str
    plugin: bool = True
    expires: bool = False
    refuse: bool = False
    breaks: str = ""


CASES = (
    Case("the token in a file changes, the old one is refused", plugin=False, refuse=True),
    Case("a plugin's token without expiry is refused", refuse=True),
    Case("a plugin's token is good, and the plugin fails", expires=True, breaks="fail"),
    Case("a plugin's token is refused, and the plugin hangs", refuse=True, breaks="hang"),
)

_PLUGIN = """#!/bin/sh
echo run >>{here}/runs
if [ -e {here}/fail ]; then exit 1; fi
if [ -e {here}/hang ]; then exec sleep 60; fi
cat {here}/credential
"""


class Credential:
    """What one client is given, in a directory of its own."""

    def __init__(self, case: Case, here: Path) -> None:
        here.mkdir()
        self.good = "t1"
        self._case = case
        self._here = here
        (here / "runs").touch()
        (here / "plugin").write_text(_PLUGIN.format(here=here))
        (here / "plugin").chmod(0o700)
        self._write()

    @property
    def user(self) -> dict[str, Any]:
        """For a kubeconfig."""
        if not self._case.plugin:
            return {"tokenFile": str(self._here / "token")}
        version = "client.authentication.k8s.io/v1"
        return {"exec": {"apiVersion": version, "command": str(self._here / "plugin"), "interactiveMode": "Never"}}

    @property
    def runs(self) -> int:
        """How often the plugin was started."""
        return len((self._here / "runs").read_text().splitlines())

    def change(self) -> None:
        """What happens to it."""
        if self._case.refuse:
            self.good = "t2"
            self._write()
        if self._case.breaks:
            (self._here / self._case.breaks).touch()

    async def answer(self, request: Request, connection: Connection) -> None:
        """The server's answer to a list."""
        if request.authorization == f"Bearer {self.good}":
            await connection.reply(200, page([]))
        else:
            await connection.reply(401, json.dumps(status(401, "Unauthorized")))

    def _write(self) -> None:
        (self._here / "token").write_text(self.good)
        found = {"token": self.good}
        if self._case.expires:
            found["expirationTimestamp"] = (dt.datetime.now(dt.UTC) + dt.timedelta(minutes=4)).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
        credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": found}
        (self._here / "credential").write_text(json.dumps(credential))


@dataclass(frozen=True)
class Outcome:
    """Of one client: runs of its plugin; afterwards, calls that failed, of all that ended, and seconds of the longest."""

    runs: int
    failed: int
    calls: int
    longest: float

    def text(self) -> str:
        """As cells of the table."""
        return f"{self.runs} | {self.failed} of {self.calls} | {self.longest:.1f}"


HEAD = """| what happens | our plugin runs | calls that fail | longest, s | client-go's runs | calls that fail | longest, s |
|---|---|---|---|---|---|---|"""


async def compare(cases: Iterable[Case], directory: Path) -> dict[Case, tuple[Outcome, Outcome]]:
    """All of them at the same time; of each case what became of ours and of client-go's."""
    chosen = list(cases)
    async with contextlib.AsyncExitStack() as stack:
        given: list[list[Credential]] = []
        clients = []
        for who, command in (("ours", programs.ours()), ("theirs", programs.theirs())):
            credentials = [Credential(case, directory / f"{who}-{index}") for index, case in enumerate(chosen)]
            pairs = []
            for index, each in enumerate(credentials):
                server = await stack.enter_async_context(FaultServer(each.answer, directory))
                pairs.append(f"{index}={server.kubeconfig(f'{who}-{index}', each.user)}")
            given.append(credentials)
            running = programs.running(command, "calls", str(BURST), *pairs, log=directory / f"{who}-calls.log")
            clients.append(await stack.enter_async_context(running))
        async with asyncio.timeout(60):
            for program in clients:
                for index in range(len(chosen)):
                    await program.of(str(index)).called.wait()
        await asyncio.sleep(BEFORE)
        for program in clients:
            for known in program.known.values():
                known.calls.clear()
        for credentials in given:
            for each in credentials:
                each.change()
        await asyncio.sleep(AFTER)
        found = [
            [_outcome(each, program.of(str(index))) for index, each in enumerate(credentials)]
            for credentials, program in zip(given, clients, strict=True)
        ]
        return {case: (found[0][index], found[1][index]) for index, case in enumerate(chosen)}


def _outcome(credential: Credential, followed: Followed) -> Outcome:
    failed = sum(code != 200 for code, _ in followed.calls)
    return Outcome(
        credential.runs, failed, len(followed.calls), max((seconds for _, seconds in followed.calls), default=0.0)
    )
