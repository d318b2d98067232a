"""What kinds of Kubernetes itself do and custom resources do not. Not for authors: for the control plane's own kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extapi.api.types import Obj


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Where the objects of a kind are stored if that is as another kind: one storage, seen in two groups.

    Both functions take a whole object and give all but its type and metadata, which the server carries over.
    """

    group: str
    kind: str
    """The other kind, which has one version."""
    write: Callable[[Obj], Obj]
    """Makes an object of this kind, in its stored version, one of the other."""
    read: Callable[[Obj], Obj]
    """The reverse."""


@dataclass(frozen=True, kw_only=True)
class Native:
    """What kinds of Kubernetes itself do and custom resources do not; for the control plane's own kinds."""

    protobuf: Any = None
    """Reads and writes ``application/vnd.kubernetes.protobuf``: a ``codec.protobuf.Messages``; None: 415 and 406."""
    strategic_merge: bool = True
    """Take strategic merge patches, by the ``MergeKey`` markers of the types."""
    unconditional_update: bool = True
    """An update without resourceVersion replaces whatever is there (``AllowUnconditionalUpdate``)."""
    generation: bool = False
    """Count ``metadata.generation``."""
    names: Callable[[str], Sequence[str]] | None = None
    """What is wrong with a name; None: it has to be a DNS subdomain."""
    finalizers: bool = True
    """Refuse a finalizer that is neither qualified (``group/name``) nor one of Kubernetes' own; other kinds warn of it."""
    returns_deleted: bool = False
    """A delete answers with the object that is gone, not with a Status (``ReturnDeletedObject``)."""
    without: frozenset[str] = frozenset()
    """Verbs that the kind does not have though it could, such as deletecollection of namespaces."""
    canonical: Callable[[Obj], None] | None = None
    """Completes an object in place with every write, of its parts too (``Canonicalize``)."""
    part_metadata: bool = True
    """A write of status, or of another part, may change metadata too: labels, annotations, finalizers, owners."""
    selects: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    """What field selectors may name although it is no single field, such as the source of an event; made of an object."""
    stored: Stored | None = None
    """Where objects are stored if not under the kind's own name: events of ``events.k8s.io`` are those of the core group."""
