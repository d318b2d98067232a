"""Who an API server is to a webhook: the users of a kubeconfig, found by the webhook's address.

A user's name is the address that it is for: ``SERVICE.NAMESPACE.svc:PORT``, or host and port of a URL; ``*.SUFFIX`` stands for
every address with that end, ``*`` for all others. Port 443 may be left out. Tokens, passwords and certificates in files are read
again when they change; the kubeconfig itself is read once. Must not know how a request travels.

A user's headers are made for each call, and may wait. So a token that is requested for each webhook (KEP-6060) is one more kind
of user, and nothing else.

Source: ``k8s.io/apiserver/pkg/util/webhook/authentication.go``, ``client-go/tools/clientcmd``, ``client-go/transport``.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from extapi.client.clientpair import ClientPair, Pair
from extapi.client.credentials import SERVICE_ACCOUNT, TOKEN_PERIOD, CredentialsError
from extapi.client.webhookreview import json_type
from extapi.clock import Clock
from extapi.codec import strictyaml
from extapi.errors import go_quote

APISERVER: Final = "kubernetes.default.svc:443"
LARGEST: Final = 1024 * 1024
"""Bytes of a kubeconfig, and of a file with a token."""
_NONE: Final = Pair(b"", b"")

T = TypeVar("T")

Header = tuple[str, str]


class WebhookUser:
    """A user of the kubeconfig.

    Args:
        headers: Says who it is: names and values, read with each call.
        pair: Its certificate; None: it shows none.
        ca: Further roots of the webhook's certificate, as PEM.
        refused: Called when a webhook has answered 401.
    """

    def __init__(
        self,
        headers: Callable[[], Sequence[Header]] = lambda: (),
        pair: Callable[[], Pair] | None = None,
        ca: bytes = b"",
        refused: Callable[[], object] = lambda: None,
    ) -> None:
        self._headers = headers
        self._pair = pair
        self.ca = ca
        self.refused = refused

    async def headers(self) -> Sequence[Header]:
        """The headers of a request.

        Raises:
            CredentialsError: A file cannot be read, or a value cannot be in a header.
        """
        found = _read(self._headers)
        for name, value in found:
            if any((character < " " and character != "\t") or character == "\x7f" for character in value):
                raise CredentialsError(f"net/http: invalid header field value for {go_quote(name)}")
        return found

    def pair(self) -> Pair:
        """The certificate that is shown to a webhook which asks for one; empty: none.

        Raises:
            CredentialsError: It cannot be read, and could not be before.
        """
        return _NONE if self._pair is None else _read(self._pair)

    def check(self) -> None:
        """Read all files.

        Raises:
            CredentialsError: One of them cannot be used.
        """
        _read(self._headers)
        self.pair()


def _read(read: Callable[[], T]) -> T:
    """What a file says.

    Raises:
        CredentialsError: It cannot be read, or says nothing usable.
    """
    try:
        return read()
    except OSError as error:
        raise CredentialsError(f"open {error.filename}: {str(error.strerror).lower()}") from None
    except ValueError as error:
        raise CredentialsError(str(error)) from None


NOBODY: Final = WebhookUser()


class WebhookUsers:
    """The users of a kubeconfig.

    Args:
        users: By name.
        current: The user of the current context, for addresses that no name stands for.
        account: Where a pod keeps what it is to kube-apiserver.
        environ: Says whether this is a pod.
        clock: Times tokens in files.
    """

    def __init__(
        self,
        users: Mapping[str, WebhookUser] | None = None,
        current: WebhookUser = NOBODY,
        *,
        account: Path = SERVICE_ACCOUNT,
        environ: Mapping[str, str] = os.environ,
        clock: Clock,
    ) -> None:
        self._users = users or {}
        self._current = current
        self._account = account
        self._environ = environ
        self._clock = clock

    def of(self, address: str) -> WebhookUser:
        """Who is to call the webhook at ``address``, which is a host and a port.

        Source: ``k8s.io/apiserver/pkg/util/webhook/authentication.go`` clientConfig.
        """
        host, _, port = address.rpartition(":")
        host = host[1:-1] if host.startswith("[") else host  # as net.SplitHostPort, which refuses two pairs of brackets
        found = self._named(address) or (self._named(host) if port == "443" and "[" not in host else None)
        if found is None and address == APISERVER:
            found = self._in_cluster()
        return found or self._users.get("*") or self._current

    def _named(self, address: str) -> WebhookUser | None:
        steps = address.split(".")
        names = [address, *("*." + ".".join(steps[first:]) for first in range(1, len(steps)))]
        return next((self._users[name] for name in names if name in self._users), None)

    def _in_cluster(self) -> WebhookUser | None:
        """A pod is to kube-apiserver what it always is. None: this is no pod."""
        if not (self._environ.get("KUBERNETES_SERVICE_HOST") and self._environ.get("KUBERNETES_SERVICE_PORT")):
            return None
        token = _TokenFile(self._account / "token", self._clock)
        try:
            token()
            ca = (self._account / "ca.crt").read_bytes()
            return WebhookUser(lambda: [_bearer(token())], ca=ca, refused=token.refused)
        except (OSError, ValueError):
            return None


def read_users(path: Path, clock: Clock) -> WebhookUsers:
    """The users of a kubeconfig.

    Args:
        path: The file; what it names is relative to its directory.
        clock: Times tokens in files.

    Raises:
        CredentialsError: It is no kubeconfig, or has a user of a kind that is not supported.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise CredentialsError(f"stat {path}: no such file or directory") from None
    except OSError as error:
        raise CredentialsError(f"open {path}: {str(error.strerror).lower()}") from None
    try:
        return _read_users(content, path.parent, clock)
    except ValueError as error:
        raise CredentialsError(f'error loading config file "{path}": {error}') from None


