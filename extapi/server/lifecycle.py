"""From start to stop of an extension server's process: store, cluster, server (spec H11, H12, H15)."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import structlog
from OpenSSL import SSL

from extapi.admission.namespaces import NamespaceLifecycle
from extapi.api.definition import Api
from extapi.client.informer import Informer
from extapi.client.kube import ResourceName
from extapi.listener.selfsigned import self_signed
from extapi.listener.service import Describe, Limits, OnFinished
from extapi.listener.tls import ServingCertificate
from extapi.server.delegation import Cluster, Delegation
from extapi.server.generic import Server
from extapi.server.health import NamedCheck
from extapi.server.options import ServerOptions
from extapi.server.serving import Serving, name_authorities
from extapi.server.version import version_info
from extapi.storage.url import open_backend

NAMESPACES = ResourceName("", "v1", "namespaces")


class Process:
    """One server process: :meth:`run` starts it, :meth:`stop` ends it, and :meth:`run` returns then."""

    def __init__(
        self,
        api: Api,
        options: ServerOptions,
        reactor: Any,
        access_log: OnFinished,
        *,
        describe: Describe | None = None,
    ) -> None:
        """``describe``: what the answer to a request says of an unexpected error; for development only."""
        self._log = structlog.get_logger("extapi.server")
        self._random = Random()  # noqa: S311 - for names and delays, nothing secret
        certificate, key = options.tls_cert_file, options.tls_private_key_file
        if certificate is None or key is None:
            now = datetime.fromtimestamp(reactor.seconds(), UTC)
            certificate, key = self_signed(options.cert_dir, now)
        tls = ServingCertificate(
            certificate,
            key,
            minimum=SSL.TLS1_3_VERSION if options.tls_min_version == "VersionTLS13" else SSL.TLS1_2_VERSION,
        )
        self._cluster = Cluster(reactor, options)
        self._delegation = Delegation(reactor, options, self._cluster, random=self._random)
        name_authorities(tls, self._delegation.settings)
        core = self._cluster.client(None, "kubeconfig")
        self._namespaces = Informer(core, NAMESPACES, clock=reactor, jitter=self._random.random)
        server = Server(
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
                ),
                NamedCheck("authentication-trust", lambda: None, frozenset({"readyz"}), self._delegation.settings.note),
            ],
            log_health=lambda endpoint, check, reason: self._log.warning(
                "health check failed", endpoint=endpoint, check=check, reason=reason
            ),
            pool=reactor.getThreadPool(),
            reads=options.reads,
            writes=options.writes,
            reauthorize=options.watch_reauthorize,
            random=self._random,
            describe=describe,
            cluster=self._cluster.for_authors(),
        )
        self._serving = Serving(
            server,
            reactor,
            tls=tls,
            interface=options.bind_address,
            port=options.secure_port,
            limits=Limits(request=options.request_timeout),
            access_log=access_log,
            delay=options.shutdown_delay,
            describe=describe,
        )

    async def run(self) -> int:
        """Serve until stopped; the exit status."""
        await self._delegation.start()
        self._namespaces.start()
        status = await self._serving.run()
        self._delegation.stop()
        self._namespaces.stop()
        await self._cluster.close()
        return status

    def stop(self) -> None:
        """Begin to end: readiness off, then no new connections, then what is in flight, then watches and the store."""
        self._serving.stop()
