"""An extension server's process from start to stop: its cluster, its store, the server (behaviour H11, H12, H15)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from OpenSSL import SSL
from twisted.internet.defer import Deferred

from extapi.api.definition import Api
from extapi.client.clientpair import ClientPair, Pair
from extapi.client.credentials import CredentialsError
from extapi.client.services import by_dns
from extapi.client.webhookusers import WebhookUsers
from extapi.clock import wall_time
from extapi.crd.files import DefinitionFiles
from extapi.crd.webhooks import Webhooks
from extapi.listener.state import Describe, Limits, OnFinished
from extapi.listener.tls import ServingCertificate, self_signed
from extapi.server.admissionconfig import WEBHOOK_PLUGINS, read_admission_config
from extapi.server.admissionplugins import BuiltinAdmission
from extapi.server.definitionfiles import FollowedFiles
from extapi.server.delegation import ClusterAccess, DelegatedAuth
from extapi.server.electedcontrollers import MakeElector, NeverLeads
from extapi.server.election import candidate, election_of, elects
from extapi.server.health import NamedCheck
from extapi.server.kindsources import KindSources
from extapi.server.metrics import Metrics
from extapi.server.options import ServerOptions
from extapi.server.reloading import Reloader
from extapi.server.reloadmetrics import Reloads, reload_families
from extapi.server.servedfile import ServedFile
from extapi.server.servedmetrics import source_families
from extapi.server.server import RequestAuth, Server
from extapi.server.serving import Serving, name_authorities
from extapi.server.structuredlog import structlog
from extapi.storage.base import Backend, Engine, NotingEngine
from extapi.storage.compaction import INTERVAL
from extapi.storage.url import ETCD, open_backend

_READYZ = frozenset({"readyz"})


@dataclass(frozen=True)
class WorkerRole:
    """What one of several processes of a server does otherwise (``--workers``): it listens on the port beside the others."""

    leads: bool
    """Whether it leads the others, if no leader is elected."""
    open_store: Callable[[Any], Backend]
    """Opens the store, which the others use as well."""
    started: Callable[[], None]
    """Called once it serves."""


class ServerProcess:
    """One server process: :meth:`run` starts it and returns after :meth:`stop`.

    Args:
        api: What to serve.
        options: How.
        reactor: The reactor.
        access_log: Is called after each request.
        describe: Describes an author's exception to the client; for development only.
        target: ``MODULE:NAME`` of the API, for ``--reload``.
        worker: Its part in a server of several processes; None: it is the only one.

    Raises:
        CertificateError: The serving certificate cannot be used.
        CredentialsError: There are no usable credentials for the cluster.
        DeclarationError: The API cannot be served.
        UnusableStore: The store cannot be used.
    """

    def __init__(
        self,
        api: Api,
        options: ServerOptions,
        reactor: Any,
        access_log: OnFinished,
        *,
        describe: Describe | None = None,
        target: str = "",
        worker: WorkerRole | None = None,
    ) -> None:
        self._log = structlog.get_logger("extapi.server")
        self._options, self._reactor, self._worker = options, reactor, worker
        self._random = Random()  # noqa: S311 - for names and delays, nothing secret
        tls = _serving_certificate(options, reactor)
        self._cluster = ClusterAccess(reactor, options)
        self._auth = DelegatedAuth(reactor, options, self._cluster, random=self._random)
        name_authorities(tls, self._auth.settings)
        self._admission = self._builtin_admission()
        self._files = _definitions(options, reactor)
        self._backend = self._open_store()
        self._server = self._make_server(api, describe)
        sources = self._sources(api)
        self._serving = self._make_serving(tls, access_log, describe)
        self._reloader: Reloader | None = None
        if options.reload and target:
            replace = partial(self._server.replace_api, replace=sources.replace)
            self._reloader = Reloader(target, api, replace, reactor)
        self._served_file = None if options.served_file is None else ServedFile(options.served_file)

    def _open_store(self) -> Backend:
        if self._worker is not None:
            return self._worker.open_store(self._reactor)
        return open_backend(self._options.storage, self._reactor, self._options.etcd)

    def _make_server(self, api: Api, describe: Describe | None) -> Server:
        options = self._options
        return Server(
            api,
            self._backend,
            self._reactor,
            auth=self._request_auth(),
            builtin=[*self._admission.plugins, *self._files],
            checks=[*self._checks(), *(files.health for files in self._files)],
            log_health=self._log_health,
            pool=self._reactor.getThreadPool(),
            reads=options.reads,
            writes=options.writes,
            reauthorize=options.watch_reauthorize,
            random=self._random,
            describe=describe,
            cluster=self._cluster.for_authors(),
            compaction=options.etcd.compaction_interval if options.storage == ETCD else INTERVAL,
            elector=self._elector(api),
            replica=self._identity() if isinstance(self._backend, Engine) else "",
        )

    def _request_auth(self) -> RequestAuth:
        auth = self._auth
        return RequestAuth(auth.authenticator, auth.settings, auth.authorizer, auth.secret)

    def _make_serving(self, tls: ServingCertificate, access_log: OnFinished, describe: Describe | None) -> Serving:
        options = self._options
        return Serving(
            self._server,
            self._reactor,
            tls=tls,
            interface=options.bind_address,
            port=options.secure_port,
            shared=self._worker is not None,
            ready=lambda: all(each.check() is None for each in self._checks()),
            limits=Limits(request=options.request_timeout, requests=options.connection_requests),
            random=self._random,
            access_log=access_log,
            delay=options.shutdown_delay,
            describe=describe,
            started=self._started,
        )

    def _identity(self) -> str:
        """Who this process is among those on its store: in a pod, the pod's name and a number by chance."""
        return f"{socket.gethostname().replace('/', '-')}_{self._random.getrandbits(32):08x}"

    def _builtin_admission(self) -> BuiltinAdmission:
        return BuiltinAdmission(
            self._cluster.client(None, "kubeconfig"),
            self._auth.authorizer,
            self._reactor,
            random=self._random,
            disabled=self._options.disabled_plugins,
            users=_webhook_users(self._options, self._reactor),
        )

    def _elector(self, api: Api) -> MakeElector | None:
        """What makes this process a candidate; None if it always leads.

        Raises:
            CredentialsError: It is unknown where the Lease is.
        """
        if not elects(api, self._options.leader, shared=self._options.storage == ETCD):
            return None if self._worker is None or self._worker.leads else NeverLeads
        client = self._cluster.client(None, "kubeconfig")
        return candidate(client, election_of(api, self._options.leader), self._reactor, self._random)

    def _sources(self, api: Api) -> KindSources:
        """Where kinds come from, and what metrics say of that."""
        metrics, sources = self._server.metrics, KindSources(api.groups, self._server.replace, self._reactor)
        for files in self._files:
            files.serve_through(sources)
            metrics.add(files.families)
        metrics.add(self._admission.families)
        metrics.add(lambda: source_families(sources.counts()))
        metrics.add(lambda: reload_families(self._reloads()))
        return sources

    async def run(self) -> int:
        """Serve until stopped; the exit status.

        Raises:
            UnusableStore: The store's engine cannot be used.
            LookupFailed: The ConfigMap with the trust cannot be read.
            BundleError: A CA bundle cannot be used, or would let users act as any user.
            BindError: The address cannot be listened on.
        """
        if isinstance(self._backend, Engine):
            await self._backend.open()
        await self._auth.start()
        self._admission.start()
        status = await self._serving.run()
        self._auth.stop()
        self._admission.stop()
        await self._cluster.close()
        return status

    def stop(self) -> None:
        """Begin to stop: readiness off, then no new connections, then requests in flight end, then watches and the store."""
        if self._reloader is not None:
            self._reloader.stop()
        for files in self._files:
            files.stop()
        # Another process leads at once, while this one still serves.
        Deferred.fromCoroutine(self._server.resign())
        self._serving.stop()

    @property
    def metrics(self) -> Metrics:
        """What ``/metrics`` shows."""
        return self._server.metrics

    def _started(self) -> None:
        if self._worker is not None:
            self._worker.started()
        if self._served_file is not None:
            self._server.observers.append(self._note)
            self._note()
        if self._reloader is not None:
            self._reloader.start()

    def _note(self) -> None:
        if self._served_file is not None:
            self._served_file.update(self._server.groups, self._server.needs)

    def _reloads(self) -> Iterator[Reloads]:
        yield from (files.reloads for files in self._files)
        if self._reloader is not None:
            yield self._reloader.reloads

    def _checks(self) -> list[NamedCheck]:
        engine = self._backend
        note = engine.note if isinstance(engine, NotingEngine) else lambda: ""
        return [
            *([NamedCheck(engine.name, engine.check, _READYZ, note)] if isinstance(engine, Engine) else ()),
            self._admission.check(),
            NamedCheck("authentication-trust", self._auth.problem, _READYZ, self._auth.settings.note),
        ]

    def _log_health(self, endpoint: str, check: str, reason: str) -> None:
        self._log.warning("health check failed", endpoint=endpoint, check=check, reason=reason)


