"""Clients that follow the lines of the ledger as informers do: list, watch from there, and again when the watch has ended.

Each remembers what it was told, so that a test can hold it against what was written.
"""

# The annotations of the package kubernetes are incomplete.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import subprocess
import threading
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from kubernetes import client, config, watch
from urllib3.exceptions import HTTPError

from tests.kubernetes.ledger import GROUP, PLURAL, VERSION, lines_path
from tests.kubernetes.writing import Change
from tests.waiting import until

_PAUSE = 0.2
"""Seconds before a client tries again."""


class Refused(Exception):
    """The answer is none that events follow."""


class Follower:
    """What one client knows. ``view``: names and steps of what is there."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.view: dict[str, int] = {}
        self.revision = 0
        self.failure = ""

    def take(self, event: Mapping[str, Any]) -> None:
        """An event of a watch; none may come again, or before one that has been seen."""
        found = event["object"]
        if event["type"] not in {"ADDED", "MODIFIED", "DELETED"}:
            raise Refused(str(event))
        revision, name = int(found["metadata"]["resourceVersion"]), found["metadata"]["name"]
        if revision <= self.revision:
            self.failure = self.failure or f"{revision} after {self.revision}"
        self.revision = revision
        change = Change(event["type"], name, found["spec"]["step"])
        self.changes.append(change)
        if change.event == "DELETED":
            self.view.pop(name, None)
        else:
            self.view[name] = change.step


class Crowd(threading.Thread):
    """Many watches at once, each on a connection of its own, and each resumed after its last event when it ends."""

    def __init__(self, size: int, port: int, tls: ssl.SSLContext, namespace: str, *, after: int) -> None:
        """:param after: the resourceVersion that all begin at."""
        super().__init__(daemon=True)
        self.followers = [Follower() for _ in range(size)]
        for follower in self.followers:
            follower.revision = after
        self.open = 0
        """How many are being answered."""
        self.clean = 0
        """How many answers came to their proper end."""
        self._port = port
        self._tls = tls
        self._path = f"{lines_path(namespace)}?watch=1&resourceVersion="
        self._loop = asyncio.new_event_loop()
        self._all = self._loop.create_task(self._everybody())
        self._may = asyncio.Event()

    def run(self) -> None:
        """Follow until the end."""
        try:
            with contextlib.suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._all)
        finally:
            self._loop.close()

    @property
    def failures(self) -> set[str]:
        """What went wrong; an outage is nothing that went wrong."""
        return {each.failure for each in self.followers if each.failure}

    def hold(self) -> None:
        """Those whose watch ends wait until :meth:`go_on`: five hundred that try again at once are another test."""
        self._loop.call_soon_threadsafe(self._may.clear)

    def go_on(self) -> None:
        """Let them begin, or begin again."""
        self._loop.call_soon_threadsafe(self._may.set)

    def end(self) -> None:
        """End all of them."""
        if self.is_alive():
            self._loop.call_soon_threadsafe(self._all.cancel)
        self.join(30)
        assert not self.is_alive()

    async def _everybody(self) -> None:
        async with asyncio.TaskGroup() as group:
            for each in self.followers:
                group.create_task(self._follow(each))

    async def _follow(self, follower: Follower) -> None:
        while True:
            await self._may.wait()
            try:
                async with contextlib.aclosing(self._events(follower.revision)) as events:
                    async for event in events:
                        follower.take(event)
                self.clean += 1
            except (OSError, EOFError):
                await asyncio.sleep(_PAUSE)  # cut off, as by a server that was killed
            except Refused as refused:
                # Not there yet, as the aggregator says for a moment; another answer would mean that something is lost.
                if not str(refused).startswith("503"):
                    follower.failure = str(refused)
                    return
                await asyncio.sleep(_PAUSE)

    async def _events(self, after: int) -> AsyncGenerator[dict[str, Any], None]:
        """The events of one watch. Raises OSError or EOFError where it is cut off, Refused for other answers."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._port, ssl=self._tls, server_hostname="localhost"
        )
        try:
            writer.write(f"GET {self._path}{after} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            status = (await reader.readuntil(b"\r\n\r\n"))[9:12].decode()
            if status != "200":
                raise Refused(f"{status}: {await reader.read(4096)!r}")
            self.open += 1
            try:
                async for found in _lines(reader):
                    yield json.loads(found)
            finally:
                self.open -= 1
        finally:
            writer.transport.abort()


async def _lines(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    """The lines of a chunked body."""
    rest = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        *lines, rest = (rest + (await reader.readexactly(size + 2))[:-2]).split(b"\n")
        for found in lines:
            yield found
    if rest:
        raise Refused(f"it ended within a line: {rest!r}")


class PythonInformer(threading.Thread):
    """The loop that users of the package ``kubernetes`` write around its Watch."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        super().__init__(daemon=True)
        self.follower = Follower()
        self.lists = 0
        """How often it began anew."""
        self.expired = 0
        """How often it was told that it is too late to resume."""
        self._client = config.new_client_from_config(str(kubeconfig))
        self._where = (GROUP, VERSION, namespace, PLURAL)
        self._ended = threading.Event()

    def run(self) -> None:
        """Follow until the end."""
        with self._client:
            api = client.CustomObjectsApi(self._client)
            listed = False
            while not self._ended.is_set():
                try:
                    if not listed:
                        self._list(api)
                    listed = True
                    self._watch(api)
                except client.ApiException as error:
                    if error.status == 410:
                        self.expired += 1
                        listed = False
                    self._ended.wait(_PAUSE)
                except (OSError, HTTPError):
                    self._ended.wait(_PAUSE)

    def end(self) -> None:
        """Make it end, and wait until it has."""
        self._ended.set()
        self.join(30)
        assert not self.is_alive()
        assert not self.follower.failure

    def _list(self, api: Any) -> None:
        found = api.list_namespaced_custom_object(*self._where)
        self.lists += 1
        steps = {item["metadata"]["name"]: item["spec"]["step"] for item in found["items"]}
        before, revision = self.follower.view, int(found["metadata"]["resourceVersion"])
        if revision < self.follower.revision or any(steps.get(name, before[name]) < before[name] for name in before):
            self.follower.failure = f"{steps} at {revision} after {before} at {self.follower.revision}"
        self.follower.view, self.follower.revision = steps, revision

    def _watch(self, api: Any) -> None:
        start = str(self.follower.revision)
        # A short one: a thread that waits for events cannot be told to end.
        for event in watch.Watch().stream(
            api.list_namespaced_custom_object, *self._where, resource_version=start, timeout_seconds=2
        ):
            self.follower.take(event)


class GoInformer:
    """The program in ``informer/``: a shared informer of client-go."""

    def __init__(
        self,
        program: Path,
        kubeconfig: Path,
        namespace: str,
        output: Path,
        *flags: str,
        resource: tuple[str, str, str] = (GROUP, VERSION, PLURAL),
    ) -> None:
        self._output = output
        command = [str(program), f"--kubeconfig={kubeconfig}", f"--namespace={namespace}", *flags, *resource]
        with output.open("wb") as written, output.with_suffix(".err").open("wb") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=written, stderr=errors)

    def said(self) -> list[dict[str, Any]]:
        """All complete lines so far."""
        assert self._process.poll() is None, self._output.with_suffix(".err").read_text()
        return [json.loads(text) for text in self._output.read_text().split("\n")[:-1]]

    def told(self) -> list[Change]:
        """What its handlers were told, in the words of a watch."""
        words = {"add": "ADDED", "update": "MODIFIED", "delete": "DELETED"}
        return [
            Change(words[each["event"]], each["name"], each["spec"]["step"])
            for each in self.said()
            if each["event"] in words
        ]

    def view(self) -> dict[str, int]:
        """Names and steps of what is there, as told."""
        found: dict[str, int] = {}
        for change in self.told():
            if change.event == "DELETED":
                found.pop(change.name, None)
            else:
                found[change.name] = change.step
        return found

    def queries(self) -> list[tuple[str, int]]:
        """Its requests and their codes; 0 for those without an answer."""
        return [(each["query"], each.get("status", 0)) for each in self.said() if each["event"] == "request"]

    def wait_synced(self) -> None:
        """Until it knows what is there."""
        until(lambda: any(each["event"] == "synced" for each in self.said()), 30)

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
