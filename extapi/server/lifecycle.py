"""From start to stop of the process: store, cluster, listener, signals (spec H11, H12, H15).

The process ends when its listener dies, and when it is told to; in both cases in order.
"""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from random import Random
from typing import Any

import structlog
from OpenSSL import SSL
from twisted.internet.defer import Deferred

from extapi.admission.namespaces import NamespaceLifecycle
from extapi.api.definition import Api
from extapi.client.informer import Informer
from extapi.client.kube import ResourceName
from extapi.listener.listener import Listener
from extapi.listener.selfsigned import self_signed
from extapi.listener.service import Limits, OnFinished
from extapi.listener.tls import ServingCertificate
from extapi.server.delegation import Cluster, Delegation
from extapi.server.generic import Server
from extapi.server.health import NamedCheck
from extapi.server.options import ServerOptions
from extapi.server.version import version_info
from extapi.storage.url import open_backend

NAMESPACES = ResourceName("", "v1", "namespaces")

DRAIN = 60.0
"""Seconds that requests in flight get at the end (spec H12)."""


class Process:
    """One server process: :meth:`run` starts it, :meth:`stop` ends it, and :meth:`run` returns then."""

    def __init__(self, api: Api, options: ServerOptions, reactor: Any, access_log: OnFinished) -> None:
        self._log = structlog.get_logger("extapi.server")
        self._options = options
        self._reactor = reactor
        self._ended: Deferred[int] = Deferred()
        self._random = Random()  # noqa: S311 - for names and delays, nothing secret
        certificate, key = options.tls_cert_file, options.tls_private_key_file
        if certificate is None or key is None:
            now = datetime.fromtimestamp(reactor.seconds(), UTC)
            certificate, key = self_signed(options.cert_dir, now)
        self._certificate = ServingCertificate(
            certificate,
            key,
            minimum=SSL.TLS1_3_VERSION if options.tls_min_version == "VersionTLS13" else SSL.TLS1_2_VERSION,
        )
        self._cluster = Cluster(reactor, options)
        self._delegation = Delegation(reactor, options, self._cluster, random=self._random)
        self._delegation.settings.observers.append(self._name_client_cas)
        core = self._cluster.client(None, "kubeconfig")
        self._namespaces = Informer(core, NAMESPACES, clock=reactor, jitter=self._random.random)
        self._server = Server(
            api,
            open_backend(options.storage, reactor),
            reactor,
            authenticator=self._delegation.authenticator,
            settings=self._delegation.settings,
            authorizer=self._delegation.authorizer,
            secret=self._delegation.secret,
            version=version_info(),
            builtin=[
                NamespaceLifecycle(cache=self._namespaces, live=lambda name: core.get(NAMESPACES, name), clock=reactor),
            ],
            checks=[
                NamedCheck(
                    "informer-sync",
                    lambda: None if self._namespaces.synced else "namespaces have not been listed yet",
                    frozenset({"readyz"}),
                )
            ],
            log_health=lambda endpoint, check, reason: self._log.warning(
                "health check failed", endpoint=endpoint, check=check, reason=reason
            ),
            pool=reactor.getThreadPool(),
            reads=options.reads,
            writes=options.writes,
            random=self._random,
        )
        self._listener = Listener(
            reactor,
            self._server.handler,
            tls=self._certificate,
            interface=options.bind_address,
            port=options.secure_port,
            limits=Limits(request=options.request_timeout),
            on_died=self._died,
            on_finished=access_log,
        )

    async def run(self) -> int:
        """Serve until stopped; the exit status."""
        await self._delegation.start()
        self._namespaces.start()
        address, port = self._listener.start()
        await self._server.start()
        # What is there now stays for good: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        self._log.info("serving", address=address, port=port)
        return await self._ended

    def stop(self) -> None:
        """Begin to end: readiness off, then no new connections, then what is in flight, then watches and the store."""
        if self._server.shutdown.requested:
            return
        self._server.shutdown.requested = True
        self._log.info("stopping")
        self._reactor.callLater(self._options.shutdown_delay, self._end, 0)

    def _name_client_cas(self) -> None:
        """Tell clients which authorities are believed, so that they choose the right certificate (spec A11)."""
        settings = self._delegation.settings
        bundles = [bundle for bundle in (settings.client_ca, settings.proxy_ca) if bundle is not None]
        self._certificate.set_client_ca_names(ca for bundle in bundles for ca in bundle.certificates)

    def _died(self, reason: BaseException) -> None:
        self._log.error("the listener has died", reason=str(reason))
        self._server.shutdown.requested = True
        self._end(1)

    def _end(self, status: int) -> None:
        self._server.shutdown.refusing = True
        ending = Deferred.fromCoroutine(self._drain())
        ending.addBoth(lambda _: self._ended.callback(status))

    async def _drain(self) -> None:
        await self._listener.drain(DRAIN)
        self._delegation.stop()
        self._namespaces.stop()
        await self._server.stop()
        await self._cluster.close()
