"""An extension server that reaches kube-apiserver in a way of its own: what it answers to writes, and when it was ready.

Knows no proxies.
"""

from __future__ import annotations

import datetime as dt
import http.client
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import yaml

from extapi.dev.access import FRONT_PROXY_USER
from extapi.dev.registration import IDENTITIES
from extapi.issuing import make_client
from tests.kubernetes import second
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.letters import letter, letters_path

INTERVAL = 0.05
"""Seconds between two writes."""
_READY_INTERVAL = 0.25
_PATH = f"{letters_path('default')}?dryRun=All"
_REFUSED = "failed calling webhook"


class ProxiedServer:
    """``extapi serve`` with a kubeconfig that leads through one port, or one proxy.

    Args:
        control_plane: What it belongs to.
        name: Of the way: its requests to kube-apiserver carry it as a group of its user, so that they can be counted.
        directory: For its files.
        cluster: What the cluster of its kubeconfig says, beside the authority.
    """

    def __init__(self, control_plane: ControlPlane, name: str, directory: Path, cluster: dict[str, str]) -> None:
        self.name = name
        config = self._kubeconfig(control_plane, directory, cluster)
        which = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
        flags = [*(f"--{flag}={config}" for flag in which), "--leader-elect=false"]
        self._server = second.SecondServer(control_plane, "tests.kubernetes.letters:api", directory, "memory:", flags)
        keys = control_plane.certificates
        signed = user_certificate(authority(keys, "front-proxy-ca"), FRONT_PROXY_USER)
        tls = tls_of(keys.certificate("serving-ca"), signed, directory)
        self._caller = Caller(self._server.port, tls, {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"})
        self._connection: http.client.HTTPSConnection | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name=name)
        self.unready: list[tuple[float, float]] = []
        """When ``/readyz`` failed, and when it succeeded again; infinity: not yet."""

    def _kubeconfig(self, control_plane: ControlPlane, directory: Path, cluster: dict[str, str]) -> Path:
        path = control_plane.cluster.write_kubeconfig("extension-client", directory / "kubeconfig")
        config = yaml.safe_load(path.read_text())
        config["clusters"][0]["cluster"] |= cluster
        groups = [*IDENTITIES.extension_groups, self.name]
        signer = authority(control_plane.certificates, "cluster-ca")
        signed = make_client(signer, IDENTITIES.extension_user, groups, now=dt.datetime.now(dt.UTC))
        certificate, key = directory / "client.crt", directory / "client.key"
        key.touch(0o600)
        certificate.write_bytes(signed.certificate_pem())
        key.write_bytes(signed.key_pem())
        config["users"][0]["user"] = {"client-certificate": str(certificate), "client-key": str(key)}
        path.write_text(yaml.safe_dump(config))
        return path

    @property
    def log(self) -> Path:
        """Where it logs."""
        return self._server.log

    def start(self) -> None:
        """Start it; returns when it is ready."""
        self._server.start()

    def look(self) -> None:
        """From now on, look at ``/readyz``."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._server.stop()

    def refuses(self) -> bool:
        """Whether it obeys a webhook that cannot be called: a write with dry run is refused.

        Raises:
            AssertionError: It answers anything else.
        """
        answer = self._write()
        status, message = answer
        assert status == 201 or (status == 500 and _REFUSED in message), answer
        return status == 500

    def delay(self, *, refused: bool, since: float, patience: float) -> float:
        """Seconds after ``since`` until writes are ``refused``, or allowed; infinity: they are not within ``patience``."""
        while True:
            asked = time.monotonic()
            if self.refuses() is refused:
                return max(0.0, asked - since)
            if asked - since > patience:
                return float("inf")
            self._ended.wait(INTERVAL)

    def review(self, count: int) -> None:
        """Ask as so many strangers at a time: it asks kube-apiserver about each of them, and keeps the connections for the next ones.

        Raises:
            AssertionError: One of them may do something.
        """

        def ask(number: int) -> int:
            user = {"X-Remote-User": f"stranger-{time.monotonic()}-{number}", "X-Remote-Group": "system:authenticated"}
            return replace(self._caller, headers=user)("GET", letters_path("default")).status

        with ThreadPoolExecutor(count) as pool:
            statuses = list(pool.map(ask, range(count)))
        assert set(statuses) == {403}, statuses

    def unready_since(self, begun: float) -> Sequence[tuple[float, float]]:
        """The times when it was not ready, in seconds after ``begun``."""
        return [(fail - begun, again - begun) for fail, again in self.unready if again > begun]

    def _write(self) -> tuple[int, str]:
        connection = self._connection = self._connection or self._caller.connect()
        body = json.dumps(letter("one")).encode()
        headers = {**self._caller.headers, "Content-Type": "application/json"}
        try:
            connection.request("POST", _PATH, body, headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            # An idle connection may have been closed.
            connection.close()
            connection.request("POST", _PATH, body, headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        return answer.status, str(content.get("message", ""))

    def _look(self) -> None:
        connection = self._caller.connect()
        while not self._ended.wait(_READY_INTERVAL):
            now = time.monotonic()
            ready = False
            try:
                connection.request("GET", "/readyz", headers=dict(self._caller.headers))
                answer = connection.getresponse()
                answer.read()
                ready = answer.status == 200
            except (OSError, http.client.HTTPException):
                connection.close()  # the next request has a new one
            failing = bool(self.unready) and self.unready[-1][1] == float("inf")
            if not ready and not failing:
                self.unready.append((now, float("inf")))
            elif ready and failing:
                self.unready[-1] = (self.unready[-1][0], now)
        connection.close()
