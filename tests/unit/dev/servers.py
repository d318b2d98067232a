"""An HTTPS server in a thread that keeps objects by path, for what talks to kube-apiserver."""

from __future__ import annotations

import datetime as dt
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from extapi.dev.certificates import Certificates, ensure
from extapi.dev.kube import KubeClient
from extapi.dev.registration import IDENTITIES

NOW = dt.datetime.now(dt.UTC)
"""The TLS library has no clock to hand in; these certificates are made and used at once."""


@dataclass
class Recorder:
    """What was asked, and what is there: JSON objects, or (code, body) where an answer is to be another one."""

    certificates: Certificates
    port: int = 0
    objects: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    types: set[str] = field(default_factory=set)

    def client(self) -> KubeClient:
        """An administrator of it."""
        keys = self.certificates
        return KubeClient(
            self.port,
            ca=keys.certificate("cluster-ca"),
            certificate=keys.certificate("admin"),
            key=keys.key("admin"),
        )

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Code and body."""
        self.requests.append((method, path))
        path, _, query = path.partition("?")
        if method == "POST":
            obj = json.loads(body)
            path = f"{path}/{obj['metadata']['name']}"
            if path in self.objects:
                return 409, json.dumps({"kind": "Status", "message": f"{path} already exists"}).encode()
            self.objects[path] = obj
        if method == "PATCH":
            self.objects[path] |= json.loads(body)
        if query.startswith("labelSelector") or (method == "GET" and path.endswith("/apiservices")):
            items = [obj for name, obj in self.objects.items() if name.startswith(path + "/")]
            return 200, json.dumps({"items": items}).encode()
        found = self.objects.pop(path, None) if method == "DELETE" else self.objects.get(path)
        if found is None:
            return 404, json.dumps({"kind": "Status", "message": f"{path} not found"}).encode()
        return found if isinstance(found, tuple) else (200, json.dumps(found).encode())


@contextmanager
def recorder(directory: Path) -> Iterator[Recorder]:
    """A recorder on a free port; it asks for client certificates of the cluster CA."""
    certificates = ensure(directory / "certificates", IDENTITIES, now=NOW)
    recorded = Recorder(certificates)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept

        def do(self) -> None:
            recorded.types.add(self.headers.get("Content-Type", ""))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            code, answer = recorded.answer(self.command, self.path, body)
            if code == 0:  # no HTTP at all
                self.wfile.write(answer)
                self.close_connection = True
                return
            self.send_response(code)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = do_DELETE = do  # noqa: N815 - the names the base class looks for

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has in the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.certificate("cluster-ca")))
    context.load_cert_chain(certificates.certificate("kube-apiserver"), certificates.key("kube-apiserver"))
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
    recorded.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield recorded
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
