"""The load: blocking keep-alive connections in threads for requests, one selector for watchers."""

from __future__ import annotations

import json
import selectors
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.bench.server import Server

HEADERS = "Host: localhost\r\nX-Remote-User: bench\r\nX-Remote-Group: system:masters\r\nAccept: application/json\r\n"
PIZZAS = "/apis/restaurant.programming-kubernetes.info/v1beta1/namespaces/bench/pizzas"
TOPPINGS = "/apis/restaurant.programming-kubernetes.info/v1alpha1/toppings"


@dataclass(frozen=True, slots=True)
class Result:
    """One row: counts and times of one kind of request."""

    name: str
    connections: int
    count: int
    seconds: float
    cpu: float
    """Microseconds of server CPU, of all requests together."""
    latencies: list[float]
    """Seconds, sorted."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.count / self.seconds

    @property
    def micros(self) -> float:
        """Server CPU microseconds a request."""
        return self.cpu / self.count

    def percentile(self, part: float) -> float:
        """Milliseconds within which ``part`` of the requests were answered."""
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * part))] * 1000


def request(method: str, path: str, body: object = None, content_type: str = "application/json") -> bytes:
    """The bytes of one request."""
    head = f"{method} {path} HTTP/1.1\r\n{HEADERS}"
    if body is None:
        return f"{head}\r\n".encode()
    data = json.dumps(body, separators=(",", ":")).encode()
    return f"{head}Content-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def pizza(name: str, extra: int = 0) -> dict[str, object]:
    """A pizza of about 700 bytes as stored; ``extra`` changes its labels."""
    toppings = [
        {"name": name, "quantity": 1 + index % 3} for index, name in enumerate(("tomato", "mozzarella", "salami"))
    ]
    return {
        "apiVersion": "restaurant.programming-kubernetes.info/v1beta1",
        "kind": "Pizza",
        "metadata": {
            "name": name,
            "labels": {"app": "bench", "batch": str(extra % 10)},
            "annotations": {"example.com/note": "baked for the benchmark, " * 8},
        },
        "spec": {"toppings": toppings},
    }


def exchange(connection: ssl.SSLSocket, data: bytes) -> tuple[int, bytes]:
    """Send a request, read its answer whole; status and body."""
    connection.sendall(data)
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        buffer += _more(connection)
    head, _, body = buffer.partition(b"\r\n\r\n")
    status = int(head[9:12])
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"), 0)
    parts, size = [body], len(body)
    while size < length:
        part = _more(connection)
        parts.append(part)
        size += len(part)
    return status, b"".join(parts)


def _more(connection: ssl.SSLSocket) -> bytes:
    data = connection.recv(262144)
    if not data:
        raise ConnectionError("the server closed the connection")
    return data


def run(
    server: Server, name: str, make: Callable[[int], bytes], *, count: int, connections: int = 1, status: int = 200
) -> Result:
    """``count`` requests over ``connections``; ``make`` gives the bytes of the n-th. Any other status ends the run."""
    each = count // connections
    latencies: list[float] = []
    failures: list[BaseException] = []
    lock = threading.Lock()

    def work(first: int) -> None:
        own = []
        try:
            with server.connect() as connection:
                for number in range(first, first + each):
                    data = make(number)
                    begin = time.perf_counter()
                    got, body = exchange(connection, data)
                    own.append(time.perf_counter() - begin)
                    _expect(name, got, status, body)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            failures.append(error)
        with lock:
            latencies.extend(own)

    threads = [threading.Thread(target=work, args=(index * each,)) for index in range(connections)]
    cpu, begin = server.cpu(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, used = time.perf_counter() - begin, server.cpu() - cpu
    if failures:
        raise failures[0]
    return Result(name, connections, len(latencies), seconds, used, sorted(latencies))


def _expect(name: str, got: int, wanted: int, body: bytes) -> None:
    if got != wanted:
        raise RuntimeError(f"{name}: {got} instead of {wanted}: {body[:300]!r}")


def seed(server: Server) -> None:
    """Create the toppings that the pizzas name."""
    for name in ("tomato", "mozzarella", "salami"):
        topping = {
            "apiVersion": "restaurant.programming-kubernetes.info/v1alpha1",
            "kind": "Topping",
            "metadata": {"name": name},
            "spec": {"cost": "1.50"},
        }
        run(server, "topping", lambda _, obj=topping: request("POST", TOPPINGS, obj), count=1, status=201)  # type: ignore[misc]


def applies(server: Server, count: int) -> list[Result]:
    """Two rows: a manager of its own applies, to 400 pizzas in turn, what it applied before, and something new each time."""

    def make(n: int, applied: str) -> bytes:
        body: Any = pizza(f"p-{n % 400}")
        body["metadata"]["labels"] = {"app": "bench", "applied": applied}
        return request("PATCH", f"{PIZZAS}/p-{n % 400}?fieldManager=applier", body, "application/apply-patch+yaml")

    run(server, "apply", lambda n: make(n, "once"), count=400)
    return [
        run(server, "apply, no change", lambda n: make(n, "once"), count=count, connections=8),
        run(server, "apply, with change", lambda n: make(n, str(n)), count=count, connections=8),
    ]


def watch(server: Server, watchers: int, events: int, *, opened: Callable[[], object] = lambda: None) -> Result:
    """``events`` changes of one pizza, each delivered to ``watchers`` open watches.

    The CPU of the changes themselves is measured before, without watchers, and taken off. ``opened`` is called when all
    watches are open.
    """

    def change(turn: int) -> bytes:
        body = {"metadata": {"labels": {"turn": str(turn)}}}
        return request("PATCH", f"{PIZZAS}/p-0", body, "application/merge-patch+json")

    alone = run(server, "merge PATCH", change, count=events).cpu
    patches = [change(turn) for turn in range(events, 2 * events)]  # none of them changes nothing
    data = request("GET", f"{PIZZAS}?watch=true&resourceVersion={_revision(server)}")
    selector = selectors.DefaultSelector()
    open_ = []
    for _ in range(watchers):
        connection = server.connect()
        connection.sendall(data)
        head = b""
        while b"\r\n\r\n" not in head:
            head += _more(connection)
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ)
        open_.append(connection)
    opened()
    delivered, begin, cpu = 0, time.perf_counter(), server.cpu()
    latencies = []
    with server.connect() as writer:
        for turn in range(events):
            at = time.perf_counter()
            exchange(writer, patches[turn])
            wanted = (turn + 1) * watchers
            while delivered < wanted:
                for key, _mask in selector.select(30):
                    delivered += _events(key.fileobj)  # type: ignore[arg-type]
            latencies.append(time.perf_counter() - at)
    seconds, used = time.perf_counter() - begin, server.cpu() - cpu
    for connection in open_:
        selector.unregister(connection)
        connection.close()
    return Result("watch delivery, without the PATCH", watchers, delivered, seconds, used - alone, sorted(latencies))


def _events(connection: ssl.SSLSocket) -> int:
    """How many events one read brings: each ends in a newline within its chunk."""
    found = 0
    while True:
        try:
            data = connection.recv(65536)
        except ssl.SSLWantReadError:
            return found
        if not data:
            raise ConnectionError("a watch ended")
        found += data.count(b'{"type":"MODIFIED"')


def _revision(server: Server) -> str:
    with server.connect() as connection:
        _, body = exchange(connection, request("GET", f"{PIZZAS}?limit=1"))
    return str(json.loads(body)["metadata"]["resourceVersion"])
