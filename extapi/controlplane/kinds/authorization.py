"""The virtual kinds of ``authorization.k8s.io``: reviews of what users may do."""

from __future__ import annotations

from typing import Annotated

from extapi import Atomic, Default, Description, Object, Struct
from extapi.controlplane.kinds.parts import Extra, SelectorRequirement, Text, spelled

Words = Annotated[list[str], Atomic()]


class SelectorAttributes(Struct):
    """A selector of a request, as text or parsed."""

    raw_selector: Annotated[Text, Description("The selector as in a URL.")] = None
    requirements: Annotated[list[SelectorRequirement], Atomic(), Description("The parsed selector.")] = []


class ResourceAttributes(Struct):
    """A request for a resource. * stands for all."""

    namespace: Annotated[Text, Description("The namespace; empty for all, or for cluster scope.")] = None
    verb: Annotated[Text, Description("The verb: get, list, watch, create, update, patch, delete and so on.")] = None
    group: Annotated[Text, Description("The API group.")] = None
    version: Annotated[Text, Description("The version of the group.")] = None
    resource: Annotated[Text, Description("The plural name of the resource.")] = None
    subresource: Annotated[Text, Description("The subresource.")] = None
    name: Annotated[Text, Description("The name of the object; empty for all.")] = None
    field_selector: SelectorAttributes | None = None
    label_selector: SelectorAttributes | None = None


class NonResourceAttributes(Struct):
    """A request for a path that is not a resource."""

    path: Annotated[Text, Description("The path.")] = None
    verb: Annotated[Text, Description("The HTTP method in lower case.")] = None


class SelfSubjectAccessReviewSpec(Struct):
    """The request to review: exactly one of the two."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewSpec(SelfSubjectAccessReviewSpec):
    """The request to review, and its user."""

    user: Annotated[Text, Description("The name of the user.")] = None
    groups: Annotated[Words, Description("The groups that the user is in.")] = []
    extra: Extra = {}
    uid: Annotated[Text, Description("The uid of the user.")] = None


class SubjectAccessReviewStatus(Struct):
    """The verdict."""

    allowed: Annotated[bool, Description("Whether the request would be allowed.")] = False
    denied: Annotated[
        bool | None, Description("Whether the request would be denied, whatever other authorizers say.")
    ] = None
    reason: Annotated[Text, Description("Why.")] = None
    evaluation_error: Annotated[Text, Description("An error that occurred; the verdict may be incomplete.")] = None


class SubjectAccessReview(Object):
    """Asks whether a user may make a request."""

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class LocalSubjectAccessReview(Object):
    """Asks whether a user may make a request in this namespace."""

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SelfSubjectAccessReview(Object):
    """Asks whether the client itself may make a request."""

    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SelfSubjectRulesReviewSpec(Struct):
    """The namespace to review."""

    namespace: Annotated[Text, Description("The namespace.")] = None


class ResourceRule(Struct):
    """A rule that allows verbs on resources."""

    verbs: Annotated[Words, Description("Verbs; * stands for all.")] = []
    api_groups: Annotated[Words, Description("API groups; * stands for all.")] = []
    resources: Annotated[Words, Description("Resources; * stands for all.")] = []
    resource_names: Annotated[Words, Description("Names of objects; empty: all.")] = []


class NonResourceRule(Struct, rename=spelled):
    """A rule that allows methods on paths that are not resources."""

    verbs: Annotated[Words, Description("HTTP methods in lower case.")] = []
    non_resource_urls: Annotated[Words, Description("Paths; * ends one.")] = []


class SubjectRulesReviewStatus(Struct):
    """The known rules. Both lists are present even if they are empty."""

    resource_rules: Annotated[list[ResourceRule], Atomic(), Default([]), Description("What is allowed on resources.")]
    non_resource_rules: Annotated[
        list[NonResourceRule], Atomic(), Default([]), Description("What is allowed on other paths.")
    ]
    incomplete: Annotated[bool, Description("Whether more may be allowed than is listed.")] = False
    evaluation_error: Annotated[Text, Description("An error that occurred; the verdict may be incomplete.")] = None


class SelfSubjectRulesReview(Object):
    """Asks for the rules that apply to the client itself in a namespace."""

    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
    status: SubjectRulesReviewStatus = SubjectRulesReviewStatus(resource_rules=[], non_resource_rules=[])
