"""``authentication.*``: the ConfigMap from which servers learn to trust kube-apiserver's proxy and the cluster's users. Pure.

``kube-system/extension-apiserver-authentication``; its keys and what they mean: behaviour A1-A9, A15-A18.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from cryptography import x509

from extapi.authentication.bundle import shared_authorities
from extapi.authentication.configmap import header_names
from extapi.authentication.trust import HeaderNames
from extapi.doctor.checks.chains import ends_soon, subject_of
from extapi.doctor.checks.proxies import questions, refused
from extapi.doctor.duration import day
from extapi.doctor.facts import Facts, Obj, member, text
from extapi.doctor.finding import Finding, error, ok, unknown, warning

SUBJECT = "ConfigMap kube-system/extension-apiserver-authentication"
CONFIG_MAP, PROXIES, CLIENTS = "authentication.configmap", "authentication.proxies", "authentication.clients"
HEADERS, SAME, FOLLOWED = "authentication.headers", "authentication.same-ca", "authentication.followed"
_NOT_FOLLOWED = "[+]authentication-trust ok: "
"""The beginning of a line of a server's ``/readyz?verbose`` that reports a problem (:mod:`extapi.server.process`)."""
_FLAGS = (
    "start kube-apiserver with --requestheader-client-ca-file, --requestheader-allowed-names, "
    "--requestheader-username-headers=X-Remote-User, --requestheader-group-headers=X-Remote-Group, "
    "--requestheader-extra-headers-prefix=X-Remote-Extra-, --proxy-client-cert-file and --proxy-client-key-file"
)


def authentication(facts: Facts) -> Iterator[Finding]:
    """Judge the ConfigMap, its bundles and lists, authorities that both bundles hold, and what servers do not follow."""
    yield from _followed(facts)
    if facts.config_map.status == 404:
        yield error(
            CONFIG_MAP,
            SUBJECT,
            saw=facts.config_map.text,
            wrong="servers know neither kube-apiserver's proxy nor the cluster's users: every proxied request is refused",
            do=f"{_FLAGS}; it then writes the ConfigMap itself",
        )
        return
    if not facts.config_map.found:
        yield unknown(CONFIG_MAP, SUBJECT, facts.config_map.why)
        return
    data = member(facts.config_map.obj(), "data") or {}
    yield ok(CONFIG_MAP, SUBJECT, f"there, with {', '.join(sorted(data)) or 'nothing in it'}")
    proxies, findings = _bundle(data, "requestheader-client-ca-file", PROXIES, facts.now)
    yield from findings
    clients, findings = _bundle(data, "client-ca-file", CLIENTS, facts.now)
    yield from findings
    try:
        names = header_names(data)
    except ValueError as problem:
        yield error(
            HEADERS,
            SUBJECT,
            saw=str(problem),
            wrong="servers cannot read the list, and keep the previous one, if any",
            do="restart kube-apiserver: it rewrites the ConfigMap when it starts",
        )
        return
    if proxies:
        yield _headers(names, facts)
        yield from _same(proxies, clients, names)


def _bundle(data: Obj, key: str, check: str, now: dt.datetime) -> tuple[list[x509.Certificate], list[Finding]]:
    """The authorities at ``key``, and what is wrong with them."""
    pem = text(data, key)
    if not pem.strip():
        return [], [_empty(key, check)]
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except (ValueError, x509.InvalidVersion) as problem:
        finding = error(
            check,
            SUBJECT,
            saw=f"{key}: {problem}",
            wrong="servers cannot read these authorities, and keep the previous ones, if any",
            do=f"give kube-apiserver a --{key} with certificates in PEM, and restart it",
        )
        return [], [finding]
    saw = f"{key}: {', '.join(f'{subject_of(one)} until {day(one.not_valid_after_utc)}' for one in found)}"
    usable = [one for one in found if one.not_valid_before_utc <= now <= one.not_valid_after_utc]
    if not usable:
        do = f"give kube-apiserver a --{key} with an authority that is valid, and certificates that it signed"
        return found, [
            error(check, SUBJECT, saw=saw, wrong="no authority is valid now, so no certificate is accepted", do=do)
        ]
    if all(ends_soon(one, now) for one in usable):
        do = f"rotate it: a --{key} with the old and the new authority, then new certificates, then the old authority out"
        return found, [warning(check, SUBJECT, saw=saw, wrong="it expires soon", do=do)]
    return found, [ok(check, SUBJECT, saw)]


