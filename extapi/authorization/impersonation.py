"""Acting as somebody else: Impersonate headers, each item of which has to be allowed (spec A32, the classic mode).

Stands after authentication, and here because it is a question of authorization. The constrained modes of 1.36
(``impersonate:user-info`` and so on) are not asked for. Source: ``k8s.io/apiserver/pkg/endpoints/filters/impersonation``.
"""

from __future__ import annotations

from dataclasses import dataclass

from extapi.api.percent import unescaped_leniently
from extapi.api.user import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User
from extapi.authorization.base import Attributes, AuthorizationError, Authorizer, Verdict
from extapi.authorization.refusal import not_authorized
from extapi.errors import BadRequest, InternalError
from extapi.listener.call import Call, Handler, Response

USER, GROUP, UID, EXTRA_PREFIX = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"

AUTHENTICATION_GROUP = "authentication.k8s.io"

ITEMS = 100
"""Groups and extra values of one request. Each is a question to the cluster, as in kube-apiserver, which has no bound."""

LENGTH = 16 * 1024
"""Characters of all that is asked for: names become a part of those questions."""


class BadImpersonation(BadRequest):
    """400; its answer also has ``X-Content-Type-Options: nosniff``."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    user: str
    uid: str
    groups: tuple[str, ...]
    extra: dict[str, tuple[str, ...]]


class Impersonation:
    """Replaces ``call.user`` where the headers ask for it and ``authorizer`` allows it, then calls ``handler``."""

    def __init__(self, handler: Handler, authorizer: Authorizer) -> None:
        self._handler = handler
        self._authorizer = authorizer

    async def __call__(self, call: Call) -> Response:
        """The handler's answer. Raises NotAuthorized, or BadRequest for headers that name no user."""
        names = [name for name in call.headers if name.startswith("impersonate-")]
        if names:
            if call.user is None:
                raise InternalError.because("no user found for the request")
            wanted = _wanted(call, names)
            if wanted is not None:
                if MASTERS not in call.user.groups:  # whose questions are answered without asking the cluster
                    _check_size(wanted)
                await self._impersonate(call, call.user, wanted)
            for name in names:
                if name in {USER, GROUP, UID} or name.startswith(EXTRA_PREFIX):
                    del call.headers[name]
        return await self._handler(call)

    async def _impersonate(self, call: Call, requestor: User, wanted: _Wanted) -> None:
        for attributes in _questions(wanted):
            try:
                decision = await self._authorizer.authorize(requestor, attributes)
            except AuthorizationError as error:
                call.log["impersonation"] = str(error)
                raise not_authorized(requestor, attributes, "") from error
            if decision.verdict is not Verdict.ALLOW:
                raise not_authorized(requestor, attributes, decision.reason)
        call.original_user = requestor
        call.user = User(wanted.user, uid=wanted.uid, groups=_groups(wanted), extra=wanted.extra)


def _wanted(call: Call, names: list[str]) -> _Wanted | None:
    user, uid = call.header(USER), call.header(UID)
    groups = tuple(call.headers.get(GROUP, ()))
    extra: dict[str, list[str]] = {}
    for name in names:
        if name.startswith(EXTRA_PREFIX):
            # As it is where an escape is broken.
            extra.setdefault(unescaped_leniently(name.removeprefix(EXTRA_PREFIX)), []).extend(call.headers[name])
    if user:
        return _Wanted(user, uid, groups, {key: tuple(values) for key, values in extra.items()})
    asked = [what for what, there in (("groups", groups), ("a uid", uid), ("extra", extra)) if there]
    if asked:
        # kube-apiserver prints a Go struct here.
        raise BadImpersonation(f"requested {' and '.join(asked)} without impersonating a user name")
    return None


def _check_size(wanted: _Wanted) -> None:
    values = [value for found in wanted.extra.values() for value in found]
    if len(wanted.groups) + len(values) > ITEMS:
        raise BadImpersonation(f"requested more than {ITEMS} groups and extra values to impersonate")
    texts = (wanted.user, wanted.uid, *wanted.groups, *values, *wanted.extra)
    if sum(map(len, texts)) > LENGTH:
        raise BadImpersonation(f"requested more than {LENGTH} characters of an identity to impersonate")


def _questions(wanted: _Wanted) -> list[Attributes]:
    """What has to be allowed, in order."""
    account = _service_account(wanted.user)
    if account:
        namespace, name = account
        asked = [
            Attributes(
                "impersonate",
                is_resource=True,
                version="v1",
                resource="serviceaccounts",
                namespace=namespace,
                name=name,
            )
        ]
    else:
        asked = [Attributes("impersonate", is_resource=True, version="v1", resource="users", name=wanted.user)]
    asked += [
        Attributes("impersonate", is_resource=True, version="v1", resource="groups", name=group)
        for group in wanted.groups
    ]
    asked += [
        _of_authentication("userextras", value, subresource=key)
        for key, values in wanted.extra.items()
        for value in values
    ]
    if wanted.uid:
        asked.append(_of_authentication("uids", wanted.uid))
    return asked


def _of_authentication(resource: str, name: str, *, subresource: str = "") -> Attributes:
    return Attributes(
        "impersonate",
        is_resource=True,
        group=AUTHENTICATION_GROUP,
        version="v1",
        resource=resource,
        subresource=subresource,
        name=name,
    )


def _groups(wanted: _Wanted) -> tuple[str, ...]:
    """The groups asked for; those of a service account where none were; and whether the user counts as known."""
    groups = wanted.groups
    account = _service_account(wanted.user)
    if account and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if wanted.user == ANONYMOUS:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)


def _service_account(user: str) -> tuple[str, str] | None:
    """Namespace and name, if the user is a service account."""
    parts = user.split(":", 4)
    if len(parts) != 4 or parts[:2] != ["system", "serviceaccount"] or not parts[2] or not parts[3]:
        return None
    return parts[2], parts[3]
