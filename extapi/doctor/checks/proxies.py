"""How servers recognize kube-apiserver's proxy, as questions to the operator, who alone sees its certificate. Pure.

Its issuer has to be one of requestheader-client-ca-file, its common name one of requestheader-allowed-names (behaviour A16, A17).
"""

from __future__ import annotations

from cryptography import x509

from extapi.authentication.configmap import header_names
from extapi.doctor.checks.chains import subject_of
from extapi.doctor.checks.probefailures import UNTRUSTED, cause_of
from extapi.doctor.facts import Facts, member, text
from extapi.doctor.registration import Registration


def questions(facts: Facts) -> str:
    """What to check in the proxy's certificate, with the values of the ConfigMap if it has any."""
    data = member(facts.config_map.obj(), "data") if facts.config_map.found else None
    try:
        authorities = x509.load_pem_x509_certificates(text(data, "requestheader-client-ca-file").encode())
        allowed = header_names(data or {}).allowed
    except (ValueError, x509.InvalidVersion):
        return "is the ConfigMap well (authentication.* below)?"
    issuer = f"is it issued by one of: {', '.join(map(subject_of, authorities))}?"
    if not allowed:
        return f"look at --proxy-client-cert-file of kube-apiserver: {issuer} If not, correct --requestheader-client-ca-file."
    return (
        f"is the common name of --proxy-client-cert-file of kube-apiserver one of: {', '.join(allowed)}? {issuer} "
        "If not, correct --requestheader-allowed-names or --requestheader-client-ca-file."
    )


def refused(facts: Facts) -> list[str]:
    """The APIServices whose server answers 401, to kube-apiserver's own probe or to a request through it."""
    return [each.name for each in facts.registrations if _unauthorized(each, facts)]


def _unauthorized(each: Registration, facts: Facts) -> bool:
    probed = not each.passes and each.available is not None and cause_of(each.available.message) == UNTRUSTED
    reading = facts.discovery.get(each.name)
    return probed or (reading is not None and reading.status == 401)
