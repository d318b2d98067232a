"""What differs on purpose between what is served from a manifest here and by kube-apiserver, or is known to be missing.

An entry allows differences at its paths in its cases only, and has to be needed in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.differential.crds.versioning import SERVED
from tests.differential.deliberate import CAUSES, REFUSAL, UNROUTED, Deliberate, remaining

OBJECTS = ("content", "content.items")
"""Where an object may stand in an answer."""
OWNED = tuple(f"{place}.metadata.managedFields" for place in OBJECTS)
MISFIT = "what does not fit a version of other types stays as it is, and keeps those who manage it"
EQUAL = "numbers are equal if their values are, however they are written"
SCALE = "a Scale can be applied in autoscaling/v1 again and again"
STORED = "what is stored can be read, whatever has become of its inner metadata"

HOW = (
    "update",
    "update of nothing",
    "merge",
    "merge of a null",
    "empty merge",
    "JSON patch",
    "JSON patch of a null",
    "status",
    "delete",
)
"""Ways of writing in a version that has other types."""

DELIBERATE: tuple[Deliberate, ...] = (
    Deliberate(
        UNROUTED,
        (
            "version: stored in a version that is not served",
            "version: not served at all",
            *(
                f"route: GET {what}"
                for what in (
                    "cluster path of a namespaced object",
                    "namespaced path of the cluster",
                    "namespaced object of the cluster",
                    "kind for a resource",
                    "singular",
                    "short name",
                )
            ),
            *(
                f"route: {method} {what}"
                for method in ("POST", "PUT", "DELETE", "PATCH")
                for what in (
                    "cluster path of a namespaced object",
                    "cluster path of namespaced objects",
                    "namespaced path of the cluster",
                )
            ),
        ),
        ("content", "Content-Type", "X-Content-Type-Options", "pretty", "newline"),
        code=404,
    ),
    Deliberate(EQUAL, ("merge: numbers 0", "merge: numbers 2"), ("",)),
    Deliberate(
        MISFIT,
        (*(f"default: {how} as v2" for how in HOW), "field: another version", "ratchet: types that do not fit"),
        OWNED,
        code=200,
    ),
    Deliberate(MISFIT, ("ratchet: v2: map without a key",), OWNED, code=200),
    Deliberate(MISFIT, ("default: apply onto the other as v1", "default: apply onto the other as v2"), ("",)),
    Deliberate(MISFIT, ("ratchet: v2: number of a wrong type",), ("",)),
    Deliberate(
        "what is told of items without keys is what validation says of them",
        ("ratchet: v2: map without a key",),
        REFUSAL,
        code=422,
    ),
    Deliberate(
        "a rule that reads fields of a list says so; kube-apiserver says that the list is none of the schema's objects",
        ("ratchet: types that do not fit",),
        CAUSES,
        code=422,
    ),
    Deliberate(STORED, ("ratchet: metadata of inner objects",), ("",)),
    Deliberate(
        "an integer column shows no number that no int64 holds; Go cuts it to what the processor makes of it",
        ("column: value 5",),
        ("content.rows.cells",),
        code=200,
    ),
    Deliberate(
        "a body of another version is refused with the fields that the version of the request does not know",
        tuple(f"version: body of another version as {version}" for version in SERVED),
        ("warnings",),
        code=400,
    ),
    Deliberate(
        "fields that another version does not have can be applied all the same",
        tuple(f"version: apply of fields that only it has as {version}" for version in ("v1alpha1", "v3")),
        ("",),
    ),
    Deliberate(SCALE, ("field: scale",), ("",)),
)
"""What differs wherever a manifest is served."""
BUILTIN: tuple[Deliberate, ...] = (
    Deliberate(
        UNROUTED,
        ("version: a version that is not served",),
        ("content", "Content-Type", "X-Content-Type-Options", "pretty", "newline"),
        code=404,
    ),
)
"""What differs in the built-in control plane beside that."""


def allowed(case: str, *among: Sequence[Deliberate]) -> tuple[Deliberate, ...]:
    """The entries of a case."""
    return tuple(entry for entries in among for entry in entries if case in entry.cases)


def needed(entry: Deliberate, entries: Sequence[Deliberate], ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Whether a conversation shows the difference that an entry allows; ``entries``: all of the conversation."""
    others = [each for each in entries if each is not entry]
    left = [remaining(*answers, others) for answers in zip(ours, theirs, strict=True)]
    return any(one != other for one, other in left)