def _serving_certificate(options: ServerOptions, reactor: Any) -> ServingCertificate:
    """The certificate that the flags name, or a self-signed one."""
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if certificate is None or key is None:
        now = datetime.fromtimestamp(wall_time(reactor), UTC)
        certificate, key = self_signed(options.cert_dir, now, options.bind_address)
    minimum = SSL.TLS1_3_VERSION if options.tls_min_version == "VersionTLS13" else SSL.TLS1_2_VERSION
    return ServingCertificate(certificate, key, minimum=minimum)


def _definitions(options: ServerOptions, reactor: Any) -> Sequence[FollowedFiles]:
    """The files of ``--crd``; none if there are none."""
    if not options.crd:
        return []
    webhooks = Webhooks(by_dns, reactor, certificate=_webhook_client(options))
    return [FollowedFiles(DefinitionFiles(options.crd, webhooks), reactor)]


def _webhook_users(options: ServerOptions, reactor: Any) -> Mapping[str, WebhookUsers]:
    """Who to be to the cluster's webhooks, as ``--admission-control-config-file`` says.

    Raises:
        CredentialsError: The file, or one that it names, cannot be used.
    """
    if options.admission_config is None:
        return {}
    plugins = [name for name in WEBHOOK_PLUGINS if name not in options.disabled_plugins]
    try:
        return read_admission_config(options.admission_config, plugins, reactor)
    except CredentialsError as error:
        raise CredentialsError(f"--admission-control-config-file: {error}") from error


def _webhook_client(options: ServerOptions) -> Callable[[], Pair] | None:
    """What gives the certificate that conversion webhooks are shown; None if the flags name none.

    Raises:
        CredentialsError: The files hold no certificate with its key.
    """
    certificate, key = options.webhook_client_cert_file, options.webhook_client_key_file
    if certificate is None or key is None:
        return None
    made = ClientPair(certificate, key, "the webhook client's")
    try:
        made.current()
    except (OSError, ValueError) as error:
        raise CredentialsError(f"--webhook-client-cert-file, --webhook-client-key-file: {error}") from error
    return made.current
