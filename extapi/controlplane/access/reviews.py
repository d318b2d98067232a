"""The reviews that ask what a user may do, and who the user is. They are answered, not stored.

Requests and responses have the Python types of their kinds; here they are JSON. Must not know how decisions are made.

Source: ``pkg/registry/authorization``, ``pkg/apis/authorization/validation`` and
``pkg/registry/authentication/selfsubjectreview`` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec

from extapi import BadRequest, FieldError, Invalid, RESTRequest, User
from extapi.api.labelselectors import operator_problems, requirement_problems
from extapi.api.requestselectors import Selectors, too_large
from extapi.api.selectors import escaped, parse_field_selector, parse_label_selector
from extapi.api.timestamp import format_timestamp
from extapi.authorization.authorizer import Attributes, AuthorizationError, Authorizer, Decision, Verdict
from extapi.clock import Clock, wall_time
from extapi.controlplane.access.rbac import RBAC
from extapi.controlplane.access.rules import AccessRule
from extapi.errors import aggregate

AUTHORIZATION = "authorization.k8s.io"

T = TypeVar("T")

REPORTED = 100
"""Problems reported per review: every authenticated user may send three megabytes of them."""


class SubjectAccessReviews:
    """Answers SubjectAccessReviews by asking ``authorizer``."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def create(self, request: RESTRequest, obj: T) -> T:
        """The review with its status.

        Raises:
            Invalid: The review asks nothing, or two things at once.
        """
        review = as_json(obj)
        spec: dict[str, Any] = review.get("spec") or {}
        problems = list(islice(chain(_problems(spec), self._more_problems(request, review, spec)), REPORTED))
        if problems:
            # Kubernetes leaves out the kind.
            raise Invalid.of("", AUTHORIZATION, "", problems)
        attributes, ignored = _attributes(spec)
        errors = []
        try:
            decision = await self._authorizer.authorize(self._user(request, spec), attributes)
        except AuthorizationError as error:
            decision = Decision(Verdict.NO_OPINION)
            errors.append(str(error))
        status: dict[str, Any] = {"allowed": decision.verdict is Verdict.ALLOW}
        if decision.verdict is Verdict.DENY:
            status["denied"] = True
        if decision.reason:
            status["reason"] = decision.reason
        if errors or ignored:
            status["evaluationError"] = "; ".join([*errors, *ignored])
        return with_type_of(obj, {**review, "status": status})

    def _user(self, request: RESTRequest, spec: dict[str, Any]) -> User:
        del request
        extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
        return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)

    def _more_problems(
        self, request: RESTRequest, review: dict[str, Any], spec: dict[str, Any]
    ) -> Iterator[FieldError]:
        del request
        yield from _somebody(spec)
        yield from _without_metadata(review)


class LocalSubjectAccessReviews(SubjectAccessReviews):
    """The same for one namespace, for users who may review only there."""

    def _more_problems(
        self, request: RESTRequest, review: dict[str, Any], spec: dict[str, Any]
    ) -> Iterator[FieldError]:
        yield from _somebody(spec)
        yield from _without_metadata(review, "namespace")
        resource = spec.get("resourceAttributes")
        if resource is not None and resource.get("namespace", "") != request.namespace:
            path = "spec.resourceAttributes.namespace"
            yield FieldError.invalid(path, resource.get("namespace", ""), "must match metadata.namespace")
        if spec.get("nonResourceAttributes") is not None:
            path = "spec.nonResourceAttributes"
            yield FieldError.invalid(path, _internal(spec), "disallowed on this kind of request")


class SelfSubjectAccessReviews(SubjectAccessReviews):
    """The same for the user of the request."""

    def _user(self, request: RESTRequest, spec: dict[str, Any]) -> User:
        del spec
        return request.user

    def _more_problems(
        self, request: RESTRequest, review: dict[str, Any], spec: dict[str, Any]
    ) -> Iterator[FieldError]:
        del request, spec
        yield from _without_metadata(review)


