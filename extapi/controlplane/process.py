"""The control plane from start to stop: its parts around one server on loopback.

It is ready once the bootstrap objects exist and the access rules are known. Knows how the parts fit together, and none of
their rules.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm

from extapi import Context
from extapi.api.definition import Api
from extapi.authentication.authenticator import Authenticator, UnionAuthenticator
from extapi.authentication.bearer import Bearer, WebsocketBearer
from extapi.authentication.bundle import BundleFile
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.loopback import Loopback
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.authorization.alwaysallow import AlwaysAllowGroups
from extapi.authorization.authorizer import UnionAuthorizer
from extapi.client.services import by_objects
from extapi.controlplane.access.rbac import RBAC
from extapi.controlplane.access.tokens import Tokens
from extapi.controlplane.admission import ControlPlaneAdmission
from extapi.controlplane.aggregator.aggregator import Aggregator
from extapi.controlplane.api import control_plane_api
from extapi.controlplane.bootstrap import STEPS, Bootstrap
from extapi.controlplane.controllers.policytypes import PolicyTypeController
from extapi.controlplane.customresources.controller import DefinitionController
from extapi.controlplane.customresources.emptying import Emptier
from extapi.controlplane.customresources.served import CustomResources
from extapi.controlplane.options import ControlPlaneOptions, FlagError
from extapi.crd.webhooks import Webhooks
from extapi.listener.state import Limits, OnFinished
from extapi.listener.tls import ServingCertificate
from extapi.server.health import Check, NamedCheck
from extapi.server.kindsources import KindSources
from extapi.server.servedmetrics import source_families
from extapi.server.server import RequestAuth, Server
from extapi.server.serving import Serving, name_authorities
from extapi.storage.url import open_backend

HEADERS = HeaderNames(
    username=("x-remote-user",), uid=("x-remote-uid",), group=("x-remote-group",), extra_prefix=("x-remote-extra-",)
)
"""The headers in which the front proxy names a user."""


class Started:
    """The last part that the server starts: the server is ready once this is started."""

    def __init__(self) -> None:
        self._yes = False

    async def start(self, context: Context) -> None:
        """Note that all other parts have been started."""
        del context
        self._yes = True

    def yes(self) -> bool:
        """Whether all is started."""
        return self._yes

    def check(self) -> str | None:
        """The readiness check."""
        return None if self._yes else "not all parts have been started"


class ControlPlaneProcess:
    """One control plane. :meth:`run` serves until :meth:`stop` is called."""

    def __init__(self, options: ControlPlaneOptions, reactor: Any, access_log: OnFinished) -> None:
        """Read the files that the options name.

        Raises:
            BundleError: A file of authorities is not valid.
            CertificateError: The serving certificate or its key is not valid.
            FlagError: Another file cannot be used.
            UnusableFile: The database cannot be used.
        """
        secret, settings = secrets.token_hex(32), TrustSettings()
        self._files = _trusted(options, settings, reactor)
        tls = ServingCertificate(options.tls_cert_file, options.tls_private_key_file)
        name_authorities(tls, settings)
        client_ca = _read(options.client_ca_file).decode(errors="replace")
        bootstrap = _bootstrap(options, client_ca)
        self._started = Started()
        rbac = RBAC()
        authorizer = UnionAuthorizer([AlwaysAllowGroups(), rbac])
        tokens = _tokens(options, reactor)
        self._aggregator = Aggregator(
            certificate=options.proxy_client_cert_file, key=options.proxy_client_key_file, reactor=reactor
        )
        services = by_objects(self._aggregator.service)
        self._admission = ControlPlaneAdmission(
            authorizer, services, self._started.yes, reactor, disabled=options.disabled_plugins
        )
        backend = open_backend(options.storage, reactor)
        self._definitions = CustomResources(Webhooks(services, reactor))
        built_in: set[tuple[str, str]] = set()
        emptier = Emptier(self._aggregator.direct, backend, reactor, built_in)
        api = control_plane_api(
            authorizer=authorizer,
            roles=rbac,
            tokens=tokens,
            clock=reactor,
            root_ca=client_ca,
            controllers=self._controllers(emptier, reactor),
        )
        built_in.update((group.name, kind.plural) for group in api.groups for kind in group.kinds)
        server = Server(
            api,
            backend,
            reactor,
            auth=RequestAuth(_authenticator(secret, settings, tokens, reactor), settings, authorizer, secret),
            builtin=self._builtin(bootstrap, rbac, tokens),
            checks=self._checks(bootstrap),
            store_check="etcd",
            front=self._aggregator.front,
            long_running=self._aggregator.long_running,
            pool=reactor.getThreadPool(),
        )
        self._admission.follow(server.transport())
        self._follow(server, api, reactor)
        self._serving = _serving(server, tls, options, reactor, access_log)

    def _controllers(self, emptier: Emptier, reactor: Any) -> list[Any]:
        return [
            DefinitionController(self._definitions, emptier),
            PolicyTypeController(reactor, reactor.getThreadPool()),
        ]

    def _builtin(self, *parts: Any) -> list[Any]:
        """What is started, in this order; those of it that are admission plugins are asked in this order."""
        started = (self._aggregator, self._started)
        return [self._admission, self._definitions, *self._admission.plugins, *parts, *started]

    def _follow(self, server: Server, api: Api, reactor: Any) -> None:
        """Have the aggregator and the definitions follow what the server serves, and metrics tell it."""
        server.observers.append(self._aggregator.own_changed)
        sources = KindSources(api.groups, server.replace, reactor)
        self._definitions.serve_by(sources.offer)
        server.metrics.add(lambda: source_families(sources.counts()))

    def _checks(self, bootstrap: Bootstrap) -> list[NamedCheck]:
        """The health checks, named after kube-apiserver's hooks for the same things."""
        hooks: dict[str, Check] = {
            "start-apiserver-admission-initializer": self._admission.check,
            **{step: partial(bootstrap.unfinished, step) for step in STEPS},
            "crd-informer-synced": self._definitions.check,
            "start-kube-aggregator-informers": self._aggregator.synced,
            "apiservice-registration-controller": self._aggregator.synced,
            "kube-apiserver-autoregistration": self._aggregator.registered,
            "generic-apiserver-start-informers": self._started.check,
        }
        return [
            *(NamedCheck(f"poststarthook/{name}", check) for name, check in hooks.items()),
            NamedCheck("autoregister-completion", self._aggregator.registered),
        ]

    async def run(self) -> int:
        """Serve until stopped; returns the exit status."""
        for file in self._files:
            file.load()
            file.start()
        try:
            return await self._serving.run()
        finally:
            self._aggregator.stop()
            self._admission.stop()
            for file in self._files:
                file.stop()

    def stop(self) -> None:
        """Start the shutdown."""
        self._serving.stop()


