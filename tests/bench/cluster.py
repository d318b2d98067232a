"""As little of a cluster as the server needs beside the load: namespaces that exist, and no reviews.

The load comes from ``system:masters``, which is allowed without a review, so nothing here is on a measured path.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "bench", "uid": "0", "resourceVersion": "1"},
    "status": {"phase": "Active"},
}


def listed(path: str) -> dict[str, Any]:
    """The list at ``path``: nothing of what is not a namespace. Its version is that of the path, as a client expects."""
    parts = path.partition("?")[0].split("/")
    version = parts[2] if parts[1] == "api" else "/".join(parts[2:4])
    if parts[-1] == "namespaces":
        kind, items = "NamespaceList", [NAMESPACE]
    else:
        kind, items = f"{parts[-1]}List", []
    return {"apiVersion": version, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items}


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ended: threading.Event

    def do_GET(self) -> None:
        if "watch=" in self.path:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.flush()
            self.ended.wait()
            return
        body = json.dumps(listed(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        del format, args


class Cluster:
    """Answers on ``address`` until :meth:`stop`."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._ended = threading.Event()
        requests = type("Requests", (_Requests,), {"ended": self._ended})
        self._server = ThreadingHTTPServer((address, 0), requests)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads here."""
        host, port = self._server.server_address[:2]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": {"server": f"http://{host!s}:{port}"}}],
            "users": [{"name": "bench", "user": {"token": "none"}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        }
        path.write_text(json.dumps(config))
        return path

    def stop(self) -> None:
        """End all answers."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
