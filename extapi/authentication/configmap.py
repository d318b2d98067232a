"""Trust as the cluster publishes it: the ConfigMap ``kube-system/extension-apiserver-authentication`` (spec A1-A9).

Read once at the start, then followed by a watch of that one name. Whatever becomes unreadable, the last good state
stays. Must not know how trust is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from twisted.logger import Logger

from extapi.authentication.certificates import BundleError
from extapi.authentication.settings import HeaderNames, Settings
from extapi.authentication.subject import subject_flag
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.client.informer import Informer
from extapi.client.kube import Client, Obj, ResourceName
from extapi.errors import ApiError, Forbidden, NotFound

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"
ROLE = "extension-apiserver-authentication-reader"

_CONFIGMAPS = ResourceName("", "v1", "configmaps")

_NAME_KEYS: Mapping[str, str] = {
    "username": "requestheader-username-headers",
    "uid": "requestheader-uid-headers",
    "group": "requestheader-group-headers",
    "extra_prefix": "requestheader-extra-headers-prefix",
    "allowed": "requestheader-allowed-names",
}

_NOT_CONFIGURED = (
    f"the cluster's aggregation layer is not configured: {NAMESPACE}/{NAME} has no requestheader-client-ca-file, so "
    "that no request that kube-apiserver proxies can be authenticated. Start kube-apiserver with "
    "--requestheader-client-ca-file, --requestheader-allowed-names, --requestheader-username-headers, "
    "--requestheader-group-headers, --requestheader-extra-headers-prefix, --proxy-client-cert-file and "
    "--proxy-client-key-file (Kubernetes documentation: 'Configure the Aggregation Layer'); this server then goes on by itself"
)


class LookupFailed(Exception):
    """The ConfigMap could not be read at the start; the text says what to do."""


class AuthenticationConfigMap:
    """Keeps ``settings`` as the ConfigMap says.

    ``clients``, ``proxies``: whether it decides on the CA of client certificates, and on everything about front
    proxies; ``False`` where flags do (spec A9). ``jitter``: random numbers in [0, 1).
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        settings: Settings,
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
        """Read it now. A ConfigMap that does not exist is fine: the watch picks it up later (spec A3).

        Raises :class:`LookupFailed`; with ``tolerate`` request-header authentication is off from then on (spec A4).
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
        except (ApiError, TransportError, BundleError, ValueError) as error:
            failure = LookupFailed(_advice(error))
            if not tolerate:
                raise failure from error
            self._log.warn("request-header authentication is off: {error}", error=str(failure))
            self._proxies = False
            self._settings.distrust_proxies()

    def _check_layer(self, data: Mapping[str, Any]) -> None:
        """Say so if the cluster does not know aggregation: nothing that kube-apiserver proxies could be believed then.

        Not a reason to end: kube-apiserver may be started anew with its flags, and others may call directly.
        """
        authority = data.get("requestheader-client-ca-file")
        missing = self._proxies and not (isinstance(authority, str) and authority.strip())
        if missing and not self._layer_missing:
            self._log.error(_NOT_CONFIGURED)
        elif self._layer_missing and not missing:
            self._log.info("the cluster's aggregation layer is configured now")
        self._layer_missing = missing

    def start(self) -> None:
        """Follow the ConfigMap from now on."""
        self._informer.start()

    def stop(self) -> None:
        """Follow it no more."""
        self._informer.stop()

    def _changed(self, kind: str, obj: Obj) -> None:
        metadata = obj.get("metadata") or {}
        if kind == "DELETED" or metadata.get("name") != NAME:
            return  # the last good state stays (spec A7)
        try:
            self._apply(obj)
            if self._layer_missing:
                self._check_layer(obj.get("data") or {})
        except (BundleError, ValueError) as error:
            self._log.error(
                "{ns}/{name}: the last good state stays in force: {error}", ns=NAMESPACE, name=NAME, error=str(error)
            )

    def _apply(self, obj: Obj) -> None:
        """Each part for itself: one that is broken must not hold back another. Raises the first error at the end."""
        data = obj.get("data") or {}
        problems: list[Exception] = []
        if self._clients:
            problems += _attempt(self._settings.trust_clients, data.get("client-ca-file"))
        if self._proxies:
            problems += _attempt(self._settings.trust_proxies, data.get("requestheader-client-ca-file"))
            try:
                self._settings.use_names(header_names(data))
            except ValueError as error:
                problems.append(error)
        if problems:
            raise problems[0]


def header_names(data: Mapping[str, Any]) -> HeaderNames:
    """The five lists; a missing or empty one is an empty list, anything else but JSON strings a ValueError (spec A2)."""
    lists: dict[str, tuple[str, ...]] = {}
    for member, key in _NAME_KEYS.items():
        text = data.get(key) or "[]"
        try:
            values = msgspec.json.decode(text, type=list[str] | None) or []
        except (msgspec.DecodeError, TypeError, RecursionError) as error:
            raise ValueError(f"{key}: {error}") from error
        # Blank header names would match what nobody meant; common names are compared as they are.
        lists[member] = tuple(values) if member == "allowed" else tuple(v.lower() for v in values if v.strip())
    return HeaderNames(**lists)


def _attempt(apply: Callable[[bytes], object], pem: Any) -> list[Exception]:
    if not isinstance(pem, str) or not pem.strip():
        return []  # missing or empty: the last good bundle stays (spec A7)
    try:
        apply(pem.encode())
    except BundleError as error:
        return [error]
    return []


def _advice(error: Exception) -> str:
    text = f"unable to load configmap {NAMESPACE}/{NAME}: {error}"
    if isinstance(error, Forbidden):
        text += (
            f". Usually fixed by 'kubectl create rolebinding -n {NAMESPACE} ROLEBINDING_NAME --role={ROLE}"
            f" {subject_flag(str(error))}'"
        )
    return text
