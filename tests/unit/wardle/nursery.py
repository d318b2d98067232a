"""The drop-in served in memory, and short ways to speak to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from examples.wardle import api
from extapi.testing import InMemoryServer, ServerResponse, serve

GROUP = "wardle.example.com"
ALPHA = "/v1alpha1/namespaces/nursery/flunders"
BETA = "/v1beta1/namespaces/nursery/flunders"
FISCHERS = "/v1alpha1/fischers"
MERGE = "application/merge-patch+json"


class Nursery:
    """The server. Paths begin with the version; the group is added, as are apiVersion and kind to what is written."""

    def __init__(self, server: InMemoryServer) -> None:
        self.server = server

    def send(self, method: str, path: str, body: Any = None, *, form: str = "", accept: str = "") -> ServerResponse:
        """One request, after which all that follows the objects has seen what it did."""
        if isinstance(body, dict) and form != MERGE:
            kind = "Fischer" if "/fischers" in path else "Flunder"
            body = {"apiVersion": f"{GROUP}/{path.split('/')[1]}", "kind": kind, **body}
        headers = {name: value for name, value in (("Content-Type", form), ("Accept", accept)) if value}
        path, _, query = path.partition("?")
        parameters = [part.partition("=")[::2] for part in query.replace("%3D", "=").split("&") if part]
        answer = self.server.request(method, f"/apis/{GROUP}{path}", parameters, headers, body)
        self.server.advance(0.1)
        return answer

    def create(self, path: str, name: str, spec: Mapping[str, Any] | None = None, **members: Any) -> ServerResponse:
        """A new object."""
        given = {} if spec is None else {"spec": spec}
        return self.send("POST", path, {"metadata": {"name": name}, **given, **members})


def warnings(answer: ServerResponse) -> list[str]:
    """The texts of an answer's Warning headers."""
    found = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', answer.headers.get("warning", ""))
    return [text.replace('\\"', '"') for text in found]


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    """Empty."""
    with serve(api) as server:
        yield Nursery(server)
