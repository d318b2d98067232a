"""The virtual kinds of ``authentication.k8s.io``: reviews of tokens and of the client itself, and requests for tokens."""

from __future__ import annotations

from typing import Annotated

from extapi import Atomic, Description, Object, Struct
from extapi.controlplane.kinds.parts import Extra, Text, Time

Audiences = Annotated[list[str], Atomic(), Description("The recipients that a token is for.")]


class UserInfo(Struct):
    """A user, as authenticated."""

    username: Annotated[Text, Description("The name, unique among all users.")] = None
    uid: Annotated[Text, Description("Identifies the user among others that have the same name over time.")] = None
    groups: Annotated[list[str], Atomic(), Description("The groups that the user is in.")] = []
    extra: Extra = {}


class TokenReviewSpec(Struct):
    """The token to review."""

    token: Annotated[Text, Description("The bearer token.")] = None
    audiences: Audiences = []


class TokenReviewStatus(Struct):
    """The user of the token."""

    authenticated: Annotated[bool | None, Description("Whether the token is valid.")] = None
    user: UserInfo = UserInfo()
    audiences: Audiences = []
    error: Annotated[Text, Description("Why the token could not be checked.")] = None


class TokenReview(Object):
    """Asks for the user of a token."""

    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()


class BoundObjectReference(Struct):
    """The object on whose existence a token depends."""

    kind: Annotated[Text, Description("Pod, Node or Secret.")] = None
    api_version: Annotated[Text, Description("Its version.")] = None
    name: Annotated[Text, Description("Its name.")] = None
    uid: Annotated[Text, Description("Its uid.")] = None


class TokenRequestSpec(Struct):
    """The wanted token."""

    audiences: Audiences = []
    expiration_seconds: Annotated[int | None, Description("How long the token is valid, in seconds.")] = 3600
    bound_object_ref: BoundObjectReference | None = None


class TokenRequestStatus(Struct):
    """The token."""

    token: Annotated[str, Description("The bearer token.")] = ""
    expiration_timestamp: Annotated[Time, Description("When the token expires.")] = None


class TokenRequest(Object):
    """Asks for a token of a service account."""

    spec: TokenRequestSpec = TokenRequestSpec()
    status: TokenRequestStatus = TokenRequestStatus()


class SelfSubjectReviewStatus(Struct):
    """The user of the request."""

    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Object):
    """Asks for the user of the request itself."""

    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()
