"""Why kube-apiserver's probe of a server failed: its messages, explained. Pure.

The messages are those of Go's net, net/http, crypto/tls and crypto/x509, which kube-aggregator quotes in its condition
(k8s.io/kube-aggregator/pkg/controllers/status/remote); the built-in control plane writes the same
messages, except for OpenSSL's when a handshake fails.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Cause(NamedTuple):
    """What a message means, and what to do; ``{name}``, ``{service}``, ``{namespace}``, ``{host}`` stand for the subject's.

    ``{logs}``: how to see the server's log, ``{port_field}``: what names its port (:mod:`extapi.doctor.checks.pods`);
    ``{proxies}``: what to look at in the proxy's certificate (:mod:`extapi.doctor.checks.proxies`).
    """

    wrong: str
    do: str


_PATCH = """kubectl patch apiservice {name} --type=merge -p '{{"spec":{{"caBundle":"BASE64-OF-THE-AUTHORITY"}}}}'"""
_LOGS = "{logs}"
UNTRUSTED = Cause(
    "the server does not trust kube-apiserver's proxy certificate: that is not what the ConfigMap "
    "extension-apiserver-authentication names, or the server cannot read the ConfigMap, or reads that of another cluster",
    "{proxies} If so, bind the server's account to the role extension-apiserver-authentication-reader in kube-system "
    "(rights.configmap below), and see whose ConfigMap it reads: {logs}",
)
"""Of an answer 401."""

# Of a proxy that answers CONNECT with another status than 200, Go tells the text of the status line alone, where it would
# have "bad status from" for an answer of the server (net/http, Transport.dialConn).
_REFUSALS = (
    "Moved Permanently|Found|Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed"
    "|Proxy Authentication Required|Request Time-?out|Too Many Requests|Internal Server Error|Not Implemented|Bad Gateway"
    "|Service Unavailable|Gateway Time-?out"
)
_NO_PROXY = (
    "add the Service range (kube-apiserver's --service-cluster-ip-range), the pods' range, .svc and .cluster.local to NO_PROXY "
    "in kube-apiserver's environment, and restart it"
)

_CAUSES: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern), Cause(wrong, do))
    for pattern, wrong, do in (
        (
            rf"proxyconnect tcp: |\": (?i:{_REFUSALS}|unknown status code)$",
            (
                "kube-apiserver dialled the server through the HTTP proxy that HTTPS_PROXY in its environment names, and the "
                "proxy did not connect it"
            ),
            _NO_PROXY,
        ),
        (
            r"x509: certificate signed by unknown authority|x509: .*invalid signature|issuer name does not match",
            "spec.caBundle does not vouch for the certificate that the server presents",
            "put the authority of the serving certificate into spec.caBundle: " + _PATCH,
        ),
        (
            r"x509: certificate is (not )?valid for|x509: certificate relies on legacy Common Name",
            "the server's certificate is not for {host}, the name that kube-apiserver expects",
            "issue a serving certificate with the DNS name {host} (extapi certs --service {service} --namespace {namespace})",
        ),
        (
            r"x509: certificate has expired or is not yet valid.* is before ",
            "a certificate in the server's chain, or of the caBundle, is not valid yet by kube-apiserver's clock",
            "compare the clocks (clock.* below), or issue the certificate anew",
        ),
        (
            r"x509: certificate has expired",
            "a certificate in the server's chain, or of the caBundle, has expired",
            "reissue it (extapi certs) and replace the serving Secret; extapi serve reads changed files by itself",
        ),
        (
            r"x509: ",
            "kube-apiserver does not accept the server's certificate",
            "issue a serving certificate for {host} with the extended key usage serverAuth",
        ),
        (
            r"connection refused",
            "nothing listens at that address",
            "start the server, or let {port_field} be the port of --secure-port: " + _LOGS,
        ),
        (
            r"no such host|server misbehaving",
            "kube-apiserver cannot resolve the name that the Service leads to",
            "correct spec.externalName of the Service {service} in {namespace}",
        ),
        (
            (
                r"Client\.Timeout|context deadline exceeded|timed out waiting|i/o timeout|handshake timeout|no route to host"
                r"|network is unreachable"
            ),
            (
                "the server did not answer discovery within 5 seconds, or kube-apiserver cannot reach it at all: the network "
                "between the control plane and the pods, a NetworkPolicy, a firewall, a proxy, or a slow server"
            ),
            "let the control plane's nodes reach the pods' port; where kube-apiserver has no route to Service addresses it needs "
            "--enable-aggregator-routing=true, or the server hostNetwork; if kube-apiserver has HTTPS_PROXY in its environment, "
            + _NO_PROXY
            + "; for a slow server: "
            + _LOGS,
        ),
        (
            r"HTTP response to HTTPS client|first record does not look like a TLS handshake|wrong version number",
            "the server speaks plain HTTP; kube-apiserver speaks HTTPS only",
            "let {port_field} be the port of --secure-port",
        ),
        (r"bad status from .*: 401", *UNTRUSTED),
        (
            r"bad status from .*: 403",
            (
                "the server does not let system:kube-aggregator of the group system:masters read discovery: it does not get "
                "the groups from the request's headers, or cannot ask the cluster"
            ),
            "see authentication.headers and rights.* below",
        ),
        (
            r"bad status from .*: 404",
            "the server does not serve this group and version",
            "serve the version, or delete the APIService {name}",
        ),
        (
            r"bad status from .*: 3\d\d",
            "the server redirects, and kube-apiserver does not follow",
            "let the Service lead to the extension server itself, not to a proxy or an ingress",
        ),
        (r"bad status from .*: 5\d\d", "the server fails, or is not ready", _LOGS),
        (r"EOF|connection reset", "the server closed the connection", _LOGS),
    )
)
_OTHER = Cause("kube-apiserver's probe of the server failed", _LOGS)


def cause_of(message: str) -> Cause:
    """The cause that a FailedDiscoveryCheck message names."""
    return next((cause for pattern, cause in _CAUSES if pattern.search(message)), _OTHER)


def cause_of_status(status: int) -> Cause:
    """The cause of an answer with that status code to a request for discovery."""
    known = cause_of(f"bad status from the server: {status}")
    return known if known is not _OTHER else Cause("a server that works does not answer so", _LOGS)
