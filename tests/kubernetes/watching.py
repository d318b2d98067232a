"""A watch on a connection of its own, read by hand: what a client holds open while things change around it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from http.client import HTTPResponse

from tests.kubernetes.calling import Caller


class Watch:
    """A watch that has begun."""

    def __init__(self, answer: HTTPResponse) -> None:
        self._answer = answer

    def until(self, name: str) -> None:
        """Read until there is an event of the object ``name``. Raises AssertionError if the watch ends first."""
        while line := self._answer.readline():
            if json.loads(line)["object"]["metadata"].get("name") == name:
                return
        raise AssertionError(f"the watch has ended, without an event of {name}")

    def over(self) -> None:
        """Read until it ends, as it should: with the last chunk of its body (http.client raises IncompleteRead for less)."""
        while self._answer.readline():
            pass
        assert self._answer.isclosed()


@contextlib.contextmanager
def watching(caller: Caller, path: str) -> Iterator[Watch]:
    """Watch a collection as long as the block lasts; begins with what is there."""
    connection = caller.connect(60)
    try:
        connection.request("GET", f"{path}?watch=1", headers=dict(caller.headers))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        yield Watch(answer)
    finally:
        connection.close()
