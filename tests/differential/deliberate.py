"""What differs on purpose, or is known to be missing: each difference with its reason and the cases in which it shows.

An entry allows differences at its paths in its cases only, and has to be needed: a case that has become alike fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.mistakes import TYPED


@dataclass(frozen=True)
class Deliberate:
    """One difference. ``paths`` lead into an answer, such as ``content.message``; "" is the answer as a whole."""

    reason: str
    cases: Sequence[str]
    paths: Sequence[str]
    code: int | None = None
    """The code that we answer with, where kube-apiserver has another one."""
    sometimes: bool = False
    """It depends on which of kube-apiserver's controllers is faster, so that it need not be there."""


MESSAGE = ("content.message",)
CAUSES = ("content.message", "content.details.causes")
REFUSAL = ("code", "content", "Content-Type", "X-Content-Type-Options", "pretty", "newline", "warnings")


def allowed(case: str) -> tuple[Deliberate, ...]:
    """The entries of a case."""
    return tuple(entry for entry in DELIBERATE if case in entry.cases)


def remaining(ours: Any, theirs: Any, entries: Sequence[Deliberate]) -> tuple[Any, Any]:
    """Both answers without what the entries allow to differ, where they differ."""
    for entry in entries:
        if ours == theirs:
            break
        if entry.code is not None and ours["code"] != entry.code:
            continue
        for path in entry.paths:
            if not path:
                return None, None
            ours, theirs = _without(ours, path), _without(theirs, path)
    return ours, theirs


