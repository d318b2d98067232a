"""A webhook server's process from start to stop: its cluster, its certificates, the server."""

from __future__ import annotations

from random import Random
from typing import Any

from OpenSSL import SSL
from twisted.internet.defer import Deferred

from extapi.api.definition import Api
from extapi.authentication.bundle import BundleFile
from extapi.authentication.trust import TrustSettings
from extapi.client.credentials import NotInCluster
from extapi.client.kube import Client
from extapi.crd.expressible import not_supported
from extapi.listener.state import Limits, OnFinished
from extapi.listener.tls import ServingCertificate
from extapi.server.delegation import ClusterAccess
from extapi.server.serving import Serving, name_authorities
from extapi.server.structuredlog import structlog
from extapi.webhooks.access import delegated
from extapi.webhooks.authors import AuthorsCluster
from extapi.webhooks.bounds import TOGETHER
from extapi.webhooks.callers import Callers
from extapi.webhooks.options import WebhookOptions
from extapi.webhooks.server import WebhookServer, is_started


class WebhookProcess:
    """One process: :meth:`run` starts it and returns after :meth:`stop`.

    Args:
        api: The API.
        options: The flags.
        reactor: The reactor.
        access_log: Is called after each request.

    Raises:
        CertificateError: The serving certificate cannot be used.
        CredentialsError: Plugins or controllers need a cluster, and there are no usable credentials for it; or it is unknown
            where the controllers' Lease is.
        DeclarationError: The API is wrong.
    """

    def __init__(self, api: Api, options: WebhookOptions, reactor: Any, access_log: OnFinished) -> None:
        self._log = structlog.get_logger("extapi.webhooks")
        minimum = SSL.TLS1_3_VERSION if options.tls_min_version == "VersionTLS13" else SSL.TLS1_2_VERSION
        tls = ServingCertificate(options.tls_cert_file, options.tls_private_key_file, minimum=minimum)
        settings = TrustSettings()
        self._authorities: BundleFile | None = None
        callers = None
        if options.client_ca_file is not None:
            self._authorities = BundleFile(options.client_ca_file, settings.trust_clients, reactor)
            callers = Callers(settings, reactor, options.client_allowed_names)
            name_authorities(tls, settings)
        self._cluster = ClusterAccess(reactor, options)
        random = Random()  # noqa: S311 - for delays, nothing secret
        authors = AuthorsCluster(api, self._cluster, reactor, random)
        self._server = WebhookServer(
            api,
            reactor,
            context=authors.context() if is_started(api) else None,
            callers=callers,
            controllers=authors.controllers(options) if api.controllers else None,
            log_health=self._log_health,
            pool=reactor.getThreadPool(),
            access=delegated(_optional(self._cluster), options.always_allow_paths, reactor, random.random),
        )
        for text in not_supported(api):
            self._log.warning("not supported as a webhook", what=text)
        if callers is None:
            self._log.warning("--client-ca-file is not given: anybody who reaches the port may ask for admission")
        self._serving = Serving(
            self._server,
            reactor,
            tls=tls,
            interface=options.bind_address,
            port=options.secure_port,
            limits=Limits(request=options.request_timeout, bodies=TOGETHER),
            access_log=access_log,
            delay=options.shutdown_delay,
            started=self._started,
        )

    async def run(self) -> int:
        """Serve until stopped; the exit status.

        Raises:
            BundleError: The file of ``--client-ca-file`` cannot be used.
            BindError: The address cannot be listened on.
            Exception: What a plugin raises when it is started.
        """
        if self._authorities is not None:
            self._authorities.load()
            self._authorities.start()
        status = await self._serving.run()
        if self._authorities is not None:
            self._authorities.stop()
        await self._cluster.close()
        return status

    def stop(self) -> None:
        """Begin to stop: readiness off, then no new connections, then reviews in flight end, then informers."""
        # Another process leads at once, while this one still answers.
        Deferred.fromCoroutine(self._server.resign())
        self._serving.stop()

    def _started(self) -> None:
        self._log.info("webhooks", paths=[path for path in self._server.paths if path.count(".") == 0])

    def _log_health(self, endpoint: str, check: str, reason: str) -> None:
        self._log.warning("health check failed", endpoint=endpoint, check=check, reason=reason)


def _optional(cluster: ClusterAccess) -> Client | None:
    """What reaches the cluster; None outside of one.

    Raises:
        CredentialsError: There are credentials, and they are not usable.
    """
    try:
        return cluster.client(None, "kubeconfig")
    except NotInCluster:
        return None
