"""The flags of ``extapi webhooks``. Where ``extapi serve`` has the same flag, it has the same name, default and rules.

All mistakes are reported at once. Nothing here reads a file or opens a connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.client.leaderelection import problems as election_problems
from extapi.server.options import Flag, FlagReader, OptionErrors, path_problem

FLAGS: Sequence[Flag] = (
    Flag("bind-address", "0.0.0.0", "The IP address to listen on."),  # noqa: S104 - as extapi serve
    Flag("secure-port", "8443", "The port to serve HTTPS on; 0 takes a free one and logs it."),
    Flag("tls-cert-file", "", "The serving certificate, followed by intermediates; required. Reread when it changes."),
    Flag("tls-private-key-file", "", "The private key of --tls-cert-file; required."),
    Flag("tls-min-version", "VersionTLS12", "The minimum TLS version: VersionTLS12 or VersionTLS13."),
    Flag("client-ca-file", "", "CAs of the client certificate that kube-apiserver has to show for admission. Without it, anybody who reaches the port may ask. Reread when it changes."),
    Flag("client-allowed-names", "", "Allowed common names of that certificate; if empty, any is allowed.", multiple=True),
    Flag("kubeconfig", "", "How plugins, controllers and the access to metrics reach the cluster; by default the pod's own credentials."),
    Flag("authorization-always-allow-paths", "/healthz,/readyz,/livez", "Paths of health and metrics that anybody may read; a trailing * matches anything.", multiple=True),
    Flag("leader-elect", "true", "Run controllers in one process at a time, the one that holds a Lease. Turn it off only where there is never a second one.", boolean=True),
    Flag("leader-elect-lease-duration", "15s", "How long other processes wait after the last renewal that they have seen, until they try to take the Lease."),
    Flag("leader-elect-renew-deadline", "10s", "How long the leader tries to renew the Lease until it ends its controllers; less than the lease duration."),
    Flag("leader-elect-retry-period", "2s", "How long to wait between two tries to take or renew the Lease."),
    Flag("leader-elect-resource-name", "", "The name of the Lease; by default the name of the API's first group."),
    Flag("leader-elect-resource-namespace", "", "The namespace of the Lease; by default the pod's own."),
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
    leader_elect: bool = True
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    lease_name: str = ""
    """Empty: that of the first group."""
    lease_namespace: str = ""
    """Empty: the pod's."""
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
        bind_address=read.text("bind-address"),
        secure_port=read.number("secure-port", 0, 65535),
        tls_min_version=read.one_of("tls-min-version", ("VersionTLS12", "VersionTLS13")),
        client_ca_file=read.path("client-ca-file"),
        client_allowed_names=read.several("client-allowed-names"),
        kubeconfig=read.path("kubeconfig"),
        always_allow_paths=read.several("authorization-always-allow-paths", path_problem),
        leader_elect=bool(raw["leader-elect"]),
        lease_duration=read.duration("leader-elect-lease-duration", zero=False),
        renew_deadline=read.duration("leader-elect-renew-deadline", zero=False),
        retry_period=read.duration("leader-elect-retry-period", zero=False),
        lease_name=read.text("leader-elect-resource-name"),
        lease_namespace=read.text("leader-elect-resource-namespace"),
        request_timeout=read.duration("request-timeout", zero=False),
        shutdown_delay=read.duration("shutdown-delay-duration"),
    )
    problems = list(read.problems)
    if options.leader_elect and not problems:
        wrong = election_problems(options.lease_duration, options.renew_deadline, options.retry_period)
        problems += [f"--leader-elect: {why}" for why in wrong]
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
