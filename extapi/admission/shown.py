"""A write as a cluster's webhooks and policies are shown it: what it acts on, its objects in any version, the request.

Source: ``k8s.io/apiserver/pkg/admission`` conversion.go, ``k8s.io/apiserver/pkg/admission/plugin/webhook/request``,
``k8s.io/apiserver/pkg/admission/plugin/cel`` CreateAdmissionRequest.
"""

from __future__ import annotations

from typing import NamedTuple

from extapi.admission.base import Review
from extapi.admission.matching.rules import Subject
from extapi.admission.versions import KindName, ResourceVersions
from extapi.api.types import Obj


class ShownObjects(NamedTuple):
    """Both objects of a write in one version."""

    obj: Obj | None
    old: Obj | None


class ConvertedObjects:
    """The objects of a write in each version that is asked for, each converted once."""

    def __init__(self, review: Review) -> None:
        self.latest = ShownObjects(review.obj, review.old)
        """They, as the review has them."""
        self._versions = converting(review)
        self._made: dict[str, ShownObjects] = {}

    async def at(self, version: str) -> ShownObjects:
        """They, in the version of the resource.

        Raises:
            Unfit: Their fields do not fit their types.
            ApiError: The conversion failed.
        """
        found = self._made.get(version)
        if found is None:
            obj, old = self.latest
            found = self._made[version] = ShownObjects(await self._in(obj, version), await self._in(old, version))
        return found

    async def _in(self, obj: Obj | None, version: str) -> Obj | None:
        return obj if obj is None or self._versions is None else await self._versions.convert(obj, version)


def subject(review: Review) -> Subject:
    """What a write acts on, for rules."""
    versions = review.versions
    return Subject(
        review.operation,
        review.group,
        review.path_version,
        review.resource,
        review.subresource,
        bool(review.namespace),
        () if versions is None else versions().served,
    )


def converting(review: Review) -> ResourceVersions | None:
    """What converts the objects of a write; None: nothing does."""
    return None if review.versions is None else review.versions()


def kind_name(review: Review, version: str) -> KindName:
    """The kind of a write's objects in a version."""
    versions = converting(review)
    return KindName(review.group, version, review.kind.name) if versions is None else versions.kind(version)


def request_members(review: Review, kind: KindName, request_kind: KindName, version: str, name: str) -> Obj:
    """The members of an AdmissionRequest but for its uid and its objects, in Go's order.

    Args:
        review: The write.
        kind: The kind in which the object is shown.
        request_kind: The kind in which the client sent it.
        version: The version of the resource that matches the rules of who is asked.
        name: The name of the object; empty if it has none yet.
    """
    members: Obj = {
        "kind": kind._asdict(),
        "resource": {"group": review.group, "version": version, "resource": review.resource},
        "subResource": review.subresource,
        "requestKind": request_kind._asdict(),
        "requestResource": {"group": review.group, "version": review.path_version, "resource": review.resource},
        "requestSubResource": review.subresource,
        "name": name,
        "namespace": review.namespace,
        "operation": str(review.operation),
    }
    made = {key: value for key, value in members.items() if value != ""}
    user = review.user
    info: Obj = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    info["extra"] = {key: list(values) for key, values in user.extra.items()}
    made["userInfo"] = {key: value for key, value in info.items() if value}
    made["dryRun"] = review.dry_run
    # The parameters of a connection are its own: Kubernetes' subresources have them as an object, ours do not.
    made["options"] = None if review.operation == "CONNECT" else dict(review.options)
    return made
