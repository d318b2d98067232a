"""TokenRequests and TokenReviews: they make and check tokens. They are answered, not stored.

Source: ``pkg/registry/core/serviceaccount/storage/token.go`` and ``pkg/registry/authentication/tokenreview`` of Kubernetes.
"""

from __future__ import annotations

from typing import Any, TypeVar

from extapi import BadRequest, Conflict, FieldError, Invalid, NotFound, RESTRequest
from extapi.api.timestamp import format_timestamp
from extapi.authentication.authenticator import AuthenticationError, authenticated
from extapi.clock import Clock, wall_time
from extapi.controlplane.access.reviews import as_json, user_info, with_type_of
from extapi.controlplane.access.tokens import Bound, Tokens

AUTHENTICATION = "authentication.k8s.io"
LIFETIME, SHORTEST, LONGEST = 3600, 600, 1 << 32
"""The lifetime of tokens in seconds: default, minimum and maximum."""

T = TypeVar("T")


class TokenRequests:
    """Serves ``serviceaccounts/NAME/token``."""

    def __init__(self, tokens: Tokens, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock

    async def create(self, request: RESTRequest, obj: T) -> T:
        """The request with a token as its status.

        Raises:
            NotFound: The account, or the object to bind to, does not exist.
            BadRequest: A token cannot be bound to this kind of object.
            Conflict: A UID in the request is not that of the object.
            Invalid: The name or the lifetime is wrong.
        """
        token_request = as_json(obj)
        metadata: dict[str, Any] = dict(token_request.get("metadata") or {})
        spec: dict[str, Any] = token_request.get("spec") or {}
        if metadata.get("name", "") not in {"", request.name}:
            why = "must match the service account name if specified"
            raise _invalid(request.name, "metadata.name", metadata["name"], why)
        account = await self._tokens.live("serviceaccounts", request.namespace, request.name)
        uid = account["metadata"]["uid"]
        if metadata.get("uid", "") not in {"", uid}:
            why = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account ({uid})"
            raise Conflict.on("TokenRequest", AUTHENTICATION, request.name, why)
        seconds = spec.get("expirationSeconds")
        seconds = LIFETIME if seconds is None else seconds
        if seconds < SHORTEST:
            raise _invalid("", "spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds > LONGEST:
            raise _invalid("", "spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        now = int(wall_time(self._clock))
        audiences = spec.get("audiences") or list(self._tokens.audiences)
        token = self._tokens.issue(
            request.namespace,
            Bound(request.name, uid),
            audiences=audiences,
            now=now,
            expires=now + seconds,
            secret=await self._bound(spec.get("boundObjectRef"), request.namespace),
        )
        metadata |= {"name": request.name, "namespace": request.namespace, "uid": uid}
        metadata["creationTimestamp"] = format_timestamp(now)
        spec = {**spec, "audiences": audiences, "expirationSeconds": seconds}
        status = {"token": token, "expirationTimestamp": format_timestamp(now + seconds)}
        return with_type_of(obj, {**token_request, "metadata": metadata, "spec": spec, "status": status})

    async def _bound(self, ref: dict[str, Any] | None, namespace: str) -> Bound | None:
        """The Secret to bind a token to. There are no Pods and no Nodes here."""
        if ref is None:
            return None
        version, kind, name = ref.get("apiVersion", ""), ref.get("kind", ""), ref.get("name", "")
        group, _, number = version.rpartition("/")
        if group or kind not in {"Secret", "Pod", "Node"}:
            raise BadRequest(f"cannot bind token to object of type {group}/{number}, Kind={kind}")
        if not name:
            raise BadRequest("Name parameter required.")
        if kind != "Secret":
            raise NotFound.named(f"{kind.lower()}s", "", name)
        secret = await self._tokens.live("secrets", namespace, name)
        uid = secret["metadata"]["uid"]
        if ref.get("uid", "") not in {"", uid}:
            why = (
                f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise Conflict.on(kind, "", name, why)
        return Bound(name, uid)


class TokenReviews:
    """Serves TokenReviews. Tokens that were not made here authenticate nobody."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def create(self, request: RESTRequest, obj: T) -> T:
        """The review with its status, also for a token that is not valid.

        Raises:
            BadRequest: The review has no token.
        """
        del request
        review = as_json(obj)
        spec: dict[str, Any] = review.get("spec") or {}
        if not spec.get("token"):
            raise BadRequest("token is required for TokenReview in authentication")
        status: dict[str, Any] = {"user": {}}
        try:
            # As in an Authorization header: the token ends at a space.
            token = spec["token"].strip().partition(" ")[0]
            verified = await self._tokens.verify(token, spec.get("audiences") or self._tokens.audiences)
            if verified is None:
                status["error"] = "invalid bearer token"
            else:
                user, audiences = verified
                status = {"authenticated": True, "user": user_info(authenticated(user)), "audiences": audiences}
        except AuthenticationError as error:
            status["error"] = f"[invalid bearer token, {error}]"
        return with_type_of(obj, {**review, "status": status})


def _invalid(name: str, path: str, value: Any, why: str) -> Invalid:
    return Invalid.of("TokenRequest", AUTHENTICATION, name, [FieldError.invalid(path, value, why)])
