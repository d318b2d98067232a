"""What reads cost at least: beside our server, a loop that answers fixed bytes over TLS.

The loop is Python, with the same OpenSSL by the same binding, and does nothing else: it waits (epoll), reads a request, and
sends the bytes with which our server answered one like it. What our server costs more is what parsing, authentication,
authorization, routing, the watch cache, logs and metrics cost.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

from OpenSSL import SSL

from extapi.listener.tls import ServingCertificate, TLSConnection
from tests.bench.load import request
from tests.bench.peer.generator import Address, Figures, Generator, Load
from tests.bench.server import Server, cpu
from tests.bench.table import table
from tests.bench.workers import ROUNDS, loads, serving

READS: Final = ("GET, resourceVersion=0", "LIST of 500")
SERVER, LOOP = "extapi", "the loop"


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure both and print the table."""
    generator, scale = Generator(say), 10 if quick else 1
    rows = {name: replace(load, connections=4) for name, load in loads(scale).items() if name in READS}
    found: dict[tuple[str, str], list[Figures]] = {}
    with serving(directory / "server", "--connection-requests=0") as server:
        for row, load in rows.items():
            answer = directory / "answer"
            answer.write_bytes(_answer(server, load))
            with _looping(directory, answer) as (pid, port):
                sides: dict[str, tuple[Address, Callable[[], float]]] = {
                    SERVER: (server.address, server.cpu),
                    LOOP: (replace(server.address, port=port), lambda pid=pid: cpu(pid)),  # type: ignore[misc]
                }
                for turn in range(2 if quick else ROUNDS):
                    for side, (address, used) in sides.items():
                        figures = generator.run(address, load, lambda used=used: {"all": used()})  # type: ignore[misc]
                        if turn:
                            found.setdefault((row, side), []).append(figures)
    columns = [
        {row: median(each.used["all"] / each.count for each in found[row, side]) for row in rows}
        for side in (SERVER, LOOP)
    ]
    for line in table("CPU us per request, 4 connections", [SERVER, LOOP], columns):
        say(line)


def _answer(server: Server, load: Load) -> bytes:
    """All bytes of our server's answer."""
    with server.connect() as connection:
        connection.sendall(request(load.method, load.path))
        found = b""
        while not _whole(found):
            found += connection.recv(262_144)
        return found


def _whole(answer: bytes) -> bool:
    head, ended, body = answer.partition(b"\r\n\r\n")
    _, _, length = head.partition(b"Content-Length: ")
    return bool(ended) and len(body) >= int(length.partition(b"\r\n")[0])


@contextmanager
def _looping(directory: Path, answer: Path) -> Iterator[tuple[int, int]]:
    """The loop in a process of its own; its id and its port."""
    command = [sys.executable, "-m", "tests.bench.floor", str(directory / "server" / "serving"), str(answer)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def loop(certificate: Path, key: Path, answer: bytes) -> None:
    """Answer each request with the same bytes, until the process is killed."""
    context = ServingCertificate(certificate, key).context
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    waiting = select.epoll()
    waiting.register(listener, select.EPOLLIN)
    open_: dict[int, TLSConnection] = {}
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor == listener.fileno():
                accepted, _ = listener.accept()
                connection = TLSConnection(context, accepted)
                connection.set_accept_state()
                connection.do_handshake()  # it blocks: only the load generator comes
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                open_[accepted.fileno()] = connection
                waiting.register(accepted, select.EPOLLIN)
                continue
            connection = open_[descriptor]
            try:
                connection.recv(16_384)
                connection.sendall(answer)
            except SSL.Error:  # the load has ended
                waiting.unregister(descriptor)
                del open_[descriptor]


if __name__ == "__main__":
    named = Path(sys.argv[1])
    loop(named.with_suffix(".crt"), named.with_suffix(".key"), Path(sys.argv[2]).read_bytes())