class SelfSubjectRulesReviews:
    """Lists the rules that apply to the user of the request in one namespace."""

    def __init__(self, rbac: RBAC) -> None:
        self._rbac = rbac

    async def create(self, request: RESTRequest, obj: T) -> T:
        """The rules as the status.

        Raises:
            BadRequest: The review names no namespace.
        """
        review = as_json(obj)
        namespace = (review.get("spec") or {}).get("namespace", "")
        if not namespace:
            raise BadRequest("no namespace on request")
        rules, unresolved = self._rbac.rules_for(request.user, namespace)
        status: dict[str, Any] = {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [
                {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
                for rule in rules
                if rule.non_resource_urls
            ],
            "incomplete": False,
        }
        if unresolved:
            status["evaluationError"] = aggregate(ref.unresolved() for ref in unresolved)
        return with_type_of(obj, {**review, "metadata": {}, "spec": {}, "status": status})


class SelfSubjectReviews:
    """Tells users who they are."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def create(self, request: RESTRequest, obj: T) -> T:
        """The user of the request as the status; the body is ignored."""
        metadata = {"creationTimestamp": format_timestamp(wall_time(self._clock))}
        status = {"userInfo": user_info(request.user)}
        return with_type_of(obj, {**as_json(obj), "metadata": metadata, "status": status})


def as_json(obj: Any) -> dict[str, Any]:
    """An object of any Python type as JSON."""
    made: dict[str, Any] = msgspec.to_builtins(obj)
    return made


def with_type_of(obj: T, made: dict[str, Any]) -> T:
    """JSON as an object of the Python type that ``obj`` has."""
    return msgspec.convert(made, type(obj))


def user_info(user: User) -> dict[str, Any]:
    """The UserInfo of ``authentication.k8s.io``, without empty fields."""
    extra = {key: list(values) for key, values in user.extra.items()}
    members = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {key: value for key, value in members.items() if value}


def _resource_rule(rule: AccessRule) -> dict[str, Any]:
    made = {"verbs": list(rule.verbs), "apiGroups": list(rule.api_groups), "resources": list(rule.resources)}
    if rule.resource_names:
        made["resourceNames"] = list(rule.resource_names)
    return made


_SYSTEM_FIELDS = frozenset({"managedFields", "creationTimestamp", "uid", "resourceVersion", "generation", "selfLink"})


def _somebody(spec: dict[str, Any]) -> Iterator[FieldError]:
    if not spec.get("user") and not spec.get("groups"):
        yield FieldError.invalid("spec.user", "", "at least one of user or group must be specified")


def _without_metadata(review: dict[str, Any], but: str = "") -> Iterator[FieldError]:
    metadata = {key: value for key, value in (review.get("metadata") or {}).items() if key not in _SYSTEM_FIELDS}
    if any(value for key, value in metadata.items() if key != but):
        why = "must be empty" + (f" except for {but}" if but else "")
        yield FieldError.invalid("metadata", metadata, why)


def _internal(spec: dict[str, Any]) -> dict[str, Any]:
    """The nonResourceAttributes as Kubernetes prints them: with Go's field names."""
    found = spec["nonResourceAttributes"]
    return {"Path": found.get("path", ""), "Verb": found.get("verb", "")}


def _problems(spec: dict[str, Any]) -> Iterator[FieldError]:
    resource = spec.get("resourceAttributes")
    other = spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield FieldError.invalid("spec.nonResourceAttributes", _internal(spec), why)
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield FieldError.invalid("spec.resourceAttributes", None, why)
    for name in ("fieldSelector", "labelSelector"):
        if resource is not None and resource.get(name) is not None:
            yield from _selector_problems(resource[name], f"spec.resourceAttributes.{name}", labels=name[0] == "l")


def _selector_problems(selector: dict[str, Any], path: str, *, labels: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    if raw and requirements:
        yield FieldError.invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        yield FieldError.required(f"{path}.requirements", why)
    for index, requirement in enumerate(requirements):
        where = f"{path}.requirements[{index}]"
        if not labels and not requirement.get("key"):
            yield FieldError.required(f"{where}.key", "must be specified")
        # An operator of a later release is valid: the requirement is ignored.
        problems = requirement_problems if labels else operator_problems
        yield from problems(requirement, where, any_operator=True)


def _attributes(spec: dict[str, Any]) -> tuple[Attributes, list[str]]:
    """The attributes to authorize, and a message for each selector that is ignored: the attributes are then broader."""
    resource: Mapping[str, Any] | None = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return Attributes(other.get("verb", ""), other.get("path", "")), []
    ignored = []
    texts = {}
    for name, parse, written in (
        ("fieldSelector", parse_field_selector, _field_text),
        ("labelSelector", parse_label_selector, _label_text),
    ):
        selector = resource.get(name) or {}
        terms = [written(requirement) for requirement in selector.get("requirements") or ()]
        texts[name] = ",".join(term for term in terms if term) if terms else selector.get("rawSelector", "")
        unknown = "" in terms
        if too_large(texts[name]) or not _can(parse, texts[name]):
            texts[name], unknown = "", True
        if unknown:
            how = "partially ignored" if texts[name] else "ignored"
            ignored.append(f"spec.resourceAttributes.{name} {how} due to parse error")
    attributes = Attributes(
        resource.get("verb", ""),
        is_resource=True,
        group=resource.get("group", ""),
        version=resource.get("version") or "*",
        namespace=resource.get("namespace", ""),
        resource=resource.get("resource", ""),
        subresource=resource.get("subresource", ""),
        name=resource.get("name", ""),
        selectors=Selectors(texts["labelSelector"], texts["fieldSelector"]) if any(texts.values()) else None,
    )
    return attributes, ignored


def _can(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except BadRequest:
        return False
    return True


def _field_text(requirement: dict[str, Any]) -> str:
    """A term of a field selector; empty if no term can express the requirement."""
    sign = {"In": "=", "NotIn": "!="}.get(requirement.get("operator", ""))
    values: list[str] = requirement.get("values") or []
    return f"{requirement['key']}{sign}{escaped(values[0])}" if sign and len(values) == 1 else ""


def _label_text(requirement: dict[str, Any]) -> str:
    """A term of a label selector; empty for an unknown operator."""
    key: str = requirement["key"]
    values = ",".join(requirement.get("values") or ())
    texts = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
    return texts.get(requirement.get("operator", ""), "")
