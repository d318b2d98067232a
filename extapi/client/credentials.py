"""What a client needs to reach a server and prove who it is: address, CA, client certificate, token.

Knows where a pod keeps them. Must not know kubeconfigs (``kubeconfig.py``) or how a request travels (``http.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from extapi.client.proxy import ProxyError, ProxyURL
from extapi.client.proxyenvironment import environment_proxy
from extapi.clock import Clock

if TYPE_CHECKING:  # cryptography takes its time, and not every command needs it
    from extapi.client.clientpair import Pair

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts ``token``, ``ca.crt`` and ``namespace`` (k8s.io/client-go/rest)."""

TOKEN_PERIOD = 60.0
"""Seconds until a token file is read again; the kubelet rotates it long before it expires."""

LARGEST_TOKEN = 1024 * 1024
"""Bytes of a token file: Go's servers take headers of that size."""


class CredentialsError(Exception):
    """There are no usable credentials; the text names the file or variable and what is wrong with it."""


class NotInCluster(CredentialsError):
    """This process does not run in a pod of a cluster (``rest.ErrNotInCluster``)."""


class TokenSource(Protocol):
    """Where the Authorization header comes from, and maybe a client certificate."""

    @property
    def source(self) -> str:
        """What it is, for messages."""
        ...

    @property
    def pair(self) -> Pair | None:
        """The client certificate and key that go with the last header; None: those of the :class:`Credentials`."""
        ...

    async def authorization(self) -> str:
        """The header's value, such as ``Bearer abc``; empty: none.

        Raises:
            CredentialsError: There is none.
        """
        ...

    def refused(self, authorization: str) -> None:
        """The server has answered 401 to that header: look for another one with the next request."""
        ...

    def stop(self) -> None:
        """End what looks for it."""
        ...


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A header that never changes."""

    value: str = field(repr=False)
    source: str = "a token that stays"
    pair: None = None

    async def authorization(self) -> str:
        """The header as it was given."""
        return self.value

    def refused(self, authorization: str) -> None:
        """There is no other one."""

    def stop(self) -> None:
        """Nothing runs."""


class Ticks(Protocol):
    """What of a clock is needed to time a file."""

    def seconds(self) -> float:
        """Now, from any beginning."""
        ...


class FileToken:
    """A bearer token in a file that is written anew from time to time.

    Source: ``k8s.io/client-go/transport`` cachingTokenSource, fileTokenSource. There, a token that was refused is forgotten
    even if the file cannot be read.
    """

    pair: None = None

    def __init__(self, path: Path, clock: Ticks, period: float = TOKEN_PERIOD) -> None:
        self.source = f"the token file {path}"
        self._path = path
        self._clock = clock
        self._period = period
        self._value = ""
        self._until = 0.0

    async def authorization(self) -> str:
        """See :meth:`current`.

        Raises:
            CredentialsError: It could not be read yet, or is empty.
        """
        return self.current()

    def current(self) -> str:
        """The token, read again every ``period`` seconds; while the file cannot be read, the last one stays.

        Raises:
            CredentialsError: It could not be read yet, or is empty.
        """
        now = self._clock.seconds()
        if not self._value or now >= self._until:
            self._until = now + self._period
            try:
                token = self._read()
            except (OSError, ValueError) as error:
                if not self._value:
                    raise CredentialsError(f"cannot read {self.source}: {error}") from error
            else:
                if token:
                    self._value = f"Bearer {token}"
            if not self._value:
                raise CredentialsError(f"{self.source} is empty")
        return self._value

    def refused(self, authorization: str) -> None:
        """Read the file with the next request, unless that was done meanwhile (``ResetTokenOlderThan``)."""
        if authorization == self._value:
            self._until = 0.0

    def stop(self) -> None:
        """Nothing runs."""

    def _read(self) -> str:
        with self._path.open("rb") as file:
            content = file.read(LARGEST_TOKEN + 1)
        if len(content) > LARGEST_TOKEN:
            raise ValueError(f"it has more than {LARGEST_TOKEN} bytes")
        token = content.decode("utf-8").strip()
        if not token.isprintable() or not token.isascii():
            raise ValueError("it holds no token, but characters that cannot be in a header")
        return token


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to reach one server."""

    server: str
    """``https://host:port``, with a path where the API stands below one; no slash at the end."""
    ca: bytes | None = None
    """PEM certificates that may have signed the server's; ``None``: those of the system."""
    certificate: bytes | None = None
    """The client's PEM chain, leaf first."""
    key: bytes | None = field(default=None, repr=False)
    """The PEM private key that belongs to ``certificate``."""
    token: TokenSource | None = field(default=None, repr=False)
    server_name: str = ""
    """The name expected in the server's certificate where it is not the host of ``server``."""
    proxy: ProxyURL | None = None
    """The proxy on the way to the server; ``None``: none."""

    def by_environment(self, environ: Mapping[str, str]) -> Credentials:
        """The same with the proxy that the environment names for the server, unless there is one already.

        Raises:
            CredentialsError: The environment names something else.

        Source: ``k8s.io/client-go/transport``, which asks ``http.ProxyFromEnvironment`` where a kubeconfig says nothing.
        """
        if self.proxy is not None:
            return self
        try:
            return replace(self, proxy=environment_proxy(self.server, environ))
        except ProxyError as error:
            raise CredentialsError(str(error)) from error


def check_server(server: str) -> None:
    """See that ``server``, as a kubeconfig has it, is the URL of one.

    Raises:
        ValueError: It is not; the text goes on after the kubeconfig's path and a colon.
    """
    if not server:
        raise ValueError("the cluster has no server")
    try:
        split = urlsplit(server)
        known = split.scheme in {"https", "http"} and bool(split.hostname) and split.port != 0
    except ValueError:  # of a port that is no number, too
        known = False
    if not known:
        raise ValueError(f"the cluster's server is {server!r}, and no URL such as https://10.0.0.1:6443")


def in_cluster(clock: Clock, environ: Mapping[str, str], root: Path = SERVICE_ACCOUNT) -> Credentials:
    """The credentials of the pod this process runs in.

    Args:
        clock: Times the token file.
        environ: Has ``KUBERNETES_SERVICE_HOST`` and ``KUBERNETES_SERVICE_PORT``, and may name a proxy.
        root: Holds the mounted files.

    Raises:
        NotInCluster: There is no pod around it.
        CredentialsError: The pod's credentials cannot be read.

    Source: ``k8s.io/client-go/rest`` InClusterConfig.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise NotInCluster(
            "unable to load in-cluster configuration, "
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
        )
    try:
        ca = (root / "ca.crt").read_bytes()
        (root / "token").read_bytes()
    except OSError as error:
        raise CredentialsError(f"unable to load in-cluster configuration: {error}") from error
    if ":" in host:
        host = f"[{host}]"
    found = Credentials(server=f"https://{host}:{port}", ca=ca, token=FileToken(root / "token", clock))
    return found.by_environment(environ)
