"""The flags of ``extapi webhooks``. Where ``extapi serve`` has the same flag, it has the same name, default and rules.

All mistakes are reported at once. Nothing here reads a file or opens a connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extapi.server.flag import Flag, FlagReader, OptionErrors
from extapi.server.leaderoptions import FLAGS as LEADER_FLAGS, LeaderOptions, read_leader
from extapi.server.options import path_problem

FLAGS: Sequence[Flag] = (
    Flag("bind-address", "0.0.0.0", "The IP address to listen on; 0.0.0.0 and :: are all addresses of IPv4 and IPv6."),  # noqa: S104 - as extapi serve
    Flag("secure-port", "8443", "The port to serve HTTPS on; 0 takes a free one and logs it."),
    Flag("tls-cert-file", "", "The serving certificate, followed by intermediates; required. Reread when it changes."),
    Flag("tls-private-key-file", "", "The private key of --tls-cert-file; required."),
    Flag("tls-min-version", "VersionTLS12", "The minimum TLS version: VersionTLS12 or VersionTLS13."),
    Flag("client-ca-file", "", "CAs of the client certificate that kube-apiserver has to show for admission. Without it, anybody who reaches the port may ask. Reread when it changes."),
    Flag("client-allowed-names", "", "Allowed common names of that certificate; if empty, any is allowed.", multiple=True),
    Flag("kubeconfig", "", "How plugins, controllers and the access to metrics reach the cluster; by default the pod's own credentials."),
    Flag("authorization-always-allow-paths", "/healthz,/readyz,/livez", "Paths of health and metrics that anybody may read; a trailing * matches anything.", multiple=True),
    Flag("leader-elect", "true", "Run controllers in one process at a time, the one that holds a Lease. Turn it off only where there is never a second one.", boolean=True),
    *LEADER_FLAGS,
    Flag("request-timeout", "30s", "How long a review may take, unless kube-apiserver asks for less."),
    Flag("shutdown-delay-duration", "0s", "How long to continue serving after SIGTERM, with readiness off."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WebhookOptions:
    """The values of all flags; durations are in seconds."""

    tls_cert_file: Path
    tls_private_key_file: Path
    bind_address: str = "0.0.0.0"  # noqa: S104 - as extapi serve
    secure_port: int = 8443
    tls_min_version: str = "VersionTLS12"
    client_ca_file: Path | None = None
    client_allowed_names: tuple[str, ...] = ()
    kubeconfig: Path | None = None
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    leader: LeaderOptions = field(default_factory=lambda: LeaderOptions(elect=True))
    request_timeout: float = 30.0
    shutdown_delay: float = 0.0


def parse_options(raw: Mapping[str, Any]) -> WebhookOptions:
    """Parse all flags.

    Args:
        raw: The texts of flags, by name.

    Raises:
        OptionErrors: Something is wrong with them; all problems are in it.
    """
    read = FlagReader(raw)
    certificate, key = read.path("tls-cert-file"), read.path("tls-private-key-file")
    options = WebhookOptions(
        tls_cert_file=certificate or Path(),
        tls_private_key_file=key or Path(),
        bind_address=read.address("bind-address"),
        secure_port=read.number("secure-port", 0, 65535),
        tls_min_version=read.one_of("tls-min-version", ("VersionTLS12", "VersionTLS13")),
        client_ca_file=read.path("client-ca-file"),
        client_allowed_names=read.several("client-allowed-names"),
        kubeconfig=read.path("kubeconfig"),
        always_allow_paths=read.several("authorization-always-allow-paths", path_problem),
        leader=read_leader(read, raw["leader-elect"]),
        request_timeout=read.duration("request-timeout", zero=False),
        shutdown_delay=read.duration("shutdown-delay-duration"),
    )
    problems = list(read.problems)
    if certificate is None or key is None:
        problems.append(
            "--tls-cert-file and --tls-private-key-file are required: kube-apiserver asks webhooks over HTTPS only, and "
            "checks their certificate by the caBundle of the definition or webhook configuration"
        )
    if options.client_allowed_names and options.client_ca_file is None:
        problems.append("--client-allowed-names needs --client-ca-file")
    if problems:
        raise OptionErrors(problems)
    return options
