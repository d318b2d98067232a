"""``rights.*``: what the server's account may do, and which binding is missing. Pure.

A server asks the cluster who a user is (TokenReview) and what they may do (SubjectAccessReview), reads how to recognize the
front proxy, and follows namespaces, configurations of webhooks and admission policies (behaviour A1, A23, B10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from extapi.doctor.accounts import ACCESS_REVIEWS, CONFIG_MAP, NAMESPACES, POLICIES, RIGHTS, TOKEN_REVIEWS, WEBHOOKS
from extapi.doctor.facts import Account, AccountFacts, Facts, Reading, Right, member
from extapi.doctor.finding import Finding, error, ok, unknown

ACCOUNT = "rights.account"
DECLARED = "rights.needs"


class Need(NamedTuple):
    """Rights that belong together, what fails without them, and the command that grants them."""

    check: str
    rights: Sequence[Right]
    wrong: str
    do: str


# Named after namespace and account: an account named admin must not get the ClusterRole of that name.
_DELEGATOR = "kubectl create clusterrolebinding {account}:auth-delegator --clusterrole=system:auth-delegator --serviceaccount={account}"
_READER = (
    "kubectl create rolebinding {account}:authentication-reader -n kube-system "
    "--role=extension-apiserver-authentication-reader --serviceaccount={account}"
)
_NAMESPACES = (
    "kubectl create clusterrole {account}:namespaces --verb=get,list,watch --resource=namespaces && "
    "kubectl create clusterrolebinding {account}:namespaces --clusterrole={account}:namespaces --serviceaccount={account}"
)
_WEBHOOKS = (
    "kubectl create clusterrole {account}:webhooks --verb=get,list,watch "
    "--resource=mutatingwebhookconfigurations.admissionregistration.k8s.io,"
    "validatingwebhookconfigurations.admissionregistration.k8s.io && "
    "kubectl create clusterrolebinding {account}:webhooks --clusterrole={account}:webhooks --serviceaccount={account}"
)
_POLICIES = (
    "kubectl create clusterrole {account}:policies --verb=get,list,watch "
    "--resource=mutatingadmissionpolicies.admissionregistration.k8s.io,"
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io,"
    "validatingadmissionpolicies.admissionregistration.k8s.io,"
    "validatingadmissionpolicybindings.admissionregistration.k8s.io && "
    "kubectl create clusterrolebinding {account}:policies --clusterrole={account}:policies --serviceaccount={account}"
)
_LEASES = (
    "kubectl create role {account}:leader-election -n {namespace} --verb=get,create,update --resource=leases.coordination.k8s.io && "
    "kubectl create rolebinding {account}:leader-election -n {namespace} --role={account}:leader-election --serviceaccount={account}"
)
NEEDS = (
    Need(
        "rights.tokenreviews",
        TOKEN_REVIEWS,
        "users who connect directly with a token cannot be authenticated",
        _DELEGATOR,
    ),
    Need(
        "rights.subjectaccessreviews",
        ACCESS_REVIEWS,
        "the server cannot check what users may do: it answers 500 to everybody but system:masters",
        _DELEGATOR,
    ),
    Need(
        "rights.configmap",
        CONFIG_MAP,
        "the server cannot recognize kube-apiserver's proxy: it does not start, or treats every proxied request as anonymous",
        _READER,
    ),
    Need(
        "rights.namespaces",
        NAMESPACES,
        "extapi serve cannot tell whether a namespace exists: nothing can be created in namespaces",
        _NAMESPACES,
    ),
    Need(
        "rights.webhooks",
        WEBHOOKS,
        "extapi serve cannot tell which webhooks of the cluster are to be asked: it is not ready, and refuses all writes",
        _WEBHOOKS,
    ),
    Need(
        "rights.policies",
        POLICIES,
        "extapi serve cannot tell which admission policies of the cluster hold: it is not ready, and refuses all writes",
        _POLICIES,
    ),
)


def rights(facts: Facts) -> Iterator[Finding]:
    """Judge each account behind each Service, or the one that the operator named."""
    seen: set[Account] = set()
    for (namespace, name), accounts in facts.accounts.items():
        if not accounts:
            yield unknown(
                ACCOUNT,
                f"Service {namespace}/{name}",
                "no pods and no Deployment behind it are visible from here, so the server's account is unknown",
                do="give it: --service-account NAMESPACE:NAME",
            )
        for each in accounts:
            if each.account not in seen:
                seen.add(each.account)
                yield _account(each)
                yield from _needs(each, certain=bool(facts.expected) or each.account.given)


def _account(each: AccountFacts) -> Finding:
    account, subject = each.account, f"account {each.account.namespace}:{each.account.name}"
    if each.exists.found:
        return ok(ACCOUNT, subject, "there")
    if each.exists.status != 404:
        return unknown(ACCOUNT, subject, each.exists.why)
    return error(
        ACCOUNT,
        subject,
        saw=each.exists.text,
        wrong="no pod can run as it",
        do=f"kubectl create serviceaccount -n {account.namespace} {account.name}",
    )


def _needs(each: AccountFacts, *, certain: bool) -> Iterator[Finding]:
    """``certain``: whether the server is known to be built with extapi; those all need namespaces, webhooks and policies."""
    account = each.account
    subject = f"account {account.namespace}:{account.name}"
    name = f"{account.namespace}:{account.name}"
    for need in NEEDS:
        doubt = need.rights in (NAMESPACES, WEBHOOKS, POLICIES) and not certain
        why = "extapi serve needs it, other servers may not" if doubt else ""
        yield _need(each, subject, need._replace(do=need.do.format(account=name)), why)
    if each.lease.rights:
        rights = each.lease.rights
        do = _LEASES.format(account=name, namespace=rights[0].namespace)
        need = Need("rights.leases", rights, "no replica runs the controllers: none can be elected leader", do)
        why = "" if each.lease.certain else "replicas need it if they have controllers; --app tells"
        yield _need(each, subject, need, why)
    yield from _declared(each, subject)


def _need(each: AccountFacts, subject: str, need: Need, doubt: str) -> Finding:
    """``doubt``: why it may not be needed; empty: it is."""
    readings = {right: each.reviews[right] for right in need.rights}
    unread = [reading for reading in readings.values() if not reading.found]
    if unread:
        return unknown(need.check, subject, unread[0].why)
    missing = [right for right, reading in readings.items() if not _allowed(reading)]
    if not missing:
        return ok(need.check, subject, f"may {_told(need.rights)}")
    saw = f"may not {_told(missing)}"
    if doubt:
        return unknown(need.check, subject, f"{saw}: {doubt}", do=need.do)
    return error(need.check, subject, saw=saw, wrong=need.wrong, do=need.do)


def _declared(each: AccountFacts, subject: str) -> Iterator[Finding]:
    """What ``Api(needs=[...])`` asks for, if ``--app`` names the Api."""
    others = {*RIGHTS, *each.lease.rights}
    readings = {right: reading for right, reading in each.reviews.items() if right not in others}
    unread = [reading for reading in readings.values() if not reading.found]
    if unread:
        yield unknown(DECLARED, subject, unread[0].why)
        return
    missing = [right for right, reading in readings.items() if not _allowed(reading)]
    if missing:
        yield error(
            DECLARED,
            subject,
            saw="; ".join(f"may not {right.verb} {right.what}" for right in missing),
            wrong="the Api declares that its code needs this: its controllers and plugins fail with 403",
            do="kubectl apply what 'extapi manifests' renders: server-role.yaml has these rules",
        )
    elif readings:
        yield ok(DECLARED, subject, "may do in the cluster what the Api needs")


def _allowed(reading: Reading) -> bool:
    return member(reading.obj(), "status", "allowed") is True


def _told(rights: Sequence[Right]) -> str:
    """The rights of one need: their verbs, and on what."""
    verbs, resources = (
        dict.fromkeys(each) for each in zip(*((right.verb, right.what) for right in rights), strict=True)
    )
    return f"{', '.join(verbs)} {', '.join(resources)}"