def _authenticator(secret: str, settings: TrustSettings, tokens: Tokens, reactor: Any) -> Authenticator:
    return UnionAuthenticator(
        [
            Loopback(secret),
            RequestHeader(settings, reactor),
            ClientCertificate(settings, reactor),
            Bearer(tokens),
            WebsocketBearer(tokens),
        ]
    )


def _tokens(options: ControlPlaneOptions, clock: Any) -> Tokens:
    try:
        return Tokens(_read(options.service_account_key_file), options.service_account_issuer, clock)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:  # TypeError: the key is encrypted
        raise FlagError(f"--service-account-key-file: {error}") from error


def _trusted(options: ControlPlaneOptions, settings: TrustSettings, reactor: Any) -> list[BundleFile]:
    """The files with the authorities of clients and of front proxies; ``settings`` follow them."""
    settings.use_names(replace(HEADERS, allowed=options.requestheader_allowed_names))
    return [
        BundleFile(options.client_ca_file, settings.trust_clients, reactor),
        BundleFile(options.requestheader_client_ca_file, settings.trust_proxies, reactor),
    ]


def _bootstrap(options: ControlPlaneOptions, client_ca: str) -> Bootstrap:
    return Bootstrap(
        client_ca=client_ca,
        proxy_ca=_read(options.requestheader_client_ca_file).decode(errors="replace"),
        proxy_names=options.requestheader_allowed_names,
        port=options.secure_port,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FlagError(f"cannot read {path}: {error.strerror}") from error


def _serving(
    server: Server, tls: ServingCertificate, options: ControlPlaneOptions, reactor: Any, access_log: OnFinished
) -> Serving:
    return Serving(
        server,
        reactor,
        tls=tls,
        interface=options.bind_address,
        port=options.secure_port,
        access_log=access_log,
        limits=Limits(request=options.request_timeout),
    )