def _empty(key: str, check: str) -> Finding:
    if check == CLIENTS:
        return ok(check, SUBJECT, f"no {key}: only kube-apiserver knows users with certificates, which is enough")
    return error(
        check,
        SUBJECT,
        saw=f"no {key}",
        wrong="the aggregation layer is not configured: no server can recognize the proxy of kube-apiserver, so each refuses it",
        do=_FLAGS,
    )


def _headers(names: HeaderNames, facts: Facts) -> Finding:
    """Judge the names of headers, which servers match in any case, and of proxies."""
    allowed = ", ".join(names.allowed) or "any"
    saw = f"users in {', '.join(names.username)}; groups in {', '.join(names.group)}; allowed common names: {allowed}"
    if names.username and names.group:
        if names.allowed and (refusing := refused(facts)):
            wrong = (
                f"the server of {', '.join(refusing)} answers 401 to kube-apiserver: perhaps the common name of the proxy's "
                "certificate is not an allowed one"
            )
            return warning(HEADERS, SUBJECT, saw=saw, wrong=wrong, do=questions(facts))
        return ok(HEADERS, SUBJECT, saw)
    key = "requestheader-group-headers" if names.username else "requestheader-username-headers"
    return error(
        HEADERS,
        SUBJECT,
        saw=f"no {key}",
        wrong="servers do not see the groups of users, so kube-apiserver's own probes are forbidden"
        if names.username
        else "servers do not see the user of a request, and refuse it",
        do=f"start kube-apiserver with --{key}={'X-Remote-Group' if names.username else 'X-Remote-User'}",
    )


def _same(proxies: list[x509.Certificate], clients: list[x509.Certificate], names: HeaderNames) -> Iterator[Finding]:
    """Whether an authority of users also vouches for proxies, which may name any user (behaviour A15-A17)."""
    both = shared_authorities(clients, proxies)
    if not both:
        if clients:
            yield ok(SAME, SUBJECT, "users and proxies have different authorities")
        return
    saw = f"{', '.join(map(subject_of, both))} in client-ca-file also vouches for proxies, by requestheader-client-ca-file"
    do = "give the proxy its own authority: --requestheader-client-ca-file and --proxy-client-cert-file of kube-apiserver"
    if any(names.allowed):
        wrong = (
            f"whoever gets a certificate of a user with the common name {' or '.join(names.allowed)} may claim to be anybody "
            "at every extension server"
        )
        yield warning(SAME, SUBJECT, saw=saw, wrong=wrong, do=do)
    else:
        wrong = (
            "requestheader-allowed-names is empty, so that every user with a certificate may claim to be anybody, "
            "system:masters too, at every extension server that takes this; those of extapi refuse to start"
        )
        yield error(SAME, SUBJECT, saw=saw, wrong=wrong, do=f"set --requestheader-allowed-names, and {do}")


def _followed(facts: Facts) -> Iterator[Finding]:
    """What servers say they do not follow; only they know the settings that were in force before."""
    for reference, all_served in facts.served.items():
        for served in all_served:
            lines = served.readiness.splitlines()
            notes = [line.removeprefix(_NOT_FOLLOWED) for line in lines if line.startswith(_NOT_FOLLOWED)]
            if notes:
                yield warning(
                    FOLLOWED,
                    f"Service {reference.namespace}/{reference.name}",
                    saw=f"{served.address} says at /readyz: {notes[0]}",
                    wrong="the server keeps what it trusted before; one that starts now uses what the ConfigMap or its flags "
                    "say, or refuses to start",
                    do="correct what is named, in the flags of kube-apiserver or of the server: the server's log has the "
                    "refused setting and the reason",
                )
