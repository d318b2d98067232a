"""Who somebody is: reviews, which are answered and never kept."""

from __future__ import annotations

from typing import Annotated

from extapi import Atomic, Description, Object, Struct
from extapi.controlplane.kinds.parts import Extra, Text, Time

Audiences = Annotated[list[str], Atomic(), Description("For whom a token is meant.")]


class UserInfo(Struct):
    """A user as an authenticator knows them."""

    username: Annotated[Text, Description("The name that is unique among all users.")] = None
    uid: Annotated[Text, Description("What tells the user from others of that name over time.")] = None
    groups: Annotated[list[str], Atomic(), Description("The groups that the user is in.")] = []
    extra: Extra = {}


class TokenReviewSpec(Struct):
    """The token in question."""

    token: Annotated[Text, Description("The bearer token.")] = None
    audiences: Audiences = []


class TokenReviewStatus(Struct):
    """Whose token it is."""

    authenticated: Annotated[bool | None, Description("Whether it is anybody's token.")] = None
    user: UserInfo = UserInfo()
    audiences: Audiences = []
    error: Annotated[Text, Description("Why it could not be told.")] = None


class TokenReview(Object):
    """Asks whose token something is."""

    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()


class BoundObjectReference(Struct):
    """The object that a token ends with."""

    kind: Annotated[Text, Description("Pod, Node or Secret.")] = None
    api_version: Annotated[Text, Description("Its version.")] = None
    name: Annotated[Text, Description("Its name.")] = None
    uid: Annotated[Text, Description("Its uid.")] = None


class TokenRequestSpec(Struct):
    """What the token shall be."""

    audiences: Audiences = []
    expiration_seconds: Annotated[int | None, Description("How long it shall be valid.")] = 3600
    bound_object_ref: BoundObjectReference | None = None


class TokenRequestStatus(Struct):
    """The token."""

    token: Annotated[str, Description("The bearer token.")] = ""
    expiration_timestamp: Annotated[Time, Description("Until when it is valid.")] = None


class TokenRequest(Object):
    """Asks for a token of a service account."""

    spec: TokenRequestSpec = TokenRequestSpec()
    status: TokenRequestStatus = TokenRequestStatus()


class SelfSubjectReviewStatus(Struct):
    """Who asked."""

    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Object):
    """Asks who the client itself is."""

    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()
