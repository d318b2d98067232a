"""Trust that the cluster publishes in the ConfigMap ``kube-system/extension-apiserver-authentication`` (behaviour A1-A9).

It is read at start, then followed by a watch of that one name. If a part becomes unreadable, its last good state stays in
force. Must not know how trust is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from twisted.logger import Logger

from extapi.authentication.bundle import Bundle, BundleError
from extapi.authentication.trust import (
    CLIENT_CA,
    NAME_KEYS,
    PROXY_CA,
    UNREADABLE,
    HeaderNames,
    TrustRefused,
    TrustSettings,
)
from extapi.client.informer import Informer
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.transport import TransportError
from extapi.clock import Clock
from extapi.errors import ApiError, Forbidden, NotFound

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"
ROLE = "extension-apiserver-authentication-reader"

_CONFIGMAPS = ResourceName("", "v1", "configmaps")

_NOT_CONFIGURED = (
    f"the cluster's aggregation layer is not configured: {NAMESPACE}/{NAME} has no requestheader-client-ca-file, so "
    "requests that kube-apiserver proxies cannot be authenticated. Start kube-apiserver with "
    "--requestheader-client-ca-file, --requestheader-allowed-names, --requestheader-username-headers, "
    "--requestheader-group-headers, --requestheader-extra-headers-prefix, --proxy-client-cert-file and "
    "--proxy-client-key-file (Kubernetes documentation: 'Configure the Aggregation Layer'); this server need not be restarted"
)
_ANY_NAME = (
    f"{NAMESPACE}/{NAME} has no requestheader-allowed-names: any certificate of its requestheader-client-ca-file may act as "
    "any user. Start kube-apiserver with --requestheader-allowed-names, the common name of --proxy-client-cert-file"
)


class LookupFailed(Exception):
    """The ConfigMap could not be read at start; the text says what to do."""


class AuthenticationConfigMap:
    """Updates ``settings`` from the ConfigMap.

    Args:
        client: Reaches the cluster.
        settings: What to update.
        clock: The time.
        jitter: Random numbers in [0, 1).
        clients: Whether the ConfigMap, not a flag, names the CA of client certificates (behaviour A9).
        proxies: Whether the ConfigMap, not flags, says everything about front proxies.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        settings: TrustSettings,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        clients: bool = True,
        proxies: bool = True,
    ) -> None:
        self._client = client
        self._settings = settings
        self._clients = clients
        self._proxies = proxies
        self._layer_missing = False
        self._any_name_told = False
        self._informer = Informer(
            client,
            _CONFIGMAPS,
            clock=clock,
            jitter=jitter,
            namespace=NAMESPACE,
            field_selector=f"metadata.name={NAME}",
            on_change=self._changed,
        )

    async def load(self, *, tolerate: bool = False) -> None:
        """Read it now. It need not exist yet; the watch then finds it later (behaviour A3).

        Args:
            tolerate: Turn request-header authentication off if it cannot be read, instead of raising (behaviour A4).

        Raises:
            LookupFailed: It cannot be read.
        """
        try:
            try:
                found = await self._client.get(_CONFIGMAPS, NAME, namespace=NAMESPACE)
            except NotFound:
                self._log.info("{ns}/{name} does not exist yet", ns=NAMESPACE, name=NAME)
                self._check_layer({})
                return
            self._apply(found)
            self._check_layer(found.get("data") or {})
        except (ApiError, TransportError, BundleError) as error:
            failure = LookupFailed(_advice(error))
            if not tolerate:
                raise failure from error
            self._log.warn("request-header authentication is off: {error}", error=str(failure))
            self._proxies = False
            self._settings.distrust_proxies()

    def _check_layer(self, data: Mapping[str, Any]) -> None:
        """Log an error if the cluster's aggregation layer is not configured.

        The server goes on: kube-apiserver may be restarted with the flags, and clients may send requests directly.
        """
        authority = data.get("requestheader-client-ca-file")
        missing = self._proxies and not (isinstance(authority, str) and authority.strip())
        if missing and not self._layer_missing:
            self._log.error(_NOT_CONFIGURED)
        elif self._layer_missing and not missing:
            self._log.info("the cluster's aggregation layer is configured now")
        self._layer_missing = missing

    def start(self) -> None:
        """Follow the ConfigMap."""
        self._informer.start()

    def stop(self) -> None:
        """Stop following it."""
        self._informer.stop()

    def problem(self) -> str | None:
        """None, or why what is trusted may be out of date."""
        return self._informer.problem()

    def _changed(self, kind: str, obj: Obj) -> None:
        metadata = obj.get("metadata") or {}
        if kind == "DELETED" or metadata.get("name") != NAME:
            return  # the last good state stays (behaviour A7)
        try:
            self._apply(obj)
            if self._layer_missing:
                self._check_layer(obj.get("data") or {})
        except BundleError as error:
            self._log.error(
                "{ns}/{name}: the last good state stays in force: {error}", ns=NAMESPACE, name=NAME, error=str(error)
            )

    def _apply(self, obj: Obj) -> None:
        """Follow each part by itself: a broken one does not hold back the others.

        Raises:
            TrustRefused: A part is not followed; raised after the others were.
        """
        data = obj.get("data") or {}
        settings = self._settings
        problems: list[str] = []
        names = None
        if self._proxies:
            try:
                names = header_names(data)
            except UnreadableList as error:
                settings.not_followed[error.key] = UNREADABLE
                problems.append(str(error))
        try:
            settings.update(
                clients=_pem(data, CLIENT_CA, settings.client_ca) if self._clients else None,
                proxies=_pem(data, PROXY_CA, settings.proxy_ca) if self._proxies else None,
                names=names,
            )
        except BundleError as error:
            problems.insert(0, str(error))
        if self._proxies and settings.proxy_ca is not None and not settings.names.allowed and not self._any_name_told:
            self._any_name_told = True
            self._log.warn(_ANY_NAME)
        if problems:
            raise TrustRefused("; ".join(problems))


