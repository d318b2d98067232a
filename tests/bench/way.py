"""The way of a request: which Python functions run between its arrival and its answer.

``python -m tests.bench.way`` prints one row per request: the Python calls, the modules that they are in, the calls of the
author's conversion functions, and the texts that are decoded and encoded. Requests take the whole chain in memory, and
nothing waits, so the numbers are the same in each run. ``--calls CREATE`` lists the calls of the rows so named, in order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import extapi
from extapi.client.transport import ClientRequest
from extapi.testing.memory import InMemoryServer, serve
from tests.bench.api import api
from tests.bench.load import PIZZAS, TOPPINGS, pizza

HOME = Path(extapi.__file__).parent
CONVERSION = "pizza/conversion.py"
APART = frozenset({"server/loopback.py"})
"""The client, which a request over the network does not have."""
DECODES, ENCODES = frozenset({"decode", "convert"}), frozenset({"encode", "to_builtins"})

V1ALPHA1 = PIZZAS.replace("v1beta1", "v1alpha1")
MERGE = {"content-type": "application/merge-patch+json"}
JSON = {"content-type": "application/json"}


@dataclass
class Way:
    """What happened during one request."""

    calls: list[str] = field(default_factory=list)
    """``module:function`` of each Python call, in order."""
    coded: list[str] = field(default_factory=list)
    """The names of msgspec's functions that were called."""

    @property
    def modules(self) -> int:
        """How many modules the calls are in."""
        return len({call.partition(":")[0] for call in self.calls})

    @property
    def conversions(self) -> int:
        """Calls of the author's conversion functions."""
        return sum(call.partition(":")[2].startswith(("from_v", "to_v")) for call in self.calls if CONVERSION in call)

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note one call; see :func:`sys.setprofile`."""
        if event == "c_call":
            if type(getattr(argument, "__self__", None)).__module__.startswith("msgspec") or (
                (getattr(argument, "__module__", None) or "").startswith("msgspec")
            ):
                self.coded.append(argument.__name__)
        elif event == "call":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(HOME) and (name := str(path.relative_to(HOME))) not in APART:
                self.calls.append(f"{name}:{frame.f_code.co_name}")


@contextmanager
def profiled(way: Way) -> Any:
    """Note the calls in a ``with`` block."""
    sys.setprofile(way.note)
    try:
        yield
    finally:
        sys.setprofile(None)


def traced(
    server: InMemoryServer, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Way:
    """The way of one request, which must succeed without waiting.

    Raises:
        RuntimeError: It waits, or is refused.
    """
    request = ClientRequest(method, path, headers={"accept": "application/json", **(headers or {})}, body=body)
    transport, way = server.server.transport(), Way()
    running = transport.send(request)
    try:
        with profiled(way):
            running.send(None)
    except StopIteration as finished:
        if finished.value.status >= 300:
            raise RuntimeError(f"{method} {path}: {finished.value.status}") from None
        return way
    raise RuntimeError(f"{method} {path} waits")


def rows(server: InMemoryServer) -> Mapping[str, Callable[[], Way]]:
    """The measured requests, in order."""

    def obj(name: str, version: str = "v1beta1") -> bytes:
        import json  # noqa: PLC0415 - only for bodies

        made: Any = pizza(name)
        if version == "v1alpha1":
            made["apiVersion"] = made["apiVersion"].replace("v1beta1", version)
            made["spec"] = {"toppings": ["tomato", "mozzarella", "mozzarella", "salami"]}
        return json.dumps(made).encode()

    return {
        "CREATE": lambda: traced(server, "POST", PIZZAS, obj("p"), JSON),
        "CREATE v1alpha1": lambda: traced(server, "POST", V1ALPHA1, obj("q", "v1alpha1"), JSON),
        "GET": lambda: traced(server, "GET", f"{PIZZAS}/p"),
        "GET v1alpha1": lambda: traced(server, "GET", f"{V1ALPHA1}/q"),
        "LIST": lambda: traced(server, "GET", PIZZAS),
        "merge PATCH": lambda: traced(server, "PATCH", f"{PIZZAS}/p", b'{"metadata":{"labels":{"turn":"1"}}}', MERGE),
        "merge PATCH v1alpha1": lambda: traced(
            server, "PATCH", f"{V1ALPHA1}/q", b'{"metadata":{"labels":{"turn":"1"}}}', MERGE
        ),
        "PUT": lambda: traced(server, "PUT", f"{PIZZAS}/p", _read(server, f"{PIZZAS}/p"), JSON),
        "PUT v1alpha1": lambda: traced(server, "PUT", f"{V1ALPHA1}/q", _read(server, f"{V1ALPHA1}/q"), JSON),
        "DELETE": lambda: traced(server, "DELETE", f"{PIZZAS}/p"),
    }


def _read(server: InMemoryServer, path: str) -> bytes:
    """The object as it is, with another label."""
    return server.request("GET", path).body.replace(b'"app":"bench"', b'"app":"other"')


def prepare(server: InMemoryServer) -> None:
    """Create what pizzas need, and make every code path run once, so that lazily made things are there."""
    for name in ("tomato", "mozzarella", "salami"):
        server.request(
            "POST",
            TOPPINGS,
            body={
                "apiVersion": "restaurant.programming-kubernetes.info/v1alpha1",
                "kind": "Topping",
                "metadata": {"name": name},
                "spec": {"cost": "1.50"},
            },
        )
    server.advance()
    for request in rows(server).values():
        request()
    server.request("DELETE", f"{PIZZAS}/q")


def main() -> None:
    """Trace each request and print the table."""
    listed = sys.argv[2] if sys.argv[1:2] == ["--calls"] else ""
    lines = ["| request | calls | modules | conversions | decodes | encodes |", "|---|---|---|---|---|---|"]
    with serve(api) as server:
        prepare(server)
        for name, request in rows(server).items():
            way = request()
            decodes, encodes = (sum(one in names for one in way.coded) for names in (DECODES, ENCODES))
            lines.append(f"| {name} | {len(way.calls)} | {way.modules} | {way.conversions} | {decodes} | {encodes} |")
            if name == listed:
                lines += way.calls
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
