"""An API that tells who asks, as its server was told, and keeps notes: ``extapi serve tests.kubernetes.who:api``."""

from __future__ import annotations

from extapi import CLUSTER, Api, Group, Kind, Object, RESTRequest, Struct, Version

GROUP = "who.example.com"
REVIEWS = f"/apis/{GROUP}/v1/whoamis"
NOTES = f"/apis/{GROUP}/v1/notes"


class UserInfo(Struct):
    """A user, as SelfSubjectReview has it."""

    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class WhoAmI(Object):
    """Asks who the caller is."""

    user: UserInfo = UserInfo()


class Reviews:
    """Answers a POST with what authentication found out."""

    async def create(self, asked: RESTRequest, review: WhoAmI) -> WhoAmI:
        """Who asks."""
        user = asked.user
        extra = {key: list(values) for key, values in user.extra.items()}
        review.user = UserInfo(username=user.name, uid=user.uid, groups=list(user.groups), extra=extra)
        return review


class Note(Object):
    """Something kept."""

    text: str = ""


api = Api(
    Group(
        GROUP,
        Kind("WhoAmI", scope=CLUSTER, storage="v1", status=False, versions={"v1": Version(WhoAmI)}, rest=Reviews()),
        Kind("Note", scope=CLUSTER, storage="v1", status=False, versions={"v1": Version(Note)}),
    )
)


def review() -> dict[str, object]:
    """The question."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "WhoAmI"}


def note(name: str, text: str = "") -> dict[str, object]:
    """A note."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Note", "metadata": {"name": name}, "text": text}
