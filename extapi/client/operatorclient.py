"""kube-apiserver as kubectl reaches it, for commands that an operator types: by the ``kubernetes`` package's own client.

The only room of urllib3, which that client consists of. Its calls block, and may be made in several threads. Adds whom the
user of a kubeconfig speaks for, which the package passes over. Must not know what is asked of the cluster.
"""

from __future__ import annotations

import os
import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import urllib3
from kubernetes import client, config
from kubernetes.config.kube_config import FileOrData

from extapi.client.authority import authority
from extapi.client.credentials import SERVICE_ACCOUNT, CredentialsError, check_server
from extapi.client.kubernetespackage import IMPERSONATION, read_kubeconfig
from extapi.client.operatortoken import OperatorToken, TokenFile, operator_token
from extapi.client.proxy import ProxyError, ProxyURL, parse_proxy
from extapi.client.proxyenvironment import environment_proxy

_DEFAULT = Path("~/.kube/config")
_PIECE = 64 * 1024
_UNESCAPED = "!#$&'*+-.^_`|~"
"""What the name of a header may hold besides letters and digits, without the percent sign (``headerKeyEscape``)."""


class UnusableKubeconfig(Exception):
    """There is no cluster to ask. The text says what was tried and what to do."""


class NoAnswer(Exception):
    """There is no answer, or it broke off. The text says why."""


class TooLate(NoAnswer):
    """It did not come in time."""


class OperatorResponse:
    """An answer whose body is still on the connection."""

    def __init__(self, response: Any) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return int(self._response.status)

    @property
    def headers(self) -> Mapping[str, str]:
        """Names, in any case, to values."""
        headers: Mapping[str, str] = self._response.headers
        return headers

    def read(self, limit: int, late: Callable[[], bool] = lambda: False) -> tuple[bytes, bool]:
        """The body, and whether that is all of it: reading ends soon after ``limit`` bytes.

        Args:
            limit: Bytes.
            late: Whether the time is over. Each piece has the request's seconds, so all together need a bound as well.

        Raises:
            TooLate: A piece, or the whole, did not come in time.
            NoAnswer: It breaks off.
        """
        pieces: list[bytes] = []
        size = 0
        complete = False
        try:
            while size <= limit and (piece := self._response.read1(_PIECE)):
                pieces.append(piece)
                size += len(piece)
                if size <= limit and late():
                    raise TooLate("the answer did not end in time")
            complete = size <= limit
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _no_answer(error) from error
        finally:
            # A connection that was not read to its end cannot be used again.
            self._response.release_conn() if complete else self._response.close()
        return b"".join(pieces), complete


class Operator:
    """A client of kube-apiserver with the operator's credentials.

    Args:
        configuration: A ``kubernetes.client.Configuration``.
        headers: Sent with every request.
        proxy: The proxy on the way to it; None: none.
        token: Where the Authorization header comes from; None: from the configuration.
    """

    def __init__(
        self,
        configuration: Any,
        headers: Sequence[tuple[str, str]] = (),
        proxy: ProxyURL | None = None,
        token: OperatorToken | None = None,
    ) -> None:
        _go_through(configuration, proxy)
        self.server = str(configuration.host).rstrip("/")
        """Its URL, without a slash at the end."""
        self.proxy = proxy
        """The proxy on the way to it."""
        self._client: Any = client.ApiClient(configuration)
        self._headers = headers
        self._token = token

    def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, *, seconds: float = 30.0
    ) -> OperatorResponse:
        """Send a request; never retried, never redirected. Connecting and the head of the answer have ``seconds``.

        Raises:
            TooLate: Nothing came in time.
            NoAnswer: There is none, or a plugin gives no further credentials.
        """
        whole = urllib3.HTTPHeaderDict(headers)
        whole.extend(self._headers)
        try:
            shown = self._authorize(whole, path, method, body, seconds)
            response = self._client.rest_client.pool_manager.request(
                method,
                self.server + path,
                headers=whole,
                body=body,
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(total=seconds),
                preload_content=False,
            )
        except CredentialsError as error:
            raise NoAnswer(str(error)) from error
        except (config.ConfigException, urllib3.exceptions.HTTPError, OSError) as error:
            raise _no_answer(error, f" (through the proxy {self.proxy})" if self.proxy else "") from error
        if self._token is not None and response.status == 401:
            self._token.refused(shown)
        return OperatorResponse(response)

    def _authorize(self, headers: Any, path: str, method: str, body: bytes | None, seconds: float) -> str:
        """Put the Authorization header beside the others; what it is, if it may change."""
        if self._token is None:
            self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
            return ""
        shown = self._token.current(seconds)
        if shown:
            headers["Authorization"] = shown
        return shown


