"""A cluster that a test changes: namespaces, reviews, and the ConfigMap that says whom an extension server trusts.

What is asked of it is answered from :attr:`Cluster.tokens`, :attr:`Cluster.allows` and :attr:`Cluster.trust`; a change of
the latter is sent to who watches. On loopback, without TLS, in threads.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Obj = dict[str, Any]

CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
NAME = "extension-apiserver-authentication"


class Cluster:
    """Answers until :meth:`stop`. ``phases``: of namespaces that are not active."""

    def __init__(self, namespaces: Sequence[str] = ("bench",), phases: Mapping[str, str] | None = None) -> None:
        self.namespaces = tuple(namespaces)
        self.phases = dict(phases or {})
        self.tokens: dict[str, Obj] = {}
        """Users as TokenReview tells them, by token."""
        self.allows: Callable[[Obj], bool] = lambda _spec: True
        """Says of the spec of a SubjectAccessReview whether it is allowed."""
        self.reviews: dict[str, int] = {"tokenreviews": 0, "subjectaccessreviews": 0}
        self.changed = threading.Condition()
        self.over = False
        self.history: list[Obj] = []
        """What became of the ConfigMap: watch events, the n-th at revision n + 1."""
        cluster = self

        class Requests(_Requests):
            pass

        Requests.cluster = cluster
        self._server = _Server(("127.0.0.1", 0), Requests)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def trust(self, data: Mapping[str, Any] | None) -> None:
        """Have the ConfigMap say so from now on; None deletes it."""
        with self.changed:
            revision = len(self.history) + 1
            present = bool(self.history) and self.history[-1]["type"] != "DELETED"
            kind = "DELETED" if data is None else "MODIFIED" if present else "ADDED"
            metadata = {"name": NAME, "namespace": "kube-system", "uid": "1", "resourceVersion": str(revision)}
            self.history.append(
                {
                    "type": kind,
                    "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}},
                }
            )
            self.changed.notify_all()

    def configmap(self) -> Obj | None:
        """The ConfigMap, if it is there."""
        return self.history[-1]["object"] if self.history and self.history[-1]["type"] != "DELETED" else None

    def namespace(self, name: str) -> Obj:
        """A namespace that is there."""
        metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
        status = {"phase": self.phases.get(name, "Active")}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": status}

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads here."""
        host, port = self._server.server_address[:2]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "one",
            "clusters": [{"name": "one", "cluster": {"server": f"http://{host!s}:{port}"}}],
            "users": [{"name": "one", "user": {"token": "none"}}],
            "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        }
        path.write_text(json.dumps(config))
        return path

    def stop(self) -> None:
        """End all answers."""
        with self.changed:
            self.over = True
            self.changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A server that was killed hangs up: nothing to tell."""


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one write per answer
    cluster: Cluster

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        cluster = self.cluster
        watched = query.get("watch", ["0"])[0] not in {"0", "false"}
        if url.path == f"{CONFIGMAPS}/{NAME}":
            found = cluster.configmap()
            self._answer(200 if found else 404, found or _not_found())
        elif url.path == CONFIGMAPS and watched:
            self._stream(self._changes(int(query.get("resourceVersion", ["0"])[0] or 0)))
        elif url.path == CONFIGMAPS:
            found = cluster.configmap()
            self._list("ConfigMapList", [found] if found else [], len(cluster.history))
        elif url.path == "/api/v1/namespaces" and watched:
            self._stream(self._silence())
        elif url.path == "/api/v1/namespaces":
            self._list("NamespaceList", [cluster.namespace(name) for name in cluster.namespaces], 1)
        elif url.path.startswith("/api/v1/namespaces/") and url.path.rpartition("/")[2] in cluster.namespaces:
            self._answer(200, cluster.namespace(url.path.rpartition("/")[2]))
        else:
            self._answer(404, _not_found())

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = self.path.partition("?")[0].rpartition("/")[2]
        spec = review["spec"]
        if kind == "tokenreviews":
            user = self.cluster.tokens.get(spec.get("token", ""))
            review["status"] = {"authenticated": True, "user": user} if user else {"authenticated": False}
        elif kind == "subjectaccessreviews":
            review["status"] = {"allowed": self.cluster.allows(spec)}
        else:
            self._answer(404, _not_found())
            return
        self.cluster.reviews[kind] += 1
        self._answer(201, review)

    def _answer(self, status: int, body: Obj) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _list(self, kind: str, items: list[Obj], revision: int) -> None:
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": str(revision)}, "items": items}
        self._answer(200, body)

    def _stream(self, events: Iterator[Obj]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        with contextlib.suppress(OSError):
            for event in events:
                self.wfile.write(json.dumps(event).encode() + b"\n")
                self.wfile.flush()
        self.close_connection = True

    def _changes(self, after: int) -> Iterator[Obj]:
        cluster = self.cluster
        while True:
            with cluster.changed:
                cluster.changed.wait_for(lambda: cluster.over or len(cluster.history) > after)  # noqa: B023 - asked within the turn
                if cluster.over:
                    return
                events, after = cluster.history[after:], len(cluster.history)
            yield from events

    def _silence(self) -> Iterator[Obj]:
        with self.cluster.changed:
            self.cluster.changed.wait_for(lambda: self.cluster.over)
        yield from ()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        del format, args


def _not_found() -> Obj:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