def _read_users(content: bytes, directory: Path, clock: Clock) -> WebhookUsers:
    """The users of a kubeconfig.

    Raises:
        ValueError: It is no kubeconfig, or has a user of a kind that is not supported.
    """
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    config = strictyaml.decode(content).value
    config = {} if config is None else config
    if not isinstance(config, Mapping):
        raise ValueError("it is no object")  # noqa: TRY004 - all that is wrong with the file is told alike
    kind, version = config.get("kind") or "Config", config.get("apiVersion") or "v1"
    if (kind, version) != ("Config", "v1"):
        of = f"{go_quote(str(kind))} is registered for version {go_quote(str(version))}"
        raise ValueError(f'no kind {of} in scheme "pkg/runtime/scheme.go:111"')
    users = _entries(config, "users", "user", "NamedAuthInfo")
    contexts = _entries(config, "contexts", "context", "NamedContext")
    made = {name: _user(user, directory, clock) for name, user in users.items()}
    context = contexts.get(str(config.get("current-context") or ""), {})
    return WebhookUsers(made, made.get(str(context.get("user") or ""), NOBODY), clock=clock)


def _entries(config: Mapping[str, Any], member: str, part: str, go_type: str) -> dict[str, Mapping[str, Any]]:
    """What a list of the kubeconfig has by name.

    Raises:
        ValueError: It is no such list, or has a name twice.
    """
    found: dict[str, Mapping[str, Any]] = {}
    entries = config.get(member) or []
    if not isinstance(entries, list):
        raise ValueError(  # noqa: TRY004 - told alike
            f"json: cannot unmarshal {json_type(entries)} into Go struct field Config.{member} of type []v1.{go_type}"
        )
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get(part) or {}, Mapping):
            raise ValueError(f"{member} has an entry that is no object with name and {part}")  # noqa: TRY004 - told alike
        name = str(entry.get("name") or "")
        if name in found:
            raise ValueError(f"duplicate name {go_quote(name)} in {member}")
        found[name] = entry.get(part) or {}
    return found


