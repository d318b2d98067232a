"""The flags of ``extapi serve``: names, defaults and rules of k8s.io/apiserver's recommended options (behaviour A9, A10, B9, L).

All mistakes are reported at once. Nothing here reads a file or opens a connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extapi.server.flag import Flag, FlagReader, OptionErrors
from extapi.server.leaderoptions import FLAGS as LEADER_FLAGS, LeaderOptions, read_leader
from extapi.storage.etcd.endpoints import EtcdOptions, check_etcd
from extapi.storage.url import ETCD, check_url

ADMISSION_PLUGINS = (
    "NamespaceLifecycle",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
)
"""The admission plugins, in the order in which they are asked."""
CONNECTION_REQUESTS = 1000
"""The default of ``--connection-requests`` if servers share a store."""
MOST_WORKERS = 64
"""The most processes of ``--workers``."""


FLAGS: Sequence[Flag] = (
    Flag("bind-address", "0.0.0.0", "The IP address to listen on; 0.0.0.0 and :: are all addresses of IPv4 and IPv6."),  # noqa: S104 - the default of the Go original
    Flag("secure-port", "443", "The port to serve HTTPS on; 0 takes a free one and logs it."),
    Flag("cert-dir", "apiserver.local.config/certificates", "Where a self-signed certificate is kept if --tls-cert-file is not given."),
    Flag("tls-cert-file", "", "The serving certificate, followed by intermediates. Reread when it changes."),
    Flag("tls-private-key-file", "", "The private key of --tls-cert-file."),
    Flag("tls-min-version", "VersionTLS12", "The minimum TLS version: VersionTLS12 or VersionTLS13."),
    Flag("kubeconfig", "", "How to reach the cluster; by default the pod's own credentials."),
    Flag("authentication-kubeconfig", "", "How to reach the cluster for TokenReviews and the ConfigMap; by default as --kubeconfig."),
    Flag("authentication-skip-lookup", "false", "Do not read the ConfigMap extension-apiserver-authentication; only flags count.", boolean=True),
    Flag("authentication-tolerate-lookup-failure", "false", "Start even if the ConfigMap cannot be read; the front proxy is then not trusted.", boolean=True),
    Flag("authentication-token-webhook-cache-ttl", "10s", "How long to cache TokenReviews."),
    Flag("client-ca-file", "", "CAs of client certificates; overrides the ConfigMap."),
    Flag("requestheader-client-ca-file", "", "CAs of the front proxy's certificate; if set, all requestheader settings come from flags."),
    Flag("requestheader-allowed-names", "", "Allowed common names of the front proxy's certificate; if empty, any is allowed, with a warning.", multiple=True),
    Flag("requestheader-username-headers", "x-remote-user", "Headers that carry the user's name.", multiple=True),
    Flag("requestheader-uid-headers", "", "Headers that carry the user's uid.", multiple=True),
    Flag("requestheader-group-headers", "x-remote-group", "Headers that carry the user's groups.", multiple=True),
    Flag("requestheader-extra-headers-prefix", "x-remote-extra-", "Prefixes of headers that carry extra fields.", multiple=True),
    Flag("authorization-kubeconfig", "", "How to reach the cluster for SubjectAccessReviews; by default as --kubeconfig."),
    Flag("authorization-always-allow-paths", "/healthz,/readyz,/livez", "Paths that anybody may read; a trailing * matches anything.", multiple=True),
    Flag("authorization-webhook-cache-authorized-ttl", "10s", "How long to cache a SubjectAccessReview that allows the request."),
    Flag("authorization-webhook-cache-unauthorized-ttl", "10s", "How long to cache any other SubjectAccessReview."),
    Flag("enable-admission-plugins", "", "Admission plugins that are asked besides the default ones, which are all of NamespaceLifecycle, MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy and ValidatingAdmissionWebhook.", multiple=True),
    Flag("disable-admission-plugins", "", "Admission plugins that are not asked. Without those of webhooks and policies, the cluster's webhooks do not see what is written here, and its policies do not hold for it.", multiple=True),
    Flag("admission-control-config-file", "", "A file of kind AdmissionConfiguration: who the server is to the cluster's webhooks."),
    Flag("watch-reauthorize", "10s", "How often open watches are authenticated and authorized again; 0: only when trust changes or a certificate expires."),
    Flag("max-requests-inflight", "400", "How many reads may run at a time; 0: no limit."),
    Flag("max-mutating-requests-inflight", "200", "How many writes may run at a time; 0: no limit."),
    Flag("leader-elect", "", "Run controllers in one process at a time, the one that holds a Lease; others take over when it ends. By default with --storage etcd: and an API that has controllers. Otherwise each process runs them.", boolean=True),
    *LEADER_FLAGS,
    Flag("request-timeout", "1m0s", "How long a request may take, unless it is a watch."),
    Flag("connection-requests", "", "About how many requests a connection serves, for some 5 minutes at most, until a response ends it, so that servers started later get their share; 0: any number. By default 1000 with --storage etcd: or --workers, else 0."),
    Flag("shutdown-delay-duration", "0s", "How long to continue serving after SIGTERM, with readiness off."),
    Flag("storage", "memory:", "Where objects are kept: memory:, sqlite:///PATH, etcd: (see --etcd-servers), or NAME:... of an installed package."),
    Flag("workers", "1", "How many processes serve on the port, for machines with several cores; not with memory:. 1: this one alone."),
    Flag("crd", "", "A file with CustomResourceDefinitions whose kinds are served, or a folder of such files; may be repeated. Changes are served without a restart.", multiple=True),
    Flag("webhook-client-cert-file", "", "The certificate that is shown to conversion webhooks of --crd which ask for one, followed by intermediates. Reread when it changes."),
    Flag("webhook-client-key-file", "", "The private key of --webhook-client-cert-file."),
    Flag("etcd-servers", "", "With --storage etcd:, the members of etcd, http://HOST:PORT or https://HOST:PORT; otherwise accepted and ignored.", multiple=True),
    Flag("etcd-prefix", "/extapi", "The prefix of all keys in etcd; servers that share it have the same objects. Must not be that of kube-apiserver."),
    Flag("etcd-cafile", "", "CAs of etcd's certificates, for https; by default the system's. Reread for each connection, as are the next two."),
    Flag("etcd-certfile", "", "The client certificate that is shown to etcd, followed by intermediates."),
    Flag("etcd-keyfile", "", "The private key of --etcd-certfile."),
    Flag("etcd-username", "", "The user that etcd authenticates with the password in --etcd-password-file."),
    Flag("etcd-password-file", "", "A file with the password of --etcd-username. Reread for each connection."),
    Flag("etcd-compaction-interval", "5m0s", "How often etcd is asked to forget what is older than this; servers on one prefix take turns. 0: never, if others compact it."),
    Flag("etcd-healthcheck-timeout", "2s", "How long etcd may take to answer before /readyz fails (check etcd)."),
    Flag("audit-log-path", "", "Accepted and ignored: nothing is recorded or written, as in k8s.io/apiserver without an audit policy."),
    Flag("audit-log-maxage", "366", "Accepted and ignored: days to keep old files of --audit-log-path."),
    Flag("audit-log-maxbackup", "100", "Accepted and ignored: old files of --audit-log-path to keep."),
    Flag("audit-log-maxsize", "100", "Accepted and ignored: megabytes per file of --audit-log-path."),
    Flag("development", "false", "Tell clients the error, file and line when your code fails. Use it only if all clients are developers; extapi dev sets it.", boolean=True),
    Flag("reload", "false", "Import the modules of MODULE:NAME again when their files change, and serve what they declare then; needs --development.", boolean=True),
    Flag("served-file", "", "Where to write which groups and versions are served, at start and after each change, as JSON; extapi dev reads it."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RequestHeaderOptions:
    """How the front proxy is authenticated, if flags say so instead of the ConfigMap."""

    ca_file: Path | None = None
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The values of all flags; durations are in seconds."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - the default of the Go original
    secure_port: int = 443
    cert_dir: Path = Path("apiserver.local.config/certificates")
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    tls_min_version: str = "VersionTLS12"
    kubeconfig: Path | None = None
    authentication_kubeconfig: Path | None = None
    authentication_skip_lookup: bool = False
    authentication_tolerate_lookup_failure: bool = False
    token_ttl: float = 10.0
    client_ca_file: Path | None = None
    requestheader: RequestHeaderOptions = field(default_factory=RequestHeaderOptions)
    authorization_kubeconfig: Path | None = None
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    authorized_ttl: float = 10.0
    unauthorized_ttl: float = 10.0
    disabled_plugins: frozenset[str] = frozenset()
    """Admission plugins that are not asked."""
    admission_config: Path | None = None
    watch_reauthorize: float = 10.0
    reads: int = 400
    writes: int = 200
    leader: LeaderOptions = field(default_factory=LeaderOptions)
    request_timeout: float = 60.0
    connection_requests: int = 0
    """About how many requests a connection serves; 0: any number."""
    shutdown_delay: float = 0.0
    storage: str = "memory:"
    workers: int = 1
    crd: tuple[Path, ...] = ()
    webhook_client_cert_file: Path | None = None
    webhook_client_key_file: Path | None = None
    etcd: EtcdOptions = field(default_factory=EtcdOptions)
    audit_log_path: str = ""
    development: bool = False
    reload: bool = False
    served_file: Path | None = None

    def notices(self) -> Iterable[str]:
        """What is logged at start: flags without effect, and flags that allow more than is needed."""
        if self.etcd.servers and self.storage != ETCD:
            yield f"--etcd-servers is not used: objects are stored in {self.storage}, as --storage says"
        if self.requestheader.ca_file is not None and not self.requestheader.allowed_names:
            yield (
                "--requestheader-allowed-names is empty: any certificate of --requestheader-client-ca-file may act as any "
                "user. Give the common name of kube-apiserver's --proxy-client-cert-file"
            )
        for name in ADMISSION_PLUGINS[1:]:
            if name in self.disabled_plugins:
                lost = (
                    "the cluster's policies do not hold for writes here"
                    if name.endswith("Policy")
                    else "the cluster's webhooks do not see writes here"
                )
                yield f"--disable-admission-plugins: {name} is not asked: {lost}"
        if self.development:
            yield "--development: clients are told errors, files and lines of the code that serves them"
        if self.audit_log_path:
            # In the words of k8s.io/apiserver (pkg/server/options/audit.go), where it is given no policy either.
            yield "--audit-log-path: No audit policy file provided, no events will be recorded for log backend"


def parse_options(raw: Mapping[str, Any]) -> ServerOptions:
    """Parse all flags.

    Args:
        raw: The texts of flags, by name.

    Raises:
        OptionErrors: Something is wrong with them; all problems are in it.
    """
    read = FlagReader(raw)
    options = ServerOptions(
        bind_address=read.address("bind-address"),
        secure_port=read.number("secure-port", 0, 65535),
        cert_dir=Path(read.text("cert-dir")),
        tls_cert_file=read.path("tls-cert-file"),
        tls_private_key_file=read.path("tls-private-key-file"),
        tls_min_version=read.one_of("tls-min-version", ("VersionTLS12", "VersionTLS13")),
        kubeconfig=read.path("kubeconfig"),
        authentication_kubeconfig=read.path("authentication-kubeconfig"),
        authentication_skip_lookup=bool(raw["authentication-skip-lookup"]),
        authentication_tolerate_lookup_failure=bool(raw["authentication-tolerate-lookup-failure"]),
        token_ttl=read.duration("authentication-token-webhook-cache-ttl"),
        client_ca_file=read.path("client-ca-file"),
        requestheader=_read_requestheader(read),
        authorization_kubeconfig=read.path("authorization-kubeconfig"),
        always_allow_paths=read.several("authorization-always-allow-paths", path_problem),
        authorized_ttl=read.duration("authorization-webhook-cache-authorized-ttl"),
        unauthorized_ttl=read.duration("authorization-webhook-cache-unauthorized-ttl"),
        disabled_plugins=_disabled_plugins(read),
        admission_config=read.path("admission-control-config-file"),
        watch_reauthorize=read.duration("watch-reauthorize"),
        reads=read.number("max-requests-inflight", 0, 1_000_000),
        writes=read.number("max-mutating-requests-inflight", 0, 1_000_000),
        leader=read_leader(read, raw["leader-elect"]),
        request_timeout=read.duration("request-timeout", zero=False),
        connection_requests=_connection_requests(read),
        shutdown_delay=read.duration("shutdown-delay-duration"),
        storage=read.text("storage"),
        workers=read.number("workers", 1, MOST_WORKERS),
        crd=read.paths("crd"),
        webhook_client_cert_file=read.path("webhook-client-cert-file"),
        webhook_client_key_file=read.path("webhook-client-key-file"),
        etcd=read_etcd(read),
        audit_log_path=read.text("audit-log-path"),
        development=bool(raw["development"]),
        reload=bool(raw["reload"]),
        served_file=read.path("served-file"),
    )
    for flag in ("audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"):
        read.number(flag, 0, 2**31 - 1)
    problems = [*read.problems, *_together(options)]
    if problems:
        raise OptionErrors(problems)
    return options


def _read_requestheader(read: FlagReader) -> RequestHeaderOptions:
    """How users are told by the front proxy."""
    return RequestHeaderOptions(
        ca_file=read.path("requestheader-client-ca-file"),
        allowed_names=read.several("requestheader-allowed-names", _blank),
        username_headers=_lower(read.several("requestheader-username-headers", _blank)),
        uid_headers=_lower(read.several("requestheader-uid-headers", _blank)),
        group_headers=_lower(read.several("requestheader-group-headers", _blank)),
        extra_prefixes=_lower(read.several("requestheader-extra-headers-prefix", _blank)),
    )


def read_etcd(read: FlagReader) -> EtcdOptions:
    """How etcd is reached. What is wrong with that matters only with ``--storage etcd:``; see :func:`_together`."""
    return EtcdOptions(
        servers=read.several("etcd-servers"),
        prefix=read.text("etcd-prefix"),
        cafile=read.path("etcd-cafile"),
        certfile=read.path("etcd-certfile"),
        keyfile=read.path("etcd-keyfile"),
        username=read.text("etcd-username"),
        password_file=read.path("etcd-password-file"),
        compaction_interval=read.duration("etcd-compaction-interval"),
        healthcheck_timeout=read.duration("etcd-healthcheck-timeout", zero=False),
    )


def _connection_requests(read: FlagReader) -> int:
    """By default connections end only where other servers may have the same objects."""
    if read.text("connection-requests"):
        return read.number("connection-requests", 0, 1_000_000_000)
    return CONNECTION_REQUESTS if read.text("storage") == ETCD or read.text("workers") != "1" else 0


def _disabled_plugins(read: FlagReader) -> frozenset[str]:
    """The plugins that are not to be asked (behaviour I3)."""
    enabled, disabled = read.several("enable-admission-plugins"), read.several("disable-admission-plugins")
    read.problems += plugin_problems(enabled, disabled)
    return frozenset(disabled)


def plugin_problems(enabled: Sequence[str], disabled: Sequence[str]) -> list[str]:
    """What is wrong with the names of admission plugins.

    Args:
        enabled: Those of ``--enable-admission-plugins``.
        disabled: Those of ``--disable-admission-plugins``.

    Source: ``k8s.io/apiserver/pkg/server/options/admission.go`` Validate.
    """
    problems = []
    for flag, names in (("enable-admission-plugins", enabled), ("disable-admission-plugins", disabled)):
        problems += [f'{flag} plugin "{name}" is unknown' for name in names if name not in ADMISSION_PLUGINS]
    both = sorted(set(enabled) & set(disabled))
    if both:
        problems.append(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    return problems


def _together(options: ServerOptions) -> Iterable[str]:
    """What is wrong with combinations of flags."""
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        yield "--tls-cert-file and --tls-private-key-file must be given together"
    if (options.webhook_client_cert_file is None) != (options.webhook_client_key_file is None):
        yield "--webhook-client-cert-file and --webhook-client-key-file must be given together"
    if options.reload and not options.development:
        yield "--reload needs --development: it is for writing an API, where a file that is saved may be wrong"
    if options.workers > 1 and options.storage == "memory:":
        yield "--workers: memory: is the memory of one process; use --storage sqlite:///PATH or etcd:"
    if options.workers > 1 and options.reload:
        yield "--workers: --reload serves from one process; leave one of them away"
    if options.storage == ETCD:
        yield from check_etcd(options.etcd)
    try:
        check_url(options.storage)
    except ValueError as error:
        yield f"--storage: {error}"


def _lower(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _blank(name: str) -> str | None:
    if not name.strip():
        return "empty value in the list"
    return None if name == name.strip() else f"{name!r} has spaces around it"


def path_problem(path: str) -> str | None:
    """What is wrong with a path of ``--authorization-always-allow-paths``; None: nothing."""
    return f"{path!r}: only a trailing * is allowed" if "*" in path[:-1] else None