def _without(value: Any, path: str) -> Any:
    head, _, rest = path.partition(".")
    if isinstance(value, list):
        return [_without(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    if not rest:
        return {name: item for name, item in value.items() if name != head}
    return {name: _without(item, rest) if name == head else item for name, item in value.items()}


UNROUTED = "a path that no kind serves: ours is a Status, kube-apiserver's custom resources fall through to plain text"
GO = "the text names a type of Go; ours says what was expected instead"
REVISION = "a resourceVersion that is no number is the client's mistake, also where kube-apiserver does not list"
PROTOBUF = "a refusal of protobuf does not name it among what is accepted; versions are there in JSON"
ACCEPTED = "refusals name what is accepted here: no protobuf for whole objects, and no apply"
STATUS = "kube-apiserver drops `status.` from the path inside of the message; ours has it everywhere"
UNSERVED = "kube-apiserver drops what is in a version that it does not serve, status included, and warns of each field"
MALFORMED_STATUS = "a malformed status, which is dropped, does not make us forget who manages the rest"
UNTYPED_SCALE = (
    "who writes a Scale that does not say what it is manages it as well; kube-apiserver then forgets that anybody does"
)


def _typed(verb: str, what: str) -> tuple[str, ...]:
    """Cases of :mod:`~tests.differential.mistakes` in which an object says that it is something else."""
    return tuple(f"mistake: {verb}: {name}" for name in TYPED if name.startswith(f"{what}, "))


DELIBERATE: tuple[Deliberate, ...] = (
    Deliberate(
        UNROUTED,
        (
            "create: across namespaces",
            "create: across with a namespace",
            "create: beacon in a namespace",
            "delete: all, across",
            "route: unknown resource",
            "route: unknown resource, object",
            "route: unknown resource of the cluster",
            "route: upper case",
            "route: singular",
            "route: resource of another version",
            "route: namespaces",
            "route: a namespace",
            "route: a namespace, slash",
            "route: two slashes before the resource",
            "route: slash in a namespace",
            "route: cluster scope of a namespaced object",
            "route: namespace of a cluster resource",
            "route: namespace of a cluster object",
            "route: watch prefix of nothing",
            "route: POST unknown resource",
            "route: DELETE unknown resource",
            "route: PATCH unknown resource",
            "route: PUT across",
            "route: PATCH across",
            "route: OPTIONS across",
            "mistake: deprecated: DELETE /apis/{g}/v1beta1/probes",
            "mistake: deprecated: POST /apis/{g}/v1beta1/probes",
            "mistake: deprecated: GET /apis/{g}/v1beta1/nothings",
        ),
        ("content", "Content-Type", "X-Content-Type-Options", "pretty", "newline"),
        code=404,
    ),
    Deliberate(
        GO,
        (
            "create: list",
            "create: text",
            "create: number",
            "create: true",
            "create: yaml, text",
            "create: yaml, list",
            "patch: op number",
            "patch: path number",
            "patch: json patch object",
            "patch: json patch text",
            "patch: json patch of numbers",
            "delete: options list",
            "delete: options text",
        ),
        MESSAGE,
        code=400,
    ),
    Deliberate(GO, ("patch: merge list, ignored",), CAUSES, code=422),
    Deliberate(
        "an object without apiVersion is the client's mistake, not a server's",
        ("patch: merge apiVersion away",),
        REFUSAL,
        code=422,
    ),
    Deliberate("null is no operation, which is said in words", ("patch: json patch of nulls",), REFUSAL, code=400),
    Deliberate(
        "RFC 6902, 4.6: numbers are equal if their values are",
        ("patch: test float", "number: patches 9223372036854775808", "number: patches 1e20", "number: patches -0.0"),
        REFUSAL,
        code=200,
    ),
    Deliberate(
        ACCEPTED,
        (
            "create: type */*",
            "create: type application/cbor",
            "create: type application/json, application/yaml",
            "create: type application/json;;a",
            "create: type application/merge-patch+json",
            "create: type application/x-www-form-urlencoded",
            "create: type garbage",
            "create: type multipart/form-data",
            "create: type text/plain",
            "delete: all, text",
            "delete: options as text",
            "read: list as ,",
            "read: list as ;",
            "read: list as application/JSON",
            "read: list as application/json;as=Nothing;g=meta.k8s.io;v=v1",
            "read: list as application/json;as=PartialObjectMetadata;g=other;v=v1",
            "read: list as application/json;as=Table;g=meta.k8s.io;v=v2",
            "read: list as nonsense",
            "read: list as text/html",
            "read: list as text/plain",
            "read: nothing as ,",
            "read: nothing as ;",
            "read: nothing as application/JSON",
            "read: nothing as application/json;as=Nothing;g=meta.k8s.io;v=v1",
            "read: nothing as application/json;as=PartialObjectMetadata;g=other;v=v1",
            "read: nothing as application/json;as=Table;g=meta.k8s.io;v=v2",
            "read: nothing as nonsense",
            "read: nothing as text/html",
            "read: nothing as text/plain",
            "read: object as ,",
            "read: object as ;",
            "read: object as application/JSON",
            "read: object as application/json;as=Nothing;g=meta.k8s.io;v=v1",
            "read: object as application/json;as=PartialObjectMetadata;g=other;v=v1",
            "mistake: deprecated: as text",
            "read: object as application/json;as=Table;g=meta.k8s.io;v=v2",
            "read: object as nonsense",
            "read: object as text/html",
            "read: object as text/plain",
            "update: text",
            "watch: table of v2",
            "watch: text",
            "watch: yaml",
        ),
        MESSAGE,
    ),
    Deliberate(
        PROTOBUF,
        (
            "read: list as application/vnd.kubernetes.protobuf",
            "read: object as application/vnd.kubernetes.protobuf",
            "read: nothing as application/vnd.kubernetes.protobuf",
            "route: version as application/vnd.kubernetes.protobuf",
            "watch: protobuf",
        ),
        REFUSAL,
    ),
    Deliberate(
        "kube-apiserver panics on a body that is no protobuf",
        ("create: type application/vnd.kubernetes.protobuf",),
        ("",),
    ),
    Deliberate(
        GO,
        tuple(
            f"read: list as application/json;as=PartialObjectMetadata;g=meta.k8s.io;v={version}"
            for version in ("v1", "v1beta1")
        ),
        MESSAGE,
        code=406,
    ),
    Deliberate(
        "the metadata of a list can't be had of an object: refused before anything is read or written",
        (
            "read: object as application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "read: nothing as application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "watch: metadata list",
        ),
        REFUSAL,
        code=406,
    ),
    Deliberate(
        REVISION,
        (
            "read: get at garbage",
            "read: get at a negative",
            "read: get at a float",
            "watch: garbage",
            "watch: negative",
        ),
        REFUSAL,
        code=400,
    ),
    Deliberate(
        "refused before it is written; kube-apiserver creates and answers 500",
        ("read: list metadata of a create",),
        ("",),
    ),
    Deliberate(
        "a number that no float64 holds is told last",
        ("number: without a kind", "number: patch of a list", "number: patch of a wrong operation"),
        MESSAGE,
        code=400,
    ),
    Deliberate(GO, ("number: in a list",), MESSAGE, code=400),
    Deliberate(
        "the patch is shown, not what it would lead to",
        tuple(f"number: ignored application/json-patch+json {number}" for number in ("1e400", "10000000..401")),
        CAUSES,
        code=422,
    ),
    Deliberate(
        "an integer column shows no number that no int64 holds; Go cuts it to what the processor makes of it",
        tuple(
            f"number: free {number}"
            for number in (
                "1.7976931348623157e308",
                "9223372036854775808",
                "-9223372036854775809",
                "18446744073709551615",
                "18446744073709551616",
                "123456789012345678901",
                "123456789012345678901234567890",
                "999999999999999999999",
                "1e20",
                "1e21",
                "9.223372036854775807e18",
            )
        ),
        ("content.rows.cells",),
        code=200,
    ),
    Deliberate(
        "a number that is only written in another way is no change",
        (
            *(
                f"number: {field} {number}"
                for field in ("small", "even", "port")
                for number in ("1e2", "2.0", "-0.0", "1e-400")
            ),
            *(f"number: {field} {number}" for field in ("size",) for number in ("1e2", "2.0")),
            "number: weight 2.0",
            "number: patches -0.0",
        ),
        (
            "content.metadata.generation",
            "content.metadata.resourceVersion",
            "content.items.metadata.generation",
            "content.items.metadata.resourceVersion",
        ),
    ),
    Deliberate(
        "an integer is one: what is off by less than 1e-9 is none to typed clients",
        ("number: port 1.0000000001",),
        ("",),
    ),
    Deliberate("zero has no sign", ("number: size -0.0", "number: weight -0.0"), CAUSES, code=422),
    Deliberate(
        "what no int64 holds is quoted as the float that it is read as",
        ("number: grace 9223372036854775808", "number: yaml grace 18446744073709551615"),
        MESSAGE,
        code=400,
    ),
    Deliberate("the key is not shown", ("number: yaml key 18446744073709551615",), MESSAGE, code=400),
    Deliberate(UNSERVED, ("create: unserved version", *_typed("patch", "unserved version")), ("warnings",)),
    Deliberate(UNSERVED, _typed("patch, strict", "unserved version"), REFUSAL),
    Deliberate(UNSERVED, _typed("patch of status", "unserved version"), ("",)),
    Deliberate(
        "a patch of the status that says the object is another one is refused; kube-apiserver takes the status",
        tuple(
            case
            for what in ("group", "core", "kind", "kind and version")
            for case in _typed("patch of status", what)
            if not case.endswith(("revision", "name"))
        ),
        ("",),
    ),
    Deliberate(
        "that an object is of another type is told alone",
        ("mistake: patch: version, another uid", "mistake: patch, strict: version, another uid"),
        CAUSES,
        code=422,
    ),
    Deliberate(GO, ("mistake: create, strict: of no version, unknown metadata",), MESSAGE, code=400),
    Deliberate("an object may take 6 MiB, since it does not go to etcd", ("create: too large for etcd",), ("",)),
    Deliberate(
        "the metadata of many can't be had of one, nor that of one of many: refused before anything is deleted",
        ("delete: all, as metadata of one", "delete: as metadata of many"),
        ("",),
    ),
    Deliberate(
        "a list is no text; kube-apiserver lets lists pass where the text has a format",
        tuple(f"schema: list for a {field}" for field in ("when", "address", "bits")),
        ("",),
    ),
    Deliberate(
        "1000.0 is the integer 1000, also in texts",
        (
            *(f"number: {field} 1000.0" for field in ("text", "when", "on", "parts", "list")),
            *(f"number: {field} 123456789.0" for field in ("weight", "even", "level")),
        ),
        CAUSES,
        code=422,
    ),
    Deliberate("objects nest 200 levels deep at most, which bounds every recursion", ("create: deep",), ("",)),
    Deliberate("the character is not named", ("create: too deep", "patch: merge deep"), MESSAGE, code=400),
    Deliberate(
        "a dry run has no revision; kube-apiserver gives back the client's",
        ("create: dry with a revision",),
        ("content.metadata.resourceVersion",),
    ),
    Deliberate("members of quoted objects are sorted", ("create: controllers", "schema: inner 83"), CAUSES, code=422),
    Deliberate(
        MALFORMED_STATUS,
        ("update: status wrong in the main resource", "schema: status wrong in a create", "schema: status text"),
        (
            "content.metadata.managedFields",
            "content.items.metadata.managedFields",
            "content.metadata.resourceVersion",
            "content.items.metadata.resourceVersion",
        ),
    ),
    Deliberate(
        UNTYPED_SCALE,
        (
            "part: scale PUT no type",
            "part: scale PUT no apiVersion",
            "part: scale PUT yaml",
            "part: scale PUT duplicate",
        ),
        ("content.metadata.managedFields",),
        code=200,
    ),
    Deliberate(
        "nothing is made that is being deleted",
        ("apply: create being deleted",),
        ("content.metadata.deletionTimestamp", "content.items.metadata.deletionTimestamp"),
    ),
    Deliberate(UNROUTED, ("apply: not: unknown resource",), ("content", *REFUSAL), code=404),
    Deliberate(ACCEPTED, ("apply: not: not acceptable",), MESSAGE, code=406),
    Deliberate(
        "JSON is read as JSON, with pairs of escapes for one character",
        ("apply: parts with odd names", "apply: create with text 5"),
        ("",),
    ),
    Deliberate(
        "an entry of a version that is gone is dropped alone (kubernetes#111937)",
        ("apply: tracked: of a version that is gone",),
        ("content.metadata.managedFields", "content.items.metadata.managedFields"),
        code=200,
    ),
    Deliberate(
        ACCEPTED,
        ("part: scale GET text", "part: scale PUT form text"),
        REFUSAL,
    ),
    Deliberate(REVISION, ("part: scale GET revision garbage",), REFUSAL, code=400),
    Deliberate(
        "an integer may be written with a fraction of 0 or an exponent, as elsewhere",
        ("part: scale PUT float", "part: scale PUT exponent"),
        ("",),
        code=200,
    ),
    Deliberate(
        "a patch may not take an object's kind away, as elsewhere",
        ("part: scale PATCH json without kind",),
        ("",),
    ),
    Deliberate(
        STATUS,
        (
            "number: patches 9223372036854775808",
            "number: patches 1e20",
        ),
        CAUSES,
        code=422,
    ),
    Deliberate("a namespace that can't exist holds nothing", ("route: dots for a namespace",), REFUSAL, code=200),
    Deliberate(
        "a namespace that can't exist holds nothing", ("route: dots for a namespace, object",), REFUSAL, code=404
    ),
    Deliberate("names are quoted as they are, not in Go's syntax", ("route: nul in a name",), MESSAGE, code=404),
    Deliberate("a path has to be UTF-8", ("route: bad utf-8 in a name",), REFUSAL, code=400),
    Deliberate(
        "only the methods of HTTP's registry are read at all",
        (
            "route: NONSENSE collection",
            "route: NONSENSE object",
            "route: NONSENSE status",
            "route: NONSENSE unknown subresource",
            "route: NONSENSE version",
            "route: lower case method",
        ),
        REFUSAL,
    ),
    Deliberate(
        "discovery is read only, as with servers of typed resources; custom resources' answers to every method",
        tuple(f"route: {method} version" for method in ("OPTIONS", "TRACE", "POST", "PUT", "DELETE", "PATCH")),
        REFUSAL,
        code=405,
    ),
    Deliberate(
        "control characters are escaped in YAML, where kube-apiserver ends with 500",
        ("schema: text keeps its form",),
        REFUSAL,
        code=200,
    ),
)
