"""Extension servers with one thing wrong each, on threads of the test's own: they serve discovery and nothing else.

They trust whoever comes, since what the doctor looks at is what they present and how they answer.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.certificates import Issued

NAMESPACE = "doctor"


@dataclass
class Ailing:
    """One server. ``slow``: seconds before each answer; a set ``held`` holds back all answers until the end."""

    group: str
    leaf: Issued
    slow: float = 0.0
    ahead: float = 0.0
    """Seconds by which its clock is wrong."""
    claims: str = ""
    """The group that it says it serves; empty: its own."""
    held: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @contextlib.contextmanager
    def running(self, directory: Path) -> Iterator[None]:
        """On a free port of loopback."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.leaf.save(directory, self.group))
        server = _Server(("127.0.0.1", 0), self._handler())
        # The handshake waits for the first read, which happens in the connection's own thread.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            server.shutdown()
            thread.join()
            server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        ailing = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_GET(self) -> None:
                if ailing.held.is_set():
                    ailing.over.wait()
                    self.close_connection = True
                    return
                ailing.over.wait(ailing.slow)
                status, body = ailing.answer(self.path)
                content = json.dumps(body).encode()
                self.send_response_only(status)
                self.send_header("Date", formatdate(time.time() + ailing.ahead, usegmt=True))
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
                pass

        return Handler

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        if path != f"/apis/{self.group}/v1":
            return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}
        resource = {
            "name": "ailments",
            "singularName": "ailment",
            "namespaced": True,
            "kind": "Ailment",
            "verbs": ["list"],
        }
        group_version = f"{self.claims or self.group}/v1"
        return 200, {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": [resource],
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # 5 probes at a time and more: none may wait for room.
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not like our certificate ends the handshake: that is what it is here for."""


@contextlib.contextmanager
def nobody() -> Iterator[int]:
    """A port of loopback where nothing listens, and nothing else can as long as this lasts."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def service(name: str, **spec: Any) -> dict[str, Any]:
    """A Service in :data:`NAMESPACE`; without ``spec`` one that leads to this machine."""
    spec = spec or {"type": "ExternalName", "externalName": "localhost"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def api_service(group: str, name: str, port: int, **spec: Any) -> dict[str, Any]:
    """``v1.GROUP``, at a Service in :data:`NAMESPACE`."""
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "service": {"namespace": NAMESPACE, "name": name, "port": port},
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            **spec,
        },
    }