class UnreadableList(ValueError):
    """The value at ``key`` is no list of strings."""

    def __init__(self, key: str, why: object) -> None:
        super().__init__(f"{key}: {why}")
        self.key = key


def header_names(data: Mapping[str, Any]) -> HeaderNames:
    """The five lists; a missing or empty value is an empty list (behaviour A2).

    Raises:
        UnreadableList: A value is no JSON array of strings.
    """
    lists: dict[str, tuple[str, ...]] = {}
    for member, key in NAME_KEYS.items():
        text = data.get(key) or "[]"
        try:
            values = msgspec.json.decode(text, type=list[str] | None) or []
        except (msgspec.DecodeError, TypeError, RecursionError) as error:
            raise UnreadableList(key, error) from error
        # A blank prefix would match every header; common names are compared as they are.
        lists[member] = tuple(values) if member == "allowed" else tuple(v.lower() for v in values if v.strip())
    return HeaderNames(**lists)


def _pem(data: Mapping[str, Any], key: str, last: Bundle | None) -> bytes | None:
    """The PEM text at ``key``. A missing one is empty if there was a bundle before, and otherwise None."""
    pem = data.get(key)
    if isinstance(pem, str) and pem.strip():
        return pem.encode()
    return None if last is None else b""


def _advice(error: Exception) -> str:
    text = f"unable to load configmap {NAMESPACE}/{NAME}: {error}"
    if isinstance(error, Forbidden):
        text += (
            f". Usually fixed by 'kubectl create rolebinding -n {NAMESPACE} ROLEBINDING_NAME --role={ROLE}"
            f" {subject_flag(str(error))}'"
        )
    return text


_USER = re.compile(r'User "(?:system:serviceaccount:([^":]+):([^":]+)|([^"]+))"')


def subject_flag(message: str) -> str:
    """``--serviceaccount=NS:NAME`` or ``--user=NAME`` for ``kubectl create rolebinding``, from the text of RBAC's refusal."""
    found = _USER.search(message)
    if found is None:
        return "--serviceaccount=YOUR_NS:YOUR_SA"
    namespace, account, user = found.groups()
    return f'--user="{user}"' if user else f"--serviceaccount={namespace}:{account}"
