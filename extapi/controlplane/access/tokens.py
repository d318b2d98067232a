"""Tokens of service accounts: made for those who may ask, and judged.

A token is a JWT, signed with the control plane's key (ES256); it is good as long as its account exists, and the Secret that
it may be bound to. Source: ``pkg/serviceaccount`` (claims, checks), ``pkg/registry/core/serviceaccount/storage/token.go`` and
``pkg/registry/authentication/tokenreview`` of Kubernetes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from extapi import Conflict, Context, FieldError, Informer, NotFound, User
from extapi.api.definition import Asked
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.authentication.base import AuthenticationError
from extapi.authentication.groups import authenticated
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.controlplane.access.rbac import ACCOUNT_PREFIX
from extapi.controlplane.access.reviews import as_json, in_form_of, user_info
from extapi.controlplane.access.rules import quoted
from extapi.errors import ApiError, BadRequest, InternalError, Invalid

AUTHENTICATION = "authentication.k8s.io"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
LIFETIME, SHORTEST, LONGEST = 3600, 600, 1 << 32
"""Seconds that a token is good for if nothing else is asked, at least and at most."""
LEEWAY = 60
"""Seconds by which clocks may differ."""

T = TypeVar("T")


class _Bound(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Kubernetes(msgspec.Struct, omit_defaults=True):
    namespace: str = ""
    serviceaccount: _Bound = msgspec.field(default_factory=_Bound)
    secret: _Bound | None = None
    pod: _Bound | None = None
    node: _Bound | None = None


class _Claims(msgspec.Struct, omit_defaults=True):
    """Of a token. The order is that of kube-apiserver."""

    aud: list[str] | str = []
    exp: float = float("inf")
    iat: float = 0
    iss: str = ""
    jti: str = ""
    kubernetes: _Kubernetes = msgspec.field(name="kubernetes.io", default_factory=_Kubernetes)
    nbf: float = 0
    sub: str = ""


class Tokens:
    """Makes and judges tokens of ``issuer``, which is also the audience of those for this server itself.

    ``key_pem``: an EC key on P-256, PEM. Raises ValueError for another. :attr:`token_request` and :attr:`token_review` serve
    their kinds.
    """

    def __init__(self, key_pem: bytes, issuer: str, clock: Clock) -> None:
        key = load_pem_private_key(key_pem, None)
        if getattr(getattr(key, "curve", None), "name", "") != "secp256r1":
            raise ValueError("the key of service account tokens has to be an EC key on the curve P-256")
        self._key: Any = key
        self._kid = key_id(self._key.public_key())
        self._clock = clock
        self._context: Context | None = None
        self._accounts: Informer | None = None
        self.audiences = (issuer,)
        self.issuer = issuer
        self.token_request = TokenRequests(self, clock)
        self.token_review = TokenReviews(self)

    async def start(self, context: Context) -> None:
        """Follow the service accounts; once it returns they are known."""
        self._context = context
        self._accounts = context.informer("", "v1", "serviceaccounts")
        await self._accounts.wait_synced()

    async def live(self, resource: str, namespace: str, name: str) -> Obj:
        """An account or a Secret as it is now. Raises NotFound."""
        if self._context is None:
            raise InternalError.because("service accounts are not known yet")
        if not namespace or not name:
            raise NotFound.named(resource, "", name)
        return await self._context.get("", "v1", resource, name, namespace=namespace)

    def sign(self, claims: _Claims) -> str:
        """The token with these claims."""
        import jwt  # noqa: PLC0415 - loaded when the first token is asked for

        payload = msgspec.json.encode(claims)
        return jwt.PyJWS().encode(payload, self._key, algorithm="ES256", headers={"kid": self._kid, "typ": ""})

    async def authenticate_token(self, token: str) -> User | None:
        """Whose it is; None for a token of somebody else. Raises AuthenticationError for one that is no good."""
        verified = await self.verify(token, self.audiences)
        return verified and verified[0]

    async def verify(self, token: str, audiences: Sequence[str]) -> tuple[User, list[str]] | None:
        """As :meth:`authenticate_token`, for other ``audiences``; with those of them that the token is for."""
        if _issuer(token) != self.issuer:
            return None
        claims = self._verified(token)
        if claims is None:
            return None
        own = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        common = [each for each in audiences if each in (own or self.audiences)]
        if not common:
            raise AuthenticationError(
                f"token audiences {quoted(own)} is invalid for the target audiences {quoted(audiences)}"
            )
        self._check_times(claims)
        await self._check_objects(claims.kubernetes)
        of = claims.kubernetes
        user = User(
            f"{ACCOUNT_PREFIX}{of.namespace}:{of.serviceaccount.name}",
            of.serviceaccount.uid,
            ("system:serviceaccounts", f"system:serviceaccounts:{of.namespace}"),
            {CREDENTIAL_ID: (f"JTI={claims.jti}",)} if claims.jti else {},
        )
        return user, common

    def _verified(self, token: str) -> _Claims | None:
        """The claims, if the signature is ours; None for what is no JWT."""
        import jwt  # noqa: PLC0415 - as above

        try:
            kid = jwt.get_unverified_header(token).get("kid", "")
            if kid not in {"", self._kid}:
                raise AuthenticationError("invalid signature, no keys found")
            payload = jwt.PyJWS().decode(token, self._key.public_key(), algorithms=["ES256"])
            return msgspec.json.decode(payload, type=_Claims)
        except (jwt.InvalidSignatureError, jwt.InvalidAlgorithmError) as error:
            raise AuthenticationError("go-jose/go-jose: error in cryptographic primitive") from error
        except msgspec.DecodeError as error:
            raise AuthenticationError(f"the claims cannot be read: {error}") from error
        except (jwt.PyJWTError, ValueError, RecursionError):
            return None

    def _check_times(self, claims: _Claims) -> None:
        now = self._clock.seconds()
        if now + LEEWAY < claims.nbf:
            raise AuthenticationError("service account token is not valid yet")
        if now - LEEWAY > claims.exp:
            raise AuthenticationError("service account token has expired")
        if now + LEEWAY < claims.iat:
            raise AuthenticationError("service account token is issued in the future")

    async def _check_objects(self, of: _Kubernetes) -> None:
        """The account is still the one that the token was made for, and so is what the token is bound to."""
        invalidated = "service account token has been invalidated"
        account = await self._account(of.namespace, of.serviceaccount)
        self._check(account, of.serviceaccount, "service account UID ({}) does not match claim ({})")
        self._check_there(account, f"service account {of.namespace}/{of.serviceaccount.name} has been deleted")
        if of.pod or of.node:
            raise AuthenticationError(invalidated)
        if of.secret is None:
            return
        try:
            secret = await self.live("secrets", of.namespace, of.secret.name)
        except (ApiError, TransportError, ValueError) as error:
            raise AuthenticationError(invalidated) from error
        self._check(secret, of.secret, "secret UID ({}) does not match service account secret ref claim ({})")
        self._check_there(secret, invalidated)

    async def _account(self, namespace: str, wanted: _Bound) -> Obj:
        """From what is followed, or as it is now if that does not fit: a new account's token is good at once."""
        found = self._accounts.get(namespace, wanted.name) if self._accounts else None
        if found is not None and found["metadata"]["uid"] == wanted.uid:
            return found
        try:
            return await self.live("serviceaccounts", namespace, wanted.name)
        except (ApiError, TransportError, ValueError) as error:
            raise AuthenticationError(str(error)) from error

    @staticmethod
    def _check(obj: Obj, wanted: _Bound, why: str) -> None:
        uid = obj["metadata"]["uid"]
        if uid != wanted.uid:
            raise AuthenticationError(why.format(uid, wanted.uid))

    def _check_there(self, obj: Obj, why: str) -> None:
        """Deleted for longer than clocks may differ is gone, though something holds it."""
        deleted = obj["metadata"].get("deletionTimestamp")
        if deleted is not None and deleted < format_timestamp(self._clock.seconds() - LEEWAY):
            raise AuthenticationError(why)


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
        claims = _Claims(
            aud=spec.get("audiences") or list(self._tokens.audiences),
            exp=now + seconds,
            iat=now,
            iss=self._tokens.issuer,
            jti=str(uuid4()),
            kubernetes=_Kubernetes(
                namespace=asked.namespace,
                serviceaccount=_Bound(asked.name, uid),
                secret=await self._bound(spec.get("boundObjectRef"), asked.namespace),
            ),
            nbf=now,
            sub=f"{ACCOUNT_PREFIX}{asked.namespace}:{asked.name}",
        )
        metadata |= {"name": asked.name, "namespace": asked.namespace, "uid": uid}
        metadata["creationTimestamp"] = format_timestamp(now)
        spec = {**spec, "audiences": claims.aud, "expirationSeconds": seconds}
        status = {"token": self._tokens.sign(claims), "expirationTimestamp": format_timestamp(claims.exp)}
        return in_form_of(obj, {**request, "metadata": metadata, "spec": spec, "status": status})

    async def _bound(self, ref: Obj | None, namespace: str) -> _Bound | None:
        """The Secret that a token shall be bound to. There are neither Pods nor Nodes here."""
        if ref is None:
            return None
        version, kind, name = ref.get("apiVersion", ""), ref.get("kind", ""), ref.get("name", "")
        group, _, number = version.rpartition("/")
        if group or kind not in {"Secret", "Pod", "Node"}:
            raise BadRequest(f"cannot bind token to object of type {group}/{number}, Kind={kind}")
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
        return _Bound(name, uid)


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


def key_id(key: Any) -> str:
    """The name of a public key in tokens: the SHA-256 of its DER form, in base64url without padding."""
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _issuer(token: str) -> str | None:
    """Whom a token says it is from, unproven; None for what is no JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(payload, type=_Issued).iss
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None


class _Issued(msgspec.Struct):
    iss: str = ""


def _invalid(name: str, path: str, value: Any, why: str) -> Invalid:
    return Invalid.of("TokenRequest", AUTHENTICATION, name, [FieldError.invalid(path, value, why)])
