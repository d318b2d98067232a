"""What differs between the control planes on purpose, or is known to be missing: each with its reason and where it shows."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from tests.differential.deliberate import (
    CAUSES,
    GO,
    MESSAGE,
    REFUSAL,
    REVISION,
    UNROUTED,
    Deliberate,
    remaining,
)

__all__ = ["DELIBERATE", "allowed", "needed", "remaining"]


def _everywhere(*paths: str) -> tuple[str, ...]:
    """Paths in an object, wherever an object may stand in an answer."""
    places = ("content", "content.items", "content.object", "content.rows.object", "content.object.rows.object")
    return tuple(f"{place}.{path}" for place in places for path in paths)


EMPTY = "what is empty is left out, as written by clients; Go writes null or {} for some fields, and drops others"

DELIBERATE: tuple[Deliberate, ...] = (
    Deliberate(REVISION, ("Watch: at garbage",), REFUSAL, code=400),
    Deliberate(
        "a token says where to go on in our own store; clients pass it on as it is",
        (
            "Event: pages",
            "ClusterRole: pages",
            "ClusterRoleBinding: pages",
            "MutatingWebhookConfiguration: pages",
            "MutatingAdmissionPolicyBinding: pages",
            "MutatingAdmissionPolicy: pages",
        ),
        ("content.metadata.continue",),
        code=200,
    ),
    Deliberate(
        "columns are described in words of our own, and ages are of the type date",
        ("*",),
        tuple(
            f"{place}.columnDefinitions.{name}"
            for place in ("content", "content.object")
            for name in ("description", "type")
        ),
    ),
    Deliberate(
        EMPTY, ("Service: update a status",), ("content.metadata.resourceVersion", "content.status", "content.items")
    ),
    Deliberate(EMPTY, ("Apply Role: *", "Apply ClusterRole: *"), ("content.rules",), code=200),
    Deliberate(EMPTY, ("Apply RoleBinding: *", "Apply ClusterRoleBinding: *"), ("content.subjects",), code=200),
    Deliberate(EMPTY, ("Apply RoleBinding: is updated", "Apply ClusterRoleBinding: is updated"), ("",), code=409),
    Deliberate(
        EMPTY,
        ("Event: *", "Event, own: *", "Apply Event: *"),
        _everywhere("eventTime", "firstTimestamp", "lastTimestamp"),
    ),
    Deliberate(
        EMPTY,
        ("Apply Event: is updated in the older", "Apply Event: is replaced in the other"),
        ("content.deprecatedFirstTimestamp", "content.deprecatedLastTimestamp"),
    ),
    Deliberate(
        EMPTY,
        ("Apply Event: is replaced in the other",),
        ("content.metadata.managedFields.fieldsV1.f:eventTime",),
    ),
    Deliberate(EMPTY, ("*AdmissionPolicy, rules: messages*",), _everywhere("spec.validations")),
    Deliberate(EMPTY, ("Namespace: *",), _everywhere("status.conditions.lastTransitionTime")),
    Deliberate(
        EMPTY, ("Namespace: a condition", "Namespace: strategic conditions"), _everywhere("metadata.managedFields")
    ),
    Deliberate(
        EMPTY,
        ("ServiceAccount, own: *", "Token: *"),
        _everywhere("imagePullSecrets.name", "secrets", "spec.boundObjectRef"),
    ),
    Deliberate(EMPTY, ("APIService: bodies",), ("content.status",)),
    Deliberate(
        EMPTY,
        (
            "Namespace: create with a spec",
            "ConfigMap, own: bodies",
            "ServiceAccount, own: bodies",
            "RoleBinding: *",
            "ClusterRoleBinding: *",
            "Apply RoleBinding: is updated",
            "Apply ClusterRoleBinding: is updated",
        ),
        _everywhere("metadata.managedFields"),
    ),
    Deliberate(
        "what is asked of an account has no spec until there is one; Go's type always has one",
        ("ServiceAccount, own: token", "ServiceAccount, own: bound token", "Token: *"),
        ("content.metadata.managedFields.fieldsV1.f:spec",),
        code=201,
    ),
    Deliberate(
        EMPTY,
        ("Review: bad",),
        ("content.metadata.managedFields.fieldsV1.f:spec.f:resourceAttributes.f:labelSelector.f:requirements",),
        code=201,
    ),
    Deliberate(
        "managed fields of a review that is refused are not quoted: the client did not write them",
        ("Review: named",),
        CAUSES,
        code=422,
    ),
    Deliberate(
        "what the server makes itself is managed by extapi, and not by kube-apiserver",
        ("RBAC: *", "APIService: a life", "APIService: the control plane's own"),
        _everywhere("metadata.managedFields"),
    ),
    Deliberate(
        "the status is written by those who probe, at times of their own",
        ("APIService: a life",),
        (*_everywhere("status", "metadata.resourceVersion"), "content.rows.cells"),
    ),
    Deliberate(
        "a null in a map is left out, where Go reads an empty text",
        ("ConfigMap, own: bodies",),
        (*_everywhere("data"), "content.rows.cells"),
    ),
    Deliberate(
        "services get no addresses, and hold none",
        ("Service, own: *", "Apply, own: ports*", "Apply, own: selector of two"),
        _everywhere(
            "spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy", "spec.ports.nodePort"
        ),
    ),
    Deliberate("services get no addresses, and hold none", ("Service, own: addresses",), ("content.rows.cells",)),
    Deliberate(
        "values of wrong types are refused by the schema, as those of custom resources",
        ("ConfigMap, own: wrong types", "Event, own: bad bodies", "Lease, own: bad bodies", "Webhooks, *: wrong types"),
        REFUSAL,
        code=422,
    ),
    Deliberate(
        "values of wrong types are refused by the schema, as those of custom resources",
        ("numbers: *",),
        REFUSAL,
        code=422,
    ),
    Deliberate(
        "values of wrong types are refused by the schema, as those of custom resources",
        ("Policies of wrong types: *",),
        REFUSAL,
        code=422,
    ),
    Deliberate(GO, ("numbers: *",), MESSAGE, code=400),
    Deliberate("times may have any precision", ("Lease, own: bodies",), ("",)),
    Deliberate("in protobuf uids and times differ", ("Protobuf: asked for or JSON",), ("content",), code=200),
    Deliberate("names are quoted as they are, not in Go's syntax", ("Path: bad names",), MESSAGE, code=404),
    Deliberate(UNROUTED, ("Path: of nobody",), REFUSAL, code=404),
    Deliberate(GO, ("Path: namespaces by page",), MESSAGE, code=406),
    Deliberate(
        "impersonation is refused in words of our own, which name no type of Go",
        ("Somebody: impersonates", "Token: is impersonated beside"),
        (*MESSAGE, "content.details"),
    ),
    Deliberate("certificates in secrets are not read", ("Secret, own: bodies",), ("warnings",)),
    Deliberate(GO, ("Secret, own: bad bodies",), CAUSES, code=422),
    Deliberate(
        "paths are those of custom resources: one without a namespace is a list",
        ("Namespace: create across",),
        REFUSAL,
        code=404,
    ),
    Deliberate(
        "preconditions have one text for all kinds",
        ("Namespace: delete of a wrong uid",),
        ("content.message", "content.details.kind"),
        code=409,
    ),
    Deliberate(EMPTY, ("Role: *", "ClusterRole: *", "RBAC: *", "Somebody: escalates"), _everywhere("rules")),
    Deliberate(EMPTY, ("RoleBinding: *", "ClusterRoleBinding: *"), _everywhere("subjects")),
    Deliberate(GO, ("*: JSON object", "*: create a list", "*: delete with a list", "Review: empty"), MESSAGE, code=400),
    Deliberate(
        "fields of metadata are named as custom resources name them: ObjectMeta.name, not ObjectMeta.metadata.name",
        ("*: create with a number for a name", "*: create with * of a wrong type*", "*: merge labels of a wrong type"),
        CAUSES,
    ),
    Deliberate(GO, ("*: strategic, wrong type",), CAUSES, code=422),
    Deliberate("members of quoted objects are sorted", ("*: create with two controllers",), CAUSES, code=422),
    Deliberate(
        "what two parts of kube-apiserver check is told once, or as often as it has been told for custom resources",
        (
            "*: merge wrong labels",
            "*: update of wrong labels",
            "*: strategic, owner without uid",
            "Event: merge another uid",
            "Event: update of a deletion",
            "Event: a finalizer more for a deleted one",
        ),
        CAUSES,
        code=422,
    ),
    Deliberate(
        "HEAD is a GET without a body, as for custom resources", ("*: head",), (*REFUSAL, "tagged", "Allow"), code=200
    ),
    Deliberate(
        "methods that a collection lacks are refused as for custom resources",
        ("*: merge the collection", "*: update the collection", "Path: odd methods"),
        REFUSAL,
        code=400,
    ),
    Deliberate("unknown types are refused with the words for custom resources", ("*: get as text",), REFUSAL, code=406),
    Deliberate(
        "unknown types are refused with the words for custom resources",
        (
            "*: patch as JSON",
            "*: patch as YAML",
            "*: patch without a type",
            "Protobuf: for a patch",
            "Path: odd methods",
        ),
        REFUSAL,
        code=415,
    ),
    Deliberate("an update creates nothing, as for custom resources", ("*: update of a missing one*",), ("",)),
    Deliberate("the key is that of our store", ("*: update of a wrong uid",), CAUSES, code=409),
    Deliberate(
        "events are answered from a cache like all else, and a client may ask again for what is to come",
        ("Event: * in the future",),
        ("Retry-After", "content.details.retryAfterSeconds", "content.details.<members>"),
        code=504,
    ),
    Deliberate(
        "bookmarks hold metadata only, as those of custom resources",
        ("*: watch with initial events",),
        tuple(
            f"content.object.{name}"
            for name in (
                "spec",
                "status",
                "rules",
                "roleRef",
                "firstTimestamp",
                "lastTimestamp",
                "involvedObject",
                "reportingComponent",
                "reportingInstance",
                "source",
            )
        ),
        code=200,
    ),
    Deliberate(
        "what is wrong with metadata is told together with all else",
        ("Event: create empty", "Event: create a null"),
        CAUSES,
        code=422,
    ),
    Deliberate(
        "what it says of definitions itself is managed by extapi; Go knew of conditions before there were any",
        ("Definition: *", "Definition, changed: *"),
        tuple(
            f"{place}.metadata.managedFields.{path}"
            for place in ("content", "content.items", "content.rows.object")
            for path in ("manager", "fieldsV1.f:status")
        ),
        code=200,
    ),
    Deliberate(
        UNROUTED,
        ("Definition: *", "Definition, changed: *"),
        ("content", "Content-Type", "X-Content-Type-Options", "pretty", "newline"),
        code=404,
    ),
    Deliberate(EMPTY, ("Definition*",), ("content.status.conditions",), code=201),
    Deliberate(
        "a deletion that waits is marked once",
        ("Definition: deleted twice",),
        ("content.metadata.deletionGracePeriodSeconds", "content.metadata.resourceVersion"),
        code=200,
    ),
    Deliberate(
        "conditions stand in the order in which they came",
        ("Definition: an approval that is none",),
        ("content.status.conditions",),
        code=200,
        sometimes=True,
    ),
    Deliberate(
        "the service has no address, and asks nobody for one",
        ("Service: create empty", "Service: create a null"),
        CAUSES,
        code=422,
    ),
)


def allowed(case: str) -> tuple[Deliberate, ...]:
    """The entries for a conversation."""
    return tuple(entry for entry in DELIBERATE if any(fnmatchcase(case, pattern) for pattern in entry.cases))


def needed(entry: Deliberate, case: str, ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Whether a conversation shows the difference that an entry allows."""
    entries = allowed(case)
    if entry not in entries:
        return False
    others = [each for each in entries if each is not entry]
    left = [remaining(*answers, others) for answers in zip(ours, theirs, strict=True)]
    return any(one != other for one, other in left)
