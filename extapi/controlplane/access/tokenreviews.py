"""How one asks for a token, and what one is worth: TokenRequests and TokenReviews, which are answered and never kept.

Source: ``pkg/registry/core/serviceaccount/storage/token.go`` and ``pkg/registry/authentication/tokenreview`` of Kubernetes.
"""

from __future__ import annotations

from typing import Any, TypeVar

from extapi import Conflict, FieldError, NotFound
from extapi.api.definition import Asked
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.authentication.base import AuthenticationError
from extapi.authentication.groups import authenticated
from extapi.client.clock import Clock
from extapi.controlplane.access.reviews import as_json, in_form_of, user_info
from extapi.controlplane.access.tokens import Bound, Tokens
from extapi.errors import BadRequest, Invalid

AUTHENTICATION = "authentication.k8s.io"
LIFETIME, SHORTEST, LONGEST = 3600, 600, 1 << 32
"""Seconds that a token is good for if nothing else is asked, at least and at most."""

T = TypeVar("T")


class TokenRequests:
    """Serves ``serviceaccounts/NAME/token``."""

    def __init__(self, tokens: Tokens, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock

    async def create(self, asked: Asked, obj: T) -> T:
        """The request with a token as its status. Raises NotFound, BadRequest, Conflict and Invalid."""
        request = as_json(obj)
        metadata: Obj = dict(request.get("metadata") or {})
        spec: Obj = request.get("spec") or {}
        if metadata.get("name", "") not in {"", asked.name}:
            why = "must match the service account name if specified"
            raise _invalid(asked.name, "metadata.name", metadata["name"], why)
        account = await self._tokens.live("serviceaccounts", asked.namespace, asked.name)
        uid = account["metadata"]["uid"]
        if metadata.get("uid", "") not in {"", uid}:
            why = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account ({uid})"
            raise Conflict.on("TokenRequest", AUTHENTICATION, asked.name, why)
        seconds = spec.get("expirationSeconds")
        seconds = LIFETIME if seconds is None else seconds
        if seconds < SHORTEST:
            raise _invalid("", "spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds > LONGEST:
            raise _invalid("", "spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        now = int(self._clock.seconds())
        audiences = spec.get("audiences") or list(self._tokens.audiences)
        token = self._tokens.issue(
            asked.namespace,
            Bound(asked.name, uid),
            audiences=audiences,
            now=now,
            expires=now + seconds,
            secret=await self._bound(spec.get("boundObjectRef"), asked.namespace),
        )
        metadata |= {"name": asked.name, "namespace": asked.namespace, "uid": uid}
        metadata["creationTimestamp"] = format_timestamp(now)
        spec = {**spec, "audiences": audiences, "expirationSeconds": seconds}
        status = {"token": token, "expirationTimestamp": format_timestamp(now + seconds)}
        return in_form_of(obj, {**request, "metadata": metadata, "spec": spec, "status": status})

    async def _bound(self, ref: Obj | None, namespace: str) -> Bound | None:
        """The Secret that a token shall be bound to. There are neither Pods nor Nodes here."""
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
    """Serves TokenReviews: of the tokens that are made here; all others are nobody's."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def create(self, asked: Asked, obj: T) -> T:
        """The review with its status; a bad token is no error. Raises BadRequest without a token."""
        del asked
        review = as_json(obj)
        spec: Obj = review.get("spec") or {}
        if not spec.get("token"):
            raise BadRequest("token is required for TokenReview in authentication")
        status: Obj = {"user": {}}
        try:
            # It is judged as if it came in a header: what follows a space does not belong to it.
            token = spec["token"].strip().partition(" ")[0]
            verified = await self._tokens.verify(token, spec.get("audiences") or self._tokens.audiences)
            if verified is None:
                status["error"] = "invalid bearer token"
            else:
                user, audiences = verified
                status = {"authenticated": True, "user": user_info(authenticated(user)), "audiences": audiences}
        except AuthenticationError as error:
            status["error"] = f"[invalid bearer token, {error}]"
        return in_form_of(obj, {**review, "status": status})


def _invalid(name: str, path: str, value: Any, why: str) -> Invalid:
    return Invalid.of("TokenRequest", AUTHENTICATION, name, [FieldError.invalid(path, value, why)])