def operator(kubeconfig: Path | None, context: str = "") -> Operator:
    """The operator at the cluster that kubectl would talk to: ``kubeconfig``, ``KUBECONFIG``, ``~/.kube/config``, the pod's.

    Raises:
        UnusableKubeconfig: It cannot be used.

    Source: ``k8s.io/client-go/tools/clientcmd``, for the order.
    """
    # The kubernetes package reads the variable too, but when it is imported.
    path = str(kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT.expanduser())
    in_cluster = kubeconfig is None and not os.environ.get("KUBECONFIG") and not Path(path).exists()
    if in_cluster and not (SERVICE_ACCOUNT / "token").exists():
        raise UnusableKubeconfig(
            "no kubeconfig: --kubeconfig was not given, KUBECONFIG is not set, there is no ~/.kube/config, and this is "
            f"no pod ({SERVICE_ACCOUNT}/token is missing); give --kubeconfig FILE"
        )
    try:
        configuration, headers, proxy, token = _in_cluster() if in_cluster else _by_kubeconfig(path, context)
        check_server(configuration.host)
        proxy = proxy or environment_proxy(configuration.host, os.environ)
        if not configuration.verify_ssl:
            # The kubeconfig says so: that is the operator's matter, and not to be told with every request.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        with warnings.catch_warnings():
            # That PySocks is missing, is said once, and by us.
            warnings.simplefilter("ignore", urllib3.exceptions.DependencyWarning)
            return Operator(configuration, headers, proxy, token)
    # A broken kubeconfig surfaces as almost anything: YAML, base64, TLS, the plugin's errors.
    except Exception as error:
        where = "of this pod" if in_cluster else path
        raise UnusableKubeconfig(f"cannot use the kubeconfig {where}: {_why(error)}") from error


def impersonation(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers, in their order, for whom the ``user`` of a ``users`` entry speaks for.

    Raises:
        ValueError: It says what kubectl refuses, too.

    Source: ``k8s.io/client-go/transport`` impersonatingRoundTripper.
    """
    if not user.get("as"):
        lost = [key for key in IMPERSONATION if user.get(key)]
        if lost:
            raise ValueError(f"its user has {', '.join(lost)} without as: name the user to impersonate")
        return []
    headers = [("Impersonate-User", _header("as", user["as"]))]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", _header("as-uid", user["as-uid"])))
    headers += [("Impersonate-Group", each) for each in _headers("as-groups", user.get("as-groups"))]
    extra = user.get("as-user-extra") or {}
    keys: list[Any] = list(extra) if isinstance(extra, dict) else [None]
    if not all(isinstance(key, str) for key in keys):
        raise ValueError("as-user-extra of its user has to be an object of lists")
    for key in keys:
        values = _headers(f"as-user-extra.{key}", extra[key])
        headers += [(f"Impersonate-Extra-{quote(key, safe=_UNESCAPED)}", each) for each in values]
    return headers


_Found = tuple[Any, list[tuple[str, str]], ProxyURL | None, OperatorToken | None]
"""How to reach the server, what to send with every request, the proxy if one is named, and the token."""


def _in_cluster() -> _Found:
    configuration: Any = client.Configuration()
    untyped: Any = config
    untyped.load_incluster_config(client_configuration=configuration)
    return configuration, [], None, TokenFile(SERVICE_ACCOUNT / "token")


def _by_kubeconfig(path: str, context: str) -> _Found:
    found = read_kubeconfig(path, context)
    named = found.cluster.get("proxy-url")
    try:
        proxy = parse_proxy(str(named)) if named else None
    except ProxyError as error:
        raise ProxyError(f"proxy-url {error}") from error
    headers = impersonation(found.user)
    check_server(found.configuration.host)  # before a plugin asks somebody for a password
    token, issued = operator_token(found)
    if issued is not None and issued.pair is not None:
        found.configuration.cert_file, found.configuration.key_file = map(_file, issued.pair)
    return found.configuration, headers, proxy, token


def _file(pem: bytes) -> str:
    """A file with that content, which the package removes when this process ends."""
    untyped: Any = FileOrData
    path: str = untyped({"data": pem.decode()}, None, data_key_name="data", base64_file_content=False).as_file()
    return path


def _go_through(configuration: Any, proxy: ProxyURL | None) -> None:
    """Set the proxy, or none. The package reads the environment by rules of its own, and sends no password to HTTP proxies."""
    configuration.no_proxy = ""
    configuration.proxy = configuration.proxy_headers = None
    if proxy is None:
        return
    if proxy.scheme == "socks5":
        # With the name, which is the proxy's to resolve.
        login = ":".join(quote(word, safe="") for word in proxy.login)
        at = f"{login}@" if any(proxy.login) else ""
        configuration.proxy = f"socks5h://{at}{authority(proxy.host, proxy.port)}"
        return
    configuration.proxy = str(proxy)
    if any(proxy.login):
        basic = b64encode(b":".join(proxy.login)).decode()
        configuration.proxy_headers = {"Proxy-Authorization": f"Basic {basic}"}


def _headers(key: str, values: Any) -> list[str]:
    if values is not None and not isinstance(values, list):
        raise ValueError(f"{key} of its user has to be a list of strings")
    return [_header(key, each) for each in values or ()]


def _header(key: str, value: Any) -> str:
    """The value as the package's client sends it: it writes Latin-1, Go writes UTF-8."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{key} of its user has to be a string without control characters, not {value!r}")
    return value.encode().decode("latin-1")


def _no_answer(error: Exception, way: str = "") -> NoAnswer:
    text = (str(error) or type(error).__name__) + way
    # urllib3 counts a connection that was refused among the timeouts.
    refused = isinstance(error, urllib3.exceptions.NewConnectionError)
    late = isinstance(error, urllib3.exceptions.TimeoutError) and not refused
    return TooLate(text) if late else NoAnswer(text)


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "socks":
        return "its proxy is a SOCKS proxy, for which the kubernetes package needs PySocks: pip install PySocks"
    return " ".join(str(error).split()) or type(error).__name__
