"""etcd's own word, by its JSON gateway.

All keys are watched, so that each revision has to come: a hole would be a fault of the reader or of etcd, and ends the run.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.ha.gateway import User, ask, watch
from tests.ha.judging.history import Version
from tests.ha.log import Log, content_of

_EVERYTHING = {"key": "AA==", "range_end": "AA=="}
"""All keys: from NUL, to the end."""


class EtcdLog(Log):
    """That of a prefix.

    Args:
        members: The addresses of etcd's members.
        prefix: The prefix of the objects' keys, of which the name is the rest.
        user: Who reads it, where etcd has users.
    """

    def __init__(self, members: Sequence[str], prefix: str, user: User | None = None) -> None:
        super().__init__()
        self._members = itertools.cycle(members)
        self._prefix = prefix
        self._user = user

    def revision(self, address: str) -> int:
        """The current one, linearizable.

        Raises:
            OSError: The member does not know.
        """
        body = {"key": "AA==", "count_only": True}
        return int(ask(address, "/v3/kv/range", body, user=self._user)["header"]["revision"])

    def pull(self) -> bool:
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
        request = {**_EVERYTHING, "start_revision": str(self.position + 1)}
        with contextlib.closing(watch(address, request, self._user)) as answers:
            for answer in answers:
                if "auth" in answer.get("cancel_reason", ""):
                    return  # the users have changed since the token was given: all of it again
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

    def _version(self, event: Mapping[str, Any]) -> Iterator[Version]:
        kv = event["kv"]
        key = base64.b64decode(kv["key"]).decode(errors="replace")
        if key.startswith(self._prefix):
            deleted = event.get("type") == "DELETE"
            content = None if deleted else content_of(json.loads(base64.b64decode(kv["value"])))
            yield Version(int(kv["mod_revision"]), key.removeprefix(self._prefix), content)

    def compact(self) -> None:
        with self._lock, contextlib.suppress(OSError):  # it may be compacted already, and further
            ask(next(self._members), "/v3/kv/compaction", {"revision": str(self.position)}, user=self._user)
