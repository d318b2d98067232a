"""Who writes a policy or a binding has to be allowed to read the parameters that it names: they show in refusals.

Source: ``kubernetes/pkg/registry/admissionregistration`` authz.go of each kind, ``resolver/resolver.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extapi import Context, Invalid, NotFound, Review, TransportError, User
from extapi.api.types import Obj
from extapi.api.user import MASTERS
from extapi.authorization.authorizer import Attributes, Authorizer, Verdict
from extapi.controlplane.kinds.admissionparts import GROUP
from extapi.errors import ApiError, FieldError

POLICIES: Final[Mapping[str, str]] = {
    "validatingadmissionpolicybindings": "validatingadmissionpolicies",
    "mutatingadmissionpolicybindings": "mutatingadmissionpolicies",
}
"""The policies of each kind of bindings."""
_MUTATING: Final = "mutatingadmissionpolicybindings"
_ALL: Final = "*"


class ParamAccess:
    """A Validator for policies and bindings. Members of system:masters may write anything.

    Args:
        authorizer: Decides.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._context: Context | None = None

    async def start(self, context: Context) -> None:
        """Remember whom to ask for policies, and for the resources of kinds."""
        self._context = context

    async def validate(self, review: Review) -> None:
        """Refuse a policy or binding about parameters that the user may not read.

        Raises:
            Invalid: It is one.
        """
        if review.group != GROUP or review.subresource or MASTERS in review.user.groups:
            return
        new, old = review.as_version("v1"), review.old_as_version("v1")
        if new is None or self._context is None:
            return
        if review.resource in POLICIES:
            await self._binding(review, new, self._context)
        elif review.resource in POLICIES.values():
            await self._policy(review, new, old, self._context)

    async def _policy(self, review: Review, new: Obj, old: Obj | None, context: Context) -> None:
        kind = new["spec"].get("paramKind")
        if kind is None or (old is not None and old["spec"].get("paramKind") == kind):
            return
        resource = await _resource(context, kind)
        if not await self._may(review.user, "get", resource, _ALL, _ALL):
            why = (
                f'user {shown(review.user)} must have "get" permission on all objects of the referenced paramKind '
                f"(kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')})"
            )
            raise _refused(review, new, "spec.paramKind", why)

    async def _binding(self, review: Review, new: Obj, context: Context) -> None:
        spec = new["spec"]
        reference = spec.get("paramRef")
        if reference is None:
            return
        resource, unknown = await _resource_of_policy(context, review.resource, spec.get("policyName", ""))
        name, namespace = reference.get("name", ""), reference.get("namespace", "")
        verb = "get" if name else "list"
        if await self._may(review.user, verb, resource, name, namespace):
            return
        if unknown:
            unresolved = f'{unknown} to determine minimum required permissions and user {shown(review.user)} does not have "{verb}"'
            why = f"{unresolved} permission for all groups, versions and resources"
        else:
            # kube-apiserver mixes user and verb up for one of the two kinds.
            words = (verb, shown(review.user)) if review.resource == _MUTATING else (shown(review.user), verb)
            why = f'user {words[0]} does not have "{words[1]}" permission on the object referenced by paramRef'
        raise _refused(review, new, "spec.paramRef", why)

    async def _may(self, user: User, verb: str, resource: tuple[str, str, str], name: str, namespace: str) -> bool:
        group, version, plural = resource
        attributes = Attributes(
            verb, is_resource=True, group=group, version=version, resource=plural, name=name, namespace=namespace
        )
        return (await self._authorizer.authorize(user, attributes)).verdict is Verdict.ALLOW


async def _resource(context: Context, kind: Mapping[str, Any]) -> tuple[str, str, str]:
    """Group, version and resource of a kind; * for what cannot be found out."""
    group, _, version = str(kind.get("apiVersion", "")).rpartition("/")
    return group, version, await _plural(context, group, version, str(kind.get("kind", ""))) or _ALL


async def _plural(context: Context, group: str, version: str, kind: str) -> str:
    """The resource of a kind, by discovery; empty if there is none."""
    try:
        found = await context.client.call("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
    except (ApiError, TransportError):
        return ""
    for each in found.get("resources") or ():
        if each.get("kind") == kind and "/" not in each["name"]:
            return str(each["name"])
    return ""


async def _resource_of_policy(context: Context, bindings: str, name: str) -> tuple[tuple[str, str, str], str]:
    """The resource of the parameters of a policy, and what could not be found out of it; empty: nothing."""
    everything = (_ALL, _ALL, _ALL)
    try:
        policy = await context.get(GROUP, "v1", POLICIES[bindings], name)
    except NotFound:
        return everything, f"unable to get policy {name}"
    kind = policy["spec"].get("paramKind")
    if kind is None:
        return everything, ""
    resource = await _resource(context, kind)
    told = f"&{{{kind.get('apiVersion', '')} {kind.get('kind', '')}}}"
    return resource, "" if resource[2] != _ALL else f"unable to resolve paramKind {told}"


def shown(user: User) -> str:
    """A user as Go prints it with ``%v``."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


def _refused(review: Review, obj: Obj, path: str, why: str) -> Invalid:
    name = obj["metadata"].get("name", "")
    return Invalid.of(review.kind.name, GROUP, name, [FieldError.forbidden(path, why)])
