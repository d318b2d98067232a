"""Authentication and authorization delegated to the cluster, as the flags say (behaviour A, B).

Makes the clients that reach kube-apiserver, and puts authenticators and authorizers in order.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Protocol

from extapi.authentication.authenticator import Authenticator, UnionAuthenticator
from extapi.authentication.bearer import Bearer, WebsocketBearer
from extapi.authentication.bundle import BundleFile
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.configmap import AuthenticationConfigMap
from extapi.authentication.loopback import Loopback
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.tokenreview import TokenReviewer
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.authorization.alwaysallow import AlwaysAllowGroups, AlwaysAllowPaths
from extapi.authorization.authorizer import Authorizer, UnionAuthorizer
from extapi.authorization.subjectaccessreview import SubjectAccessReviewer
from extapi.client.credentials import Credentials, CredentialsError, in_cluster
from extapi.client.http import HttpTransport
from extapi.client.kube import Client
from extapi.client.kubeconfig import load_kubeconfig
from extapi.client.limited import RateLimitedTransport
from extapi.client.transport import Transport
from extapi.server.options import ServerOptions
from extapi.server.rights import AuthorsClient, ClusterClient

USER_AGENT = "extapi"


class ClusterOptions(Protocol):
    """The options that say how to reach the cluster."""

    @property
    def kubeconfig(self) -> Path | None:
        """``--kubeconfig``; None: the pod's own credentials."""
        ...


def authors_client(transport: Transport) -> Client:
    """A client for authors' code, which names the rights that it lacks."""
    return AuthorsClient(transport, user_agent=USER_AGENT)


class ClusterAccess:
    """The clients of one server that reach the cluster, with one connection pool per kubeconfig."""

    def __init__(self, reactor: Any, options: ClusterOptions) -> None:
        self._reactor = reactor
        self._options = options
        self._transports: dict[Path | None, HttpTransport] = {}

    def client(self, path: Path | None, what: str) -> Client:
        """A client for the server itself.

        Args:
            path: A kubeconfig; None for that of ``--kubeconfig``, or the pod's own credentials.
            what: What the credentials are for, for messages.

        Raises:
            CredentialsError: There are no usable credentials.
        """
        return ClusterClient(self._transport(path or self._options.kubeconfig, what), user_agent=USER_AGENT)

    def for_authors(self) -> Client:
        """The client for authors' code, with the credentials of ``--kubeconfig`` or the pod, and a limited rate.

        Raises:
            CredentialsError: There are no usable credentials.
        """
        return authors_client(self.authors_transport())

    def authors_transport(self) -> Transport:
        """The way of :meth:`for_authors` to the cluster.

        Raises:
            CredentialsError: There are no usable credentials.
        """
        return RateLimitedTransport(self._transport(self._options.kubeconfig, "kubeconfig"), self._reactor)

    def _transport(self, path: Path | None, what: str) -> HttpTransport:
        if path not in self._transports:
            try:
                credentials = self._credentials(path)
            except CredentialsError as error:
                raise type(error)(f"failed to get {what}: {error}") from error
            self._transports[path] = HttpTransport(self._reactor, credentials)
        return self._transports[path]

    def _credentials(self, path: Path | None) -> Credentials:
        if path is not None:
            return load_kubeconfig(path, self._reactor)
        return in_cluster(self._reactor, os.environ)

    async def close(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.close()


class DelegatedAuth:
    """Authenticator, authorizer and trust of one server; ``secret`` is that of in-process requests.

    Raises:
        CredentialsError: There are no usable credentials for the cluster.
    """

    def __init__(self, reactor: Any, options: ServerOptions, cluster: ClusterAccess, *, random: Random) -> None:
        self.secret = secrets.token_hex(32)
        self.settings = TrustSettings()
        self._options = options
        self._files = self._bundle_files(reactor, options)
        self._configmap: AuthenticationConfigMap | None = None
        client = cluster.client(options.authentication_kubeconfig, "delegated authentication kubeconfig")
        if not options.authentication_skip_lookup:
            self._configmap = AuthenticationConfigMap(
                client,
                self.settings,
                clock=reactor,
                jitter=random.random,
                clients=options.client_ca_file is None,
                proxies=options.requestheader.ca_file is None,
            )
        tokens = TokenReviewer(
            client, clock=reactor, secret=secrets.token_bytes(32), jitter=random.random, ttl=options.token_ttl
        )
        self.authenticator: Authenticator = UnionAuthenticator(
            [
                Loopback(self.secret),
                RequestHeader(self.settings, reactor),
                ClientCertificate(self.settings, reactor),
                Bearer(tokens),
                WebsocketBearer(tokens),
            ]
        )
        self.authorizer: Authorizer = UnionAuthorizer(
            [
                AlwaysAllowGroups(),
                AlwaysAllowPaths(options.always_allow_paths),
                SubjectAccessReviewer(
                    cluster.client(options.authorization_kubeconfig, "delegated authorization kubeconfig"),
                    clock=reactor,
                    jitter=random.random,
                    authorized_ttl=options.authorized_ttl,
                    unauthorized_ttl=options.unauthorized_ttl,
                ),
            ]
        )

    def _bundle_files(self, reactor: Any, options: ServerOptions) -> list[BundleFile]:
        """The CAs that flags name; the ConfigMap does not change these (behaviour A9)."""
        wanted: list[tuple[Path | None, Callable[[bytes], object]]] = [
            (options.client_ca_file, self.settings.trust_clients),
            (options.requestheader.ca_file, self.settings.trust_proxies),
        ]
        if options.requestheader.ca_file is not None:
            proxy = options.requestheader
            self.settings.use_names(
                HeaderNames(
                    username=proxy.username_headers,
                    uid=proxy.uid_headers,
                    group=proxy.group_headers,
                    extra_prefix=proxy.extra_prefixes,
                    allowed=proxy.allowed_names,
                )
            )
        return [BundleFile(path, apply, reactor) for path, apply in wanted if path is not None]

    async def start(self) -> None:
        """Read what is trusted, then follow its changes.

        Raises:
            BundleError: A file cannot be read or used.
            LookupFailed: The ConfigMap cannot be read.
        """
        for file in self._files:
            file.load()
            file.start()
        if self._configmap is not None:
            await self._configmap.load(tolerate=self._options.authentication_tolerate_lookup_failure)
            self._configmap.start()

    def problem(self) -> str | None:
        """None, or why what is trusted may be out of date; for ``/readyz``."""
        return self._configmap.problem() if self._configmap is not None else None

    def stop(self) -> None:
        """Stop following."""
        for file in self._files:
            file.stop()
        if self._configmap is not None:
            self._configmap.stop()