def _user(user: Mapping[str, Any], directory: Path, clock: Clock) -> WebhookUser:
    """One user.

    Raises:
        ValueError: A member has a wrong type, or the user is of a kind that is not supported.
    """
    if user.get("exec"):
        raise ValueError(
            "users with exec are not supported: write what it prints into a file, and name it as tokenFile"
        )
    texts = {name: _text(user, name) for name in _TEXTS}
    if user.get("auth-provider"):
        return _useless("auth provider not supported")
    if (texts["username"] or texts["password"]) and (texts["token"] or texts["tokenFile"]):
        return _useless("username/password or bearer token may be set, but not both")
    sources: list[Callable[[], Header]] = []
    refused: Callable[[], object] = lambda: None  # noqa: E731 - as the other sources
    if texts["tokenFile"]:
        token = _TokenFile(directory / texts["tokenFile"], clock, texts["token"])
        sources.append(lambda: _bearer(token()))
        refused = token.refused
    elif texts["token"]:
        bearer = _bearer(texts["token"])
        sources.append(lambda: bearer)
    if texts["username"] or texts["password"]:
        encoded = base64.b64encode(f"{texts['username']}:{texts['password']}".encode()).decode("ascii")
        sources.append(lambda: ("Authorization", f"Basic {encoded}"))
    impersonated = _impersonation(user, texts)
    return WebhookUser(
        lambda: [*(source() for source in sources), *impersonated], _pair(texts, directory), refused=refused
    )


def _useless(why: str) -> WebhookUser:
    """A user as whom no webhook can be called. That does no harm until one is."""

    def headers() -> Sequence[Header]:
        raise ValueError(why)

    return WebhookUser(headers)


_TEXTS: Final = (
    *("token", "tokenFile", "username", "password", "as", "as-uid"),
    *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
)


def _impersonation(user: Mapping[str, Any], texts: Mapping[str, str]) -> Sequence[Header]:
    """Headers that ask to act as somebody else.

    Source: ``k8s.io/client-go/transport/round_trippers.go`` impersonatingRoundTripper.
    """
    groups, extra = user.get("as-groups") or [], user.get("as-user-extra") or {}
    if not isinstance(groups, list) or not isinstance(extra, Mapping):
        raise ValueError("as-groups is no list, or as-user-extra no object")  # noqa: TRY004 - told alike
    if not texts["as"]:
        return ()
    headers = [("Impersonate-User", texts["as"])]
    if texts["as-uid"]:
        headers.append(("Impersonate-Uid", texts["as-uid"]))
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in extra.items():
        name = f"Impersonate-Extra-{quote(str(key), safe=_TOKEN)}"
        headers += [(name, str(value)) for value in (values or [])]
    return headers


_TOKEN: Final = "!#$&'*+-.^_`|~"  # noqa: S105 - what a header's name may have besides letters and digits


def _pair(texts: Mapping[str, str], directory: Path) -> Callable[[], Pair] | None:
    """What reads the user's certificate; None: it has none, or no key. Data in the kubeconfig come before files."""
    certificate, key = texts["client-certificate"], texts["client-key"]
    data = _decoded(texts, "client-certificate-data"), _decoded(texts, "client-key-data")
    if not (certificate or data[0]) or not (key or data[1]):
        return None
    if certificate and key and not any(data):
        return ClientPair(directory / certificate, directory / key, "the webhook user's").current
    return lambda: Pair(data[0] or (directory / certificate).read_bytes(), data[1] or (directory / key).read_bytes())


def _decoded(texts: Mapping[str, str], name: str) -> bytes:
    try:
        return base64.b64decode(texts[name], validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name}: {error}") from None


def _text(user: Mapping[str, Any], name: str) -> str:
    value = user.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value or ""


def _bearer(token: str) -> Header:
    return "Authorization", f"Bearer {token}"


class _TokenFile:
    """A token in a file, read again once a minute; while it cannot be read, the last one stays."""

    def __init__(self, path: Path, clock: Clock, first: str = "") -> None:
        self._path = path
        self._clock = clock
        self._value = first
        self._until = 0.0

    def __call__(self) -> str:
        """The token.

        Raises:
            OSError: The file could not be read yet.
            ValueError: It is empty, or no text.
        """
        now = self._clock.seconds()
        if now >= self._until:
            try:
                self._value = self._read()
            except (OSError, ValueError):
                if not self._value:
                    raise
            self._until = now + TOKEN_PERIOD
        return self._value

    def refused(self) -> None:
        """Read it with the next call (``k8s.io/client-go/transport`` cachingTokenSource.ResetTokenOlderThan)."""
        self._until = 0.0

    def _read(self) -> str:
        with self._path.open("rb") as file:
            value = file.read(LARGEST).decode().strip()
        if not value:
            raise ValueError(f"read empty token from file {go_quote(str(self._path))}")
        return value
