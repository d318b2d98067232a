"""Who may do what: reviews, which are answered and never kept."""

from __future__ import annotations

from typing import Annotated

from extapi import Atomic, Default, Description, Object, Struct
from extapi.controlplane.kinds.parts import Extra, LabelSelectorRequirement, Text, spelled

Words = Annotated[list[str], Atomic()]


class SelectorAttributes(Struct):
    """A selector of the request, as text or in parts."""

    raw_selector: Annotated[Text, Description("The selector as it stands in a URL.")] = None
    requirements: Annotated[list[LabelSelectorRequirement], Atomic(), Description("The selector in parts.")] = []


class ResourceAttributes(Struct):
    """A request for a resource; * stands for all."""

    namespace: Annotated[Text, Description("The namespace; empty for all, or for what has none.")] = None
    verb: Annotated[Text, Description("get, list, watch, create, update, patch, delete and so on.")] = None
    group: Annotated[Text, Description("The API group.")] = None
    version: Annotated[Text, Description("The version of the group.")] = None
    resource: Annotated[Text, Description("The resource, in the plural.")] = None
    subresource: Annotated[Text, Description("The subresource.")] = None
    name: Annotated[Text, Description("The name of the object; empty for all.")] = None
    field_selector: SelectorAttributes | None = None
    label_selector: SelectorAttributes | None = None


class NonResourceAttributes(Struct):
    """A request for a path that is no resource."""

    path: Annotated[Text, Description("The path.")] = None
    verb: Annotated[Text, Description("The HTTP method in lower case.")] = None


class SelfSubjectAccessReviewSpec(Struct):
    """The request in question: exactly one of the two."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewSpec(SelfSubjectAccessReviewSpec):
    """The request in question, and who makes it."""

    user: Annotated[Text, Description("The name of the user.")] = None
    groups: Annotated[Words, Description("The groups that the user is in.")] = []
    extra: Extra = {}
    uid: Annotated[Text, Description("The uid of the user.")] = None


class SubjectAccessReviewStatus(Struct):
    """The verdict."""

    allowed: Annotated[bool, Description("Whether the request would be allowed.")] = False
    denied: Annotated[bool | None, Description("It would be refused whatever others say.")] = None
    reason: Annotated[Text, Description("Why.")] = None
    evaluation_error: Annotated[Text, Description("What kept the question from being answered wholly.")] = None


class SubjectAccessReview(Object):
    """Asks whether somebody may do something."""

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class LocalSubjectAccessReview(Object):
    """Asks whether somebody may do something in this namespace."""

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SelfSubjectAccessReview(Object):
    """Asks whether the client itself may do something."""

    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SelfSubjectRulesReviewSpec(Struct):
    """The namespace in question."""

    namespace: Annotated[Text, Description("The namespace.")] = None


class ResourceRule(Struct):
    """What is allowed on resources."""

    verbs: Annotated[Words, Description("Verbs; * stands for all.")] = []
    api_groups: Annotated[Words, Description("API groups; * stands for all.")] = []
    resources: Annotated[Words, Description("Resources; * stands for all.")] = []
    resource_names: Annotated[Words, Description("Names of objects; empty: all.")] = []


class NonResourceRule(Struct, rename=spelled):
    """What is allowed on paths that are no resources."""

    verbs: Annotated[Words, Description("HTTP methods in lower case.")] = []
    non_resource_urls: Annotated[Words, Description("Paths; * ends one.")] = []


class SubjectRulesReviewStatus(Struct):
    """What is allowed, as far as it could be told. Both lists are there also where they are empty."""

    resource_rules: Annotated[list[ResourceRule], Atomic(), Default([]), Description("What is allowed on resources.")]
    non_resource_rules: Annotated[
        list[NonResourceRule], Atomic(), Default([]), Description("What is allowed on other paths.")
    ]
    incomplete: Annotated[bool, Description("There may be more that is allowed.")] = False
    evaluation_error: Annotated[Text, Description("What kept the question from being answered wholly.")] = None


class SelfSubjectRulesReview(Object):
    """Asks what the client itself may do in a namespace."""

    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
    status: SubjectRulesReviewStatus = SubjectRulesReviewStatus(resource_rules=[], non_resource_rules=[])
