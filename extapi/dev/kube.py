"""Calls from the supervisor to kube-apiserver and to the extension server: they block, and leave nothing behind.

Each call, or group of calls, has its own reactor, connection and end. Forks of this process may follow at any time, and neither threads nor
descriptors of a reactor survive one (``forking``). Knows no kinds.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from extapi.client.authority import authority
from extapi.client.credentials import Credentials
from extapi.client.transport import ClientRequest, TransportError
from extapi.dev.ports import LOOPBACK

if TYPE_CHECKING:
    from extapi.client.http import HttpTransport

FIELD_MANAGER = "extapi-dev"
_TIMEOUT = 10.0
_JSON = "application/json"


class KubeError(Exception):
    """An answer that is not a success: its code and its message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class KubeClient:
    """Requests to one server on loopback, as whoever the certificate says; without one, as nobody."""

    def __init__(
        self, port: int, *, ca: Path, certificate: Path | None = None, key: Path | None = None, host: str = LOOPBACK
    ) -> None:
        self._credentials = Credentials(
            # An address: a name would need a thread to be resolved.
            server=f"https://{authority(host, port)}",
            ca=ca.read_bytes(),
            certificate=certificate.read_bytes() if certificate else None,
            key=key.read_bytes() if key else None,
        )
        self._kept: tuple[Any, HttpTransport] | None = None

    @contextmanager
    def kept(self) -> Iterator[KubeClient]:
        """The same client with one connection for all requests within, which is much less work; nothing may fork meanwhile.

        It is for one thread. This one, whose calls have nothing in common, is for any.
        """
        from extapi.client.http import HttpTransport  # noqa: PLC0415 - extapi dev --user calls nobody
        from extapi.privatereactor import drive, private_reactor  # noqa: PLC0415 - the same

        with private_reactor() as reactor:
            transport = HttpTransport(reactor, self._credentials)
            client = copy(self)
            client._kept = (reactor, transport)  # noqa: SLF001 - of this class
            try:
                yield client
            finally:
                drive(reactor, transport.close())

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = _JSON, *, accept: str = _JSON
    ) -> bytes:
        """The body of the answer.

        Raises:
            KubeError: The answer is an error.
            TransportError: There is no answer.
        """
        if self._kept is None:
            with self.kept() as client:
                return client.request(method, path, body, content_type, accept=accept)
        from extapi.privatereactor import drive  # noqa: PLC0415 - extapi dev --user calls nobody

        path, _, query = path.partition("?")
        headers = {"Accept": accept, "Content-Type": content_type}
        content = None if body is None else json.dumps(body).encode()
        parameters = parse_qsl(query, keep_blank_values=True)
        request = ClientRequest(method, path, query=parameters, headers=headers, body=content, timeout=_TIMEOUT)
        reactor, transport = self._kept
        # Its time is bound by that of the request.
        status, data = drive(reactor, _exchange(transport, request), timeout=math.inf)
        if status >= 300:
            raise KubeError(status, _message(data))
        return data

    def get(self, path: str, *, accept: str = _JSON) -> Any:
        """The JSON at ``path``, in the form that ``accept`` asks for.

        Raises:
            KubeError: The answer is an error.
            TransportError: There is no answer.
        """
        return json.loads(self.request("GET", path, accept=accept))

    def apply(self, path: str, obj: dict[str, Any]) -> None:
        """Create the object at ``path``; if it is there, change in it what ``obj`` says, and leave the rest.

        By create and merge patch, which every control plane has; lists are replaced as a whole.

        Raises:
            KubeError: The server refuses.
            TransportError: There is no answer.
        """
        query = f"?fieldManager={FIELD_MANAGER}"
        try:
            self.request("POST", path.rpartition("/")[0] + query, obj)
        except KubeError as error:
            if error.code != 409:
                raise
            self.request("PATCH", path + query, obj, "application/merge-patch+json")

    def delete(self, path: str) -> None:
        """Delete the object at ``path`` if it is there.

        Raises:
            KubeError: The server refuses.
            TransportError: There is no answer.
        """
        try:
            self.request("DELETE", path)
        except KubeError as error:
            if error.code != 404:
                raise

    def problem(self, path: str) -> str | None:
        """Why a GET of ``path`` does not succeed right now; None if it does."""
        try:
            self.request("GET", path)
        except (KubeError, TransportError) as error:
            return str(error)
        return None


def kubeconfig(port: int, *, user: str, ca: bytes, certificate: bytes, key: bytes, host: str = LOOPBACK) -> str:
    """A kubeconfig for a control plane on loopback with everything (PEM) inside, so that the file can be copied."""
    import yaml  # noqa: PLC0415 - only here, and start-up counts

    def data(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    cluster = {"server": f"https://{authority(host, port)}", "certificate-authority-data": data(ca)}
    credentials = {"client-certificate-data": data(certificate), "client-key-data": data(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "extapi-dev", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "extapi-dev", "context": {"cluster": "extapi-dev", "user": user}}],
        "current-context": "extapi-dev",
    }
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


async def _exchange(transport: HttpTransport, request: ClientRequest) -> tuple[int, bytes]:
    """Status and body."""
    reply = await transport.send(request)
    return reply.status, await reply.read()


def _message(data: bytes) -> str:
    """The message of a Status, or the beginning of whatever came instead."""
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode(errors="replace").strip()
