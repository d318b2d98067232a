"""Acting as another user, by the Impersonate headers; each of their values has to be allowed (behaviour A32).

The stage comes after authentication. It is in this package because it asks an authorizer. Of the modes that
kube-apiserver 1.36 has, this is the legacy one: the constrained ones (``impersonate:user-info`` and so on) are not tried.

Source: ``k8s.io/apiserver/pkg/endpoints/filters/impersonation``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from extapi.api.percent import unescaped_leniently
from extapi.api.user import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User
from extapi.authorization.authorizer import Attributes, AuthorizationError, Authorizer, Verdict
from extapi.authorization.stage import not_authorized
from extapi.errors import BadRequest, InternalError
from extapi.http.request import Request
from extapi.http.response import Handler, Response

USER, GROUP, UID, EXTRA_PREFIX = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"

AUTHENTICATION_GROUP = "authentication.k8s.io"

ITEMS = 100
"""Groups and extra values per request. Each of them costs a review, as in kube-apiserver, which has no bound."""

LENGTH = 16 * 1024
"""Characters of all values together: they become part of the reviews."""


class BadImpersonation(BadRequest):
    """400; the response also has ``X-Content-Type-Options: nosniff``."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The identity that the headers ask for."""

    user: str
    uid: str
    groups: tuple[str, ...]
    extra: dict[str, tuple[str, ...]]


class Impersonation:
    """Replaces ``request.user`` where the headers ask for it and ``authorizer`` allows it, then calls ``handler``."""

    def __init__(self, handler: Handler, authorizer: Authorizer) -> None:
        self._handler = handler
        self._authorizer = authorizer

    def __call__(self, request: Request) -> Awaitable[Response]:
        """The handler's response.

        Raises:
            NotAuthorized: The user may not impersonate one of the values.
            BadImpersonation: The headers name no user, or are over the bounds.
        """
        if "impersonate" not in " ".join(request.headers):
            return self._handler(request)
        return self._impersonating(request)

    async def _impersonating(self, request: Request) -> Response:
        names = [name for name in request.headers if name.startswith("impersonate")]
        if names:
            if request.user is None:
                raise InternalError.because("no user found for the request")
            wanted = _wanted(request, names)
            if wanted is not None:
                if MASTERS not in request.user.groups:  # they are allowed everything, without reviews
                    _check_size(wanted)
                await self._impersonate(request, request.user, wanted)
            for name in names:
                # Also those that mean nothing here: a server that the request is passed on to must not read them.
                if name.startswith(("impersonate-", "impersonate_")):
                    del request.headers[name]
        return await self._handler(request)

    async def _impersonate(self, request: Request, requestor: User, wanted: _Wanted) -> None:
        for attributes in _required(wanted):
            try:
                decision = await self._authorizer.authorize(requestor, attributes)
            except AuthorizationError as error:
                request.log["impersonation"] = str(error)
                raise not_authorized(requestor, attributes, "") from error
            if decision.verdict is not Verdict.ALLOW:
                raise not_authorized(requestor, attributes, decision.reason)
        request.original_user = requestor
        request.user = User(wanted.user, uid=wanted.uid, groups=_groups(wanted), extra=wanted.extra)


def _wanted(request: Request, names: list[str]) -> _Wanted | None:
    user, uid = request.header(USER), request.header(UID)
    groups = tuple(request.headers.get(GROUP, ()))
    extra: dict[str, list[str]] = {}
    for name in names:
        if name.startswith(EXTRA_PREFIX):
            extra.setdefault(unescaped_leniently(name.removeprefix(EXTRA_PREFIX)), []).extend(request.headers[name])
    if user:
        return _Wanted(user, uid, groups, {key: tuple(values) for key, values in extra.items()})
    found = [name for name, values in (("groups", groups), ("a uid", uid), ("extra", extra)) if values]
    if found:
        # kube-apiserver prints a Go struct here.
        raise BadImpersonation(f"requested {' and '.join(found)} without impersonating a user name")
    return None


def _check_size(wanted: _Wanted) -> None:
    values = [value for found in wanted.extra.values() for value in found]
    if len(wanted.groups) + len(values) > ITEMS:
        raise BadImpersonation(f"requested more than {ITEMS} groups and extra values to impersonate")
    texts = (wanted.user, wanted.uid, *wanted.groups, *values, *wanted.extra)
    if sum(map(len, texts)) > LENGTH:
        raise BadImpersonation(f"requested more than {LENGTH} characters of an identity to impersonate")


def _required(wanted: _Wanted) -> list[Attributes]:
    """What has to be allowed, in order."""
    account = _service_account(wanted.user)
    if account:
        namespace, name = account
        required = [
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
        required = [Attributes("impersonate", is_resource=True, version="v1", resource="users", name=wanted.user)]
    required += [
        Attributes("impersonate", is_resource=True, version="v1", resource="groups", name=group)
        for group in wanted.groups
    ]
    required += [
        _of_authentication("userextras", value, subresource=key)
        for key, values in wanted.extra.items()
        for value in values
    ]
    if wanted.uid:
        required.append(_of_authentication("uids", wanted.uid))
    return required


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
    """The groups of the impersonated user.

    Without any in the headers, a service account gets its own. Every user is also in one of ``system:authenticated`` and
    ``system:unauthenticated``.
    """
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
    """Namespace and name if the user is a service account, otherwise None."""
    parts = user.split(":", 4)
    if len(parts) != 4 or parts[:2] != ["system", "serviceaccount"] or not parts[2] or not parts[3]:
        return None
    return parts[2], parts[3]
