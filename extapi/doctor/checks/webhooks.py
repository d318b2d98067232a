"""``webhook.registered``, ``webhook.call`` and ``webhook.timeout``: whether webhooks answer, and how long that takes. Pure.

The messages are those of kube-apiserver (k8s.io/apiserver/pkg/admission/plugin/webhook/errors, and
apiextensions-apiserver/pkg/apiserver/conversion), and of Go behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from extapi.doctor.facts import MORE_TIME, Facts, HookCall
from extapi.doctor.finding import Finding, error, ok, unknown, warning
from extapi.doctor.hooks import RegisteredHook

REGISTERED, CALL, TIMEOUT = "webhook.registered", "webhook.call", "webhook.timeout"
SLOW = 1.0
"""Seconds for one request that are worth a warning."""
LONG = 10
"""Seconds of ``timeoutSeconds``: the default; what is more holds up every write for longer while the server hangs."""
_FAILED = ("failed calling webhook", "conversion webhook for ")
_DENIED = "denied the request"
_CAUSES = tuple(
    (re.compile(pattern), wrong, do)
    for pattern, wrong, do in (
        (
            r"x509: certificate signed by unknown authority|x509: .*invalid signature",
            "caBundle does not vouch for the certificate that the server presents",
            "set {bundle} to the base64 of the authority's PEM: {command}",
        ),
        (
            r"x509: certificate has expired",
            "a certificate in the server's chain, or of the caBundle, has expired",
            "reissue it (extapi certs) and replace the serving Secret",
        ),
        (
            r"x509: ",
            "kube-apiserver does not accept the server's certificate",
            "issue one for {host} (see certificate.names)",
        ),
        (
            r"service .*not found|no service port|no endpoints available|cannot find endpoint",
            "the Service of the webhook leads nowhere",
            "see service.exists, service.port and service.endpoints; it is named in {service}",
        ),
        (
            r"connection refused|connection reset|EOF",
            "nothing answers at that address",
            "start the server, and let {service} lead to its port",
        ),
        (
            r"context deadline exceeded|Client\.Timeout|i/o timeout|no route to host",
            "there was no answer in time: the server hangs, or kube-apiserver cannot reach it",
            "look at the server's log, and at what is between the control plane and the pods (NetworkPolicy, firewall)",
        ),
        (
            r"could not find the requested resource|404",
            "the server does not know the path of the webhook",
            "correct the path in {service}; extapi webhooks logs the ones that it answers",
        ),
        (
            r"HTTP response to HTTPS client|first record does not look like a TLS handshake",
            "the server speaks plain HTTP, and kube-apiserver calls webhooks by HTTPS only",
            "let {service} lead to the port of --secure-port",
        ),
        (
            r"nauthorized|the server has asked for the client to provide credentials",
            "the server refuses kube-apiserver: it wants a client certificate or token",
            "give kube-apiserver one with --admission-control-config-file, or take --client-ca-file from the server",
        ),
    )
)
_OTHER = ("the webhook fails", "look at the log of its server; the message says what it answered")


def webhooks(facts: Facts) -> Iterator[Finding]:
    """What is registered, how calls went, and how long they may take."""
    hooks = facts.hooks
    for reading in hooks.lists:
        if not reading.found and reading.status != 404:  # without such kinds there are no webhooks
            yield unknown(REGISTERED, "webhooks", reading.why, do=MORE_TIME if reading.over else "")
    for each in hooks.hooks:
        where = each.target.subject if each.target is not None else "nowhere"
        yield ok(REGISTERED, each.subject, f"it leads to {where}, and waits {each.seconds} s for an answer")
        yield from _timeout(each)
    for call in hooks.calls:
        if call.converts or call.admits:
            yield _call(call, facts)


def _timeout(each: RegisteredHook) -> Iterator[Finding]:
    if each.name and each.fails and each.seconds > LONG:
        yield warning(
            TIMEOUT,
            each.subject,
            saw=f"timeoutSeconds is {each.seconds}, and failurePolicy Fail",
            wrong="while its server hangs, each write that it matches takes that long and then fails",
            do=f"set {each.path}.timeoutSeconds of {each.owner} to a few seconds",
        )


def _call(call: HookCall, facts: Facts) -> Finding:
    reading, took = call.reading, f"after {call.reading.seconds * 1000:.0f} ms"
    message = reading.text
    if any(words in message for words in _FAILED):
        hook = _named(message, facts)
        wrong, do = next(((wrong, do) for pattern, wrong, do in _CAUSES if pattern.search(message)), _OTHER)
        told = {
            "bundle": "caBundle",
            "service": "clientConfig",
            "host": "the Service",
            "command": "see certificate.bundle",
        }
        subject = call.what
        if hook is not None:
            subject = f"{hook.subject}"
            told = {
                "bundle": f"{hook.bundle_field} of {hook.owner}",
                "service": f"{hook.service_field} of {hook.owner}",
                "host": hook.service.host if hook.service else hook.url.host if hook.url else "it",
                "command": hook.patch_command,
            }
        return error(CALL, subject, saw=f"{call.what}: {message}, {took}", wrong=wrong, do=do.format(**told))
    if not reading.found and _DENIED not in message and reading.status != 422:
        return unknown(CALL, call.what, reading.why, do=MORE_TIME if reading.over else "")
    if reading.seconds > SLOW:
        return warning(
            CALL,
            call.what,
            saw=f"an answer {took}",
            wrong="every such request takes that long",
            do="look at the server's CPU and log; apiserver_admission_webhook_admission_duration_seconds and "
            "apiserver_crd_conversion_webhook_duration_seconds of kube-apiserver (/metrics) say which webhook it is",
        )
    return ok(CALL, call.what, f"an answer {took}" + (f": {message}" if message else ""))


def _named(message: str, facts: Facts) -> RegisteredHook | None:
    """The webhook that a message is about: it has the name, or for conversion the group."""
    for each in facts.hooks.hooks:
        if each.name and f'webhook "{each.name}"' in message:
            return each
        if not each.name and f"conversion webhook for {each.group}/" in message:
            return each
    return None
