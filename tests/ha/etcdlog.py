"""etcd's own word, past the client under test: by its JSON gateway, which is part of every member.

The log is read in pieces while the run goes on, since others compact it. All keys are watched, so that each revision has to
come: a hole would be a fault of the reader or of etcd, and ends the run.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.ha.history import Content, Version

PORT = 2379
_SECONDS = 2.0
_LONGEST = 10.0
_EVERYTHING = {"key": "AA==", "range_end": "AA=="}
"""All keys: from NUL, to the end."""


def ask(address: str, path: str, body: Mapping[str, Any], seconds: float = _SECONDS) -> Any:
    """One call.

    Raises:
        OSError: The member does not answer in time, or with an error.
    """
    connection = http.client.HTTPConnection(address, PORT, timeout=seconds)
    try:
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        data = answer.read()
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    if answer.status != 200:
        raise OSError(f"{address}{path}: {answer.status} {data[:200]!r}")
    return json.loads(data)


def content_of(obj: Mapping[str, Any]) -> Content:
    """What the checker has put into an object."""
    metadata = obj["metadata"]
    return {**metadata.get("annotations", {}), **metadata.get("labels", {})}


class EtcdLog:
    """The changes of one prefix up to ``position``, from the first revision on.

    Args:
        members: The addresses of etcd's members.
        prefix: The prefix of the objects' keys, of which the name is the rest.
    """

    def __init__(self, members: Sequence[str], prefix: str) -> None:
        self._members = itertools.cycle(members)
        self._prefix = prefix
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._lock = threading.Lock()
        self.position = 0
        self.versions: list[Version] = []
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin to follow, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_LONGEST * 2)

    def _follow(self) -> None:
        while not self._stop.wait(1):
            try:
                self.pull()
            except AssertionError as error:
                self.failure = error
                return

    def revision(self, address: str) -> int:
        """The current one, linearizable.

        Raises:
            OSError: The member does not know.
        """
        return int(ask(address, "/v3/kv/range", {"key": "AA==", "count_only": True})["header"]["revision"])

    def pull(self) -> bool:
        """Read up to the revision that is current now; whether that worked."""
        with self._lock, contextlib.suppress(OSError):
            address = next(self._members)
            current = self.revision(address)
            if current > self.position:
                self._read(address, current)
            return True
        return False

    def _read(self, address: str, until: int) -> None:
        found: list[Version] = []
        revisions = {self.position}
        with contextlib.closing(http.client.HTTPConnection(address, PORT, timeout=_SECONDS)) as connection:
            for answer in self._watch(connection):
                assert not answer.get("canceled"), answer
                for event in answer.get("events", ()):
                    revisions.add(int(event["kv"]["mod_revision"]))
                    found += self._version(event)
                if max(revisions) >= until:
                    break
            else:
                return  # it broke off: all of it again
        assert revisions - {0, 1} == set(range(max(self.position, 2), max(revisions) + 1)) - {0, 1}, (
            "etcd's log has a hole"
        )
        self.versions += found
        self.position = max(revisions)

    def _watch(self, connection: http.client.HTTPConnection) -> Iterator[Any]:
        request = {**_EVERYTHING, "start_revision": str(self.position + 1)}
        try:
            connection.request("POST", "/v3/watch", json.dumps({"create_request": request}))
            for line in connection.getresponse():
                yield json.loads(line)["result"]
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error

    def _version(self, event: Mapping[str, Any]) -> Iterator[Version]:
        kv = event["kv"]
        key = base64.b64decode(kv["key"]).decode(errors="replace")
        if key.startswith(self._prefix):
            deleted = event.get("type") == "DELETE"
            content = None if deleted else content_of(json.loads(base64.b64decode(kv["value"])))
            yield Version(int(kv["mod_revision"]), key.removeprefix(self._prefix), content)

    def compact(self) -> None:
        """What somebody else does who shares the etcd: forget what was, as far as it has been read here."""
        with self._lock, contextlib.suppress(OSError):  # it may be compacted already, and further
            ask(next(self._members), "/v3/kv/compaction", {"revision": str(self.position)})


def leader(members: Mapping[str, str]) -> str | None:
    """The name of the member that leads, of members by name with their addresses; None if none says so."""
    for name, address in members.items():
        with contextlib.suppress(OSError):
            status = ask(address, "/v3/maintenance/status", {}, 0.5)
            if status.get("leader") == status["header"]["member_id"]:  # a member without one leaves it out
                return name
    return None
