"""Service account tokens: issued and verified. Must not know the requests for either.

A token is a JWT, signed with the control plane's key (ES256). It is valid while its account exists, and the Secret that it
is bound to, if any.

Source: ``pkg/serviceaccount`` of Kubernetes (claims, checks).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from extapi import ApiError, Context, Informer, InternalError, NotFound, TransportError, User
from extapi.api.names import path_segment
from extapi.api.timestamp import format_timestamp
from extapi.authentication.authenticator import AuthenticationError
from extapi.clock import Clock, wall_time
from extapi.controlplane.access.rbac import ACCOUNT_PREFIX
from extapi.controlplane.access.rules import quoted

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
LEEWAY = 60
"""Seconds by which clocks may differ."""


class Bound(msgspec.Struct):
    """The object that a token is bound to: the token ends with it, also if another gets its name."""

    name: str = ""
    uid: str = ""


class _Kubernetes(msgspec.Struct, omit_defaults=True):
    namespace: str = ""
    serviceaccount: Bound = msgspec.field(default_factory=Bound)
    secret: Bound | None = None
    pod: Bound | None = None
    node: Bound | None = None


class _Claims(msgspec.Struct, omit_defaults=True):
    """The claims of a token, in kube-apiserver's order."""

    aud: list[str] | str = []
    exp: float = float("inf")
    iat: float = 0
    iss: str = ""
    jti: str = ""
    kubernetes: _Kubernetes = msgspec.field(name="kubernetes.io", default_factory=_Kubernetes)
    nbf: float = 0
    sub: str = ""


class Tokens:
    """Issues and verifies tokens.

    Args:
        key_pem: The signing key, PEM: an EC key on P-256.
        issuer: The ``iss`` claim; also the audience of tokens for this server itself.
        clock: The time.

    Raises:
        ValueError: The key is of another type.
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

    async def start(self, context: Context) -> None:
        """Follow the service accounts; returns once all are known."""
        self._context = context
        self._accounts = context.informer("", "v1", "serviceaccounts")
        await self._accounts.wait_synced()

    async def live(self, resource: str, namespace: str, name: str) -> dict[str, Any]:
        """A service account or a Secret, read live.

        Raises:
            NotFound: It does not exist.
            InternalError: Nothing can be read before :meth:`start`.
        """
        if self._context is None:
            raise InternalError.because("service accounts are not known yet")
        if not namespace or not name or path_segment(name):
            raise NotFound.named(resource, "", name)
        return await self._context.get("", "v1", resource, name, namespace=namespace)

    def issue(
        self,
        namespace: str,
        account: Bound,
        *,
        audiences: Sequence[str],
        now: int,
        expires: int,
        secret: Bound | None = None,
    ) -> str:
        """A token of an account for ``audiences``.

        Args:
            namespace: The account's namespace.
            account: The account.
            audiences: The ``aud`` claim.
            now: The time of issue, in seconds since the epoch.
            expires: The end of its validity, in seconds since the epoch.
            secret: The Secret that the token is bound to.
        """
        import jwt  # noqa: PLC0415 - imported for the first token

        claims = _Claims(
            aud=list(audiences),
            exp=expires,
            iat=now,
            iss=self.issuer,
            jti=str(uuid4()),
            kubernetes=_Kubernetes(namespace=namespace, serviceaccount=account, secret=secret),
            nbf=now,
            sub=f"{ACCOUNT_PREFIX}{namespace}:{account.name}",
        )
        payload = msgspec.json.encode(claims)
        return jwt.PyJWS().encode(payload, self._key, algorithm="ES256", headers={"kid": self._kid, "typ": ""})

    async def authenticate_token(self, token: str, address: str = "") -> User | None:  # noqa: ARG002 - the protocol's argument
        """The user of a token; None for a token of another issuer.

        Raises:
            AuthenticationError: The token is not valid.
        """
        verified = await self.verify(token, self.audiences)
        return verified and verified[0]

    async def verify(self, token: str, audiences: Sequence[str]) -> tuple[User, list[str]] | None:
        """The user of a token, and those of ``audiences`` that it is for; None for a token of another issuer.

        Raises:
            AuthenticationError: The token is not valid.
        """
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
        """The claims; None if the token is not a JWT.

        Raises:
            AuthenticationError: The signature is wrong.
        """
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
        now = wall_time(self._clock)
        if now + LEEWAY < claims.nbf:
            raise AuthenticationError("service account token is not valid yet")
        if now - LEEWAY > claims.exp:
            raise AuthenticationError("service account token has expired")
        if now + LEEWAY < claims.iat:
            raise AuthenticationError("service account token is issued in the future")

    async def _check_objects(self, of: _Kubernetes) -> None:
        """Check that the account and the bound object still are those the token was issued for."""
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
        except (ApiError, TransportError) as error:
            raise AuthenticationError(invalidated) from error
        self._check(secret, of.secret, "secret UID ({}) does not match service account secret ref claim ({})")
        self._check_there(secret, invalidated)

    async def _account(self, namespace: str, wanted: Bound) -> dict[str, Any]:
        """The account, from the informer or else read live: a new account's token is valid at once."""
        found = self._accounts.get(namespace, wanted.name) if self._accounts else None
        if found is not None and found["metadata"]["uid"] == wanted.uid:
            return found
        try:
            return await self.live("serviceaccounts", namespace, wanted.name)
        except (ApiError, TransportError) as error:
            raise AuthenticationError(str(error)) from error

    @staticmethod
    def _check(obj: dict[str, Any], wanted: Bound, why: str) -> None:
        uid = obj["metadata"]["uid"]
        if uid != wanted.uid:
            raise AuthenticationError(why.format(uid, wanted.uid))

    def _check_there(self, obj: dict[str, Any], why: str) -> None:
        """Refuse an object that was deleted longer ago than the leeway, even if finalizers still keep it."""
        deleted = obj["metadata"].get("deletionTimestamp")
        if deleted is not None and deleted < format_timestamp(wall_time(self._clock) - LEEWAY):
            raise AuthenticationError(why)


def key_id(key: Any) -> str:
    """The ``kid`` of a public key: the SHA-256 of its DER encoding, in base64url without padding."""
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _issuer(token: str) -> str | None:
    """The issuer that a token claims, unverified; None if the token is not a JWT."""
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
