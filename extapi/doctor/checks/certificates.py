"""``certificate.*``: the caBundle of an APIService or a webhook against the certificate that its server presents. Pure.

kube-apiserver connects under ``SERVICE.NAMESPACE.svc``, or to the host of a webhook's URL, and trusts caBundle, or without one the
system's roots (behaviour D5).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from cryptography import x509

from extapi.doctor.checks.chains import ends_soon, is_authority, is_for, names_of, subject_of, vouched
from extapi.doctor.checks.pods import connect, connection
from extapi.doctor.duration import day
from extapi.doctor.facts import MORE_TIME, OVER, Facts, Served
from extapi.doctor.finding import Finding, Severity, error, ok, unknown, warning
from extapi.doctor.hooks import HookURL, RegisteredHook
from extapi.doctor.registration import RegisteredService, Registration

BUNDLE, CHAIN, NAMES, DATES = "certificate.bundle", "certificate.chain", "certificate.names", "certificate.dates"
_RENEW = "reissue it (extapi certs) and replace the serving Secret; extapi serve reads changed files by itself"


def certificates(facts: Facts) -> Iterator[Finding]:
    """For each APIService and webhook its bundle, then the certificate at its server."""
    named: list[Registration | RegisteredHook] = [*facts.registrations, *facts.hooks.hooks]
    for each in named:
        target = each.target
        if target is None:
            continue
        anchors, findings = _bundle(each, facts.now)
        yield from findings
        if each.insecure:
            continue  # then no presented certificate counts
        tried = (
            facts.served.get(target, ())
            if isinstance(target, RegisteredService)
            else facts.hooks.served.get(target, ())
        )
        for served in tried:
            if served.chain:
                yield from _presented(each, target, anchors, served, facts)
                break
        else:
            yield _not_reached(each, target, tried, facts)


def _bundle(each: Registration | RegisteredHook, now: dt.datetime) -> tuple[list[x509.Certificate], list[Finding]]:
    """Judge the certificates that may vouch for the server."""
    if each.insecure:
        finding = warning(
            BUNDLE,
            each.subject,
            saw="insecureSkipTLSVerify is true",
            wrong="any server at the Service's address is accepted, and gets every request with its user",
            do=f"set {each.bundle_field} to the authority of the serving certificate, and insecureSkipTLSVerify to false",
        )
        return [], [finding]
    if not each.bundle:
        if each.passes or each.service is None:
            return [], [
                ok(BUNDLE, each.subject, "no caBundle: the roots of kube-apiserver's own system vouch for the server")
            ]
        finding = error(
            BUNDLE,
            each.subject,
            saw="no caBundle",
            wrong="only the roots of kube-apiserver's own system are trusted, and those sign no certificate for "
            f"{each.service.host}",
            do=f"set {each.bundle_field} to the base64 of the authority's PEM: {each.patch_command}",
        )
        return [], [finding]
    try:
        anchors = x509.load_pem_x509_certificates(each.bundle)
    except (ValueError, x509.InvalidVersion) as problem:
        finding = error(
            BUNDLE,
            each.subject,
            saw=f"caBundle has {len(each.bundle)} bytes that are not PEM certificates: {problem}",
            wrong="kube-apiserver cannot connect to the server, and says so only in its log",
            do=f"set {each.bundle_field} to the base64 of the authority's PEM, encoded once",
        )
        return [], [finding]
    return anchors, list(_anchors(each, anchors, now))


def _anchors(
    each: Registration | RegisteredHook, anchors: Sequence[x509.Certificate], now: dt.datetime
) -> Iterator[Finding]:
    ended = [one for one in anchors if one.not_valid_after_utc < now]
    early = [one for one in anchors if one.not_valid_before_utc > now]
    usable = [one for one in anchors if one not in ended and one not in early]
    names = ", ".join(f"{subject_of(one)} until {day(one.not_valid_after_utc)}" for one in anchors)
    saw = f"caBundle holds {names}"
    if not usable:
        wrong = (
            "every certificate of the caBundle has expired" if ended else "no certificate of the caBundle is valid yet"
        )
        do = f"extapi certs rotate makes a new authority and leaf; then {each.patch_command}"
        yield error(BUNDLE, each.subject, saw=saw, wrong=wrong, do=do)
    elif ended:
        wrong = f"{', '.join(map(subject_of, ended))} has expired, and vouches for nothing"
        yield warning(BUNDLE, each.subject, saw=saw, wrong=wrong, do=f"remove it from {each.bundle_field}")
    elif all(ends_soon(one, now) for one in usable):
        wrong = "the authority expires soon, and every certificate that it signed with it"
        do = f"extapi certs rotate: first both authorities in {each.bundle_field}, then the new leaf, then the new authority alone"
        yield warning(BUNDLE, each.subject, saw=saw, wrong=wrong, do=do)
    else:
        yield ok(BUNDLE, each.subject, saw)


def _presented(
    each: Registration | RegisteredHook,
    reference: RegisteredService | HookURL,
    anchors: Sequence[x509.Certificate],
    served: Served,
    facts: Facts,
) -> Iterator[Finding]:
    """Judge the presented certificate as kube-apiserver would."""
    findings = [_names(each, reference, served), _dates(each, anchors, served, facts.now)]
    if anchors:
        findings.insert(0, _chain(each, anchors, served))
    for finding in findings:
        if finding.severity is Severity.ERROR and each.passes and not served.given:
            # kube-apiserver saw another server or another certificate than we did.
            why = f"kube-apiserver finds nothing wrong, but the server that answers here at {served.address} is not the one that it uses: "
            do = connect(facts, each, reference)
            yield unknown(finding.check, each.subject, why + finding.wrong, saw=finding.saw, do=do)
        else:
            yield finding


def _chain(each: Registration | RegisteredHook, anchors: Sequence[x509.Certificate], served: Served) -> Finding:
    leaf = served.chain[0]
    saw = f"{served.address} presents {subject_of(leaf)}, issued by {leaf.issuer.rfc4514_string()}"
    problem = vouched(served.chain, anchors)
    if not problem:
        return ok(CHAIN, each.subject, f"{saw}; caBundle vouches for it")
    wrong = f"caBundle ({', '.join(map(subject_of, anchors))}) does not vouch for it: {problem}"
    if not any(map(is_authority, anchors)):
        wrong += "; it holds no authority, only certificates that cannot sign others (CA:FALSE)"
    return error(
        CHAIN,
        each.subject,
        saw=saw,
        wrong=wrong,
        do=f"set {each.bundle_field} to the authority that signed the serving certificate (with intermediates in --tls-cert-file): "
        f"{each.patch_command}",
    )


def _names(each: Registration | RegisteredHook, reference: RegisteredService | HookURL, served: Served) -> Finding:
    leaf = served.chain[0]
    saw = f"{served.address} presents a certificate for {', '.join(names_of(leaf)) or 'no names at all'}"
    if is_for(leaf, reference.host):
        return ok(NAMES, each.subject, saw)
    return error(
        NAMES,
        each.subject,
        saw=saw,
        wrong=f"kube-apiserver expects {reference.host} among its subject alternative names (the common name does not count)",
        do="issue it with that name: extapi certs "
        + (
            f"--service {reference.name} --namespace {reference.namespace}"
            if isinstance(reference, RegisteredService)
            else f"--host {reference.host}"
        ),
    )


def _dates(
    each: Registration | RegisteredHook, anchors: Sequence[x509.Certificate], served: Served, now: dt.datetime
) -> Finding:
    """The worst certificate of the chain: expired, not yet valid, or expiring soon."""
    valid = [one for one in served.chain if one.not_valid_before_utc <= now <= one.not_valid_after_utc]
    trusted = [one for one in anchors if one.not_valid_before_utc <= now <= one.not_valid_after_utc]
    # Go tries every path to an anchor: a certificate that no path needs does no harm.
    enough = bool(trusted) and served.chain[0] in valid and not vouched(valid, trusted)
    warnings: list[Finding] = []
    for one in served.chain:
        period = f"{subject_of(one)}: {day(one.not_valid_before_utc)} to {day(one.not_valid_after_utc)}"
        saw = f"{served.address} presents {period}"
        if one not in valid:
            ended = one.not_valid_after_utc < now
            wrong = "it has expired" if ended else f"it is not valid yet: kube-apiserver's clock says {day(now)}"
            if not enough:
                do = _RENEW if ended else "compare the clocks (clock.*), or reissue it"
                return error(DATES, each.subject, saw=saw, wrong=wrong, do=do)
            wrong += "; kube-apiserver does not need it, other clients may refuse it"
            warnings.append(warning(DATES, each.subject, saw=saw, wrong=wrong, do="remove it from --tls-cert-file"))
        elif ends_soon(one, now):
            warnings.append(warning(DATES, each.subject, saw=saw, wrong="it expires soon", do=_RENEW))
    until = f"{served.address} presents a certificate that is valid until {day(served.chain[0].not_valid_after_utc)}"
    return warnings[0] if warnings else ok(DATES, each.subject, until)


def _not_reached(
    each: Registration | RegisteredHook, reference: RegisteredService | HookURL, tried: Sequence[Served], facts: Facts
) -> Finding:
    """From outside a cluster that is usual; with --connect it is not."""
    if any(one.over for one in tried):
        return unknown(CHAIN, each.subject, OVER, do=MORE_TIME)
    told = "; ".join(f"{one.address}: {one.failure}" for one in tried)
    if any(one.given for one in tried) and isinstance(reference, RegisteredService):
        why = f"no certificate at the address of --connect: {told}"
        return unknown(CHAIN, each.subject, why, do=connection(facts, reference))
    why = f"not reachable from here: {told}" if told else "no address can be reached from here"
    return unknown(CHAIN, each.subject, why, do=connect(facts, each, reference))
