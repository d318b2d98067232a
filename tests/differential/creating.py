"""POST: bodies of all sorts, metadata, options."""

from __future__ import annotations

from typing import Any

from tests.differential.cases import cases
from tests.differential.side import BEACONS, JSON, OLDER, YAML, Step, get, post, probe


def meta(**metadata: Any) -> dict[str, Any]:
    """A probe with this metadata."""
    return probe(meta=metadata)


def raw(text: str | bytes, query: str = "", form: str = JSON) -> Step:
    """A create with this text for a body."""
    return post(text, query, form)


START = '{"apiVersion":"{g}/v1","kind":"Probe","metadata":{"name":"new"}'
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}
OWNED = "?dryRun=All"
"""The garbage collector deletes what is owned by nothing, at a time of its own: such objects are not stored."""
HUGE = probe(free={"x": "y" * 3_200_000})
TOO_LARGE_FOR_ETCD = probe(free={"x": "y" * 2_000_000})
MANIFEST = """
# a comment
apiVersion: {g}/v1
kind: Probe
metadata:
  name: new
  labels: {a: "1"}
spec:
  size: 0x10
  on: yes
  text: |
    abc
  free: {when: 2020-01-01, octal: 010, none: ~, float: 1e3, inf: "x", bin: 0b11}
"""

CASES = cases(
    {
        "full": post(
            probe(
                text="text", code="abc", on=True, weight=0.5, even=4, small=-5, color="green", level=2, tags=["a", "b"],
                parts=[{"name": "a", "count": 2}, {"name": "b"}], plain=[1, 2], labels={"a": "b"}, maybe=None, port="80",
                free={"a": {"b": [1, None, {"c": None}]}, "d": None}, deep={"level": 3},
                inner={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"x": 1}},
                when="2020-01-01T00:00:00Z", address="1.2.3.4", bits="YQ==", status={"ready": True},
            )
        ),
        "again": post(probe("one")),
        "in the older version": (post({**probe(), "apiVersion": "{g}/v1beta1"}, OLDER), get("/new"), get(f"{OLDER}/new")),
        "on an item": post(probe(), "/other"),
        "on an item of the same name": post(probe("one"), "/one"),
        "on a status": post(probe("one"), "/one/status"),
        "across namespaces": post(probe(), "/apis/{g}/v1/probes"),
        "across with a namespace": post(meta(namespace="{ns}"), "/apis/{g}/v1/probes"),
        "in a namespace that is missing": post(probe(), "/apis/{g}/v1/namespaces/nowhere/probes"),
        "in a namespace of a bad name": post(probe(), "/apis/{g}/v1/namespaces/A_b/probes"),
        "dry, in a namespace that is missing": post(probe(), "/apis/{g}/v1/namespaces/nowhere/probes?dryRun=All"),
        # Bodies.
        "empty": raw(""),
        "spaces": raw("  \n"),
        "null": raw("null"),
        "list": raw("[]"),
        "text": raw('"text"'),
        "number": raw("1"),
        "true": raw("true"),
        "garbage": raw("garbage"),
        "half": raw('{"apiVersion":"{g}/v1","kind":"Pro'),
        "trailing": raw(START + ',"spec":{"size":1}} x'),
        "two objects": raw(START + ',"spec":{"size":1}}{}'),
        "trailing comma": raw(START + ',"spec":{"size":1},}'),
        "single quotes": raw("{'kind': 'Probe'}"),
        "unquoted": raw("{kind: Probe}"),
        "comment": raw("// x\n{}"),
        "byte order mark": raw("\ufeff" + START + ',"spec":{"size":1}}'),
        "nan": raw(START + ',"spec":{"size":NaN}}'),
        "bad utf-8": raw(b'{"apiVersion":"\xff","kind":"Probe"}'),
        "bad escape": raw(START + ',"spec":{"size":1,"text":"\\x"}}'),
        "lone surrogate": raw(START + ',"spec":{"size":1,"text":"a\\ud800"}}'),
        "control character": raw(START + ',"spec":{"size":1,"text":"a\tb"}}'),
        "huge number": raw(START + ',"spec":{"size":1,"free":{"x":1e999}}}'),
        "long integer": raw(START + ',"spec":{"size":1,"free":{"x":123456789012345678901234567890}}}'),
        "integral float": raw(START + ',"spec":{"size":2.0,"free":{"x":3.0,"y":1.5,"z":1e2}}}'),
        "negative zero": raw(START + ',"spec":{"size":1,"free":{"x":-0,"y":-0.0}}}'),
        "leading zero": raw(START + ',"spec":{"size":01}}'),
        "escaped characters": raw(START + ',"spec":{"size":1,"free":{"<a>":"&\\u2028\\u00e4\\/"}}}'),
        "empty object": raw("{}"),
        "no kind": raw('{"apiVersion":"{g}/v1","metadata":{"name":"a"}}'),
        "no apiVersion": raw('{"kind":"Probe","metadata":{"name":"a"}}'),
        "empty kind": raw('{"apiVersion":"{g}/v1","kind":"","metadata":{"name":"a"}}'),
        "empty apiVersion": raw('{"apiVersion":"","kind":"Probe","metadata":{"name":"a"}}'),
        "kind null": raw('{"apiVersion":"{g}/v1","kind":null,"metadata":{"name":"a"}}'),
        "kind of a wrong type": raw('{"apiVersion":"{g}/v1","kind":1,"metadata":{"name":"a"}}'),
        "apiVersion of a wrong type": raw('{"apiVersion":1,"kind":"Probe","metadata":{"name":"a"}}'),
        "another kind": post({**probe(), "kind": "Beacon"}),
        "unknown kind": post({**probe(), "kind": "Nothing"}),
        "list kind": raw('{"apiVersion":"{g}/v1","kind":"ProbeList","items":[]}'),
        "another group": post({**probe(), "apiVersion": "other/v1"}),
        "another version": post({**probe(), "apiVersion": "{g}/v1beta1"}),
        "unserved version": post({**probe(), "apiVersion": "{g}/v9"}),
        "core version": post({**probe(), "apiVersion": "v1"}),
        "slashes in the version": post({**probe(), "apiVersion": "a/b/c"}),
        "capital keys": raw('{"ApiVersion":"{g}/v1","Kind":"Probe","metadata":{"name":"a"},"spec":{"size":1}}'),
        "no metadata": raw('{"apiVersion":"{g}/v1","kind":"Probe","spec":{"size":1}}'),
        "metadata null": raw('{"apiVersion":"{g}/v1","kind":"Probe","metadata":null,"spec":{"size":1}}'),
        "metadata list": raw('{"apiVersion":"{g}/v1","kind":"Probe","metadata":[],"spec":{"size":1}}'),
        "metadata text": raw('{"apiVersion":"{g}/v1","kind":"Probe","metadata":"x","spec":{"size":1}}'),
        "deep": raw(START + ',"spec":{"size":1,"free":' + '{"a":' * 200 + "1" + "}" * 200 + "}}"),
        "too deep": raw(START + ',"spec":{"size":1,"free":' + "[" * 11000 + "]" * 11000 + "}}"),
        "too large": post(HUGE),
        "too large for etcd": post(TOO_LARGE_FOR_ETCD),
        "apiVersion null": raw('{"apiVersion":null,"kind":"Probe","metadata":{"name":"a"}}'),
        "name and generateName, taken": post(meta(name="one", generateName="one-")),
        "duplicate": raw(START + ',"spec":{"size":1,"size":2}}'),
        "duplicate, strict": raw(START + ',"spec":{"size":1,"size":2}}', "?fieldValidation=Strict"),
        "duplicate, ignored": raw(START + ',"spec":{"size":1,"size":2}}', "?fieldValidation=Ignore"),
        "duplicate kind": raw('{"apiVersion":"{g}/v1","kind":"X","kind":"Probe","metadata":{"name":"a"},"spec":{"size":1}}'),
        "duplicate metadata": raw(START + ',"metadata":{"name":"b"},"spec":{"size":1}}'),
        "duplicate in a list": raw(START + ',"spec":{"size":1,"parts":[{"name":"a","name":"b"}]}}'),
        "duplicates, strict": raw(
            START + ',"x":1,"x":2,"spec":{"size":1,"size":2,"y":1}}', "?fieldValidation=Strict"
        ),
        # YAML.
        "yaml": raw(MANIFEST, form=YAML),
        "yaml, json in it": raw(START + ',"spec":{"size":1}}', form=YAML),
        "yaml, two documents": raw(MANIFEST + "---\nkind: X\n", form=YAML),
        "yaml, empty": raw("", form=YAML),
        "yaml, comment only": raw("# nothing", form=YAML),
        "yaml, text": raw("text", form=YAML),
        "yaml, list": raw("- a", form=YAML),
        "yaml, tabs": raw("a:\n\tb: c", form=YAML),
        "yaml, colons": raw("a: b: c", form=YAML),
        "yaml, no end": raw("a: [b", form=YAML),
        "yaml, alias": raw(MANIFEST.replace('{a: "1"}', "&x {a: b}").replace("~", "*x"), form=YAML),
        "yaml, unknown alias": raw("a: *x", form=YAML),
        "yaml, duplicate": raw(MANIFEST + "  size: 1\n", form=YAML),
        "yaml, duplicate, strict": raw(MANIFEST + "  size: 1\n", "?fieldValidation=Strict", YAML),
        "yaml, unknown": raw(MANIFEST + "  nope: 1\n", "?fieldValidation=Strict", YAML),
        "yaml, number for a label": raw(MANIFEST.replace('"1"', "1"), form=YAML),
        "yaml, number for a key": raw(MANIFEST + "  labels: {1: a, yes: b}\n", form=YAML),
        "yaml, tag": raw("a: !!python/object:os.system x", form=YAML),
        "yaml, for json": raw(MANIFEST),
        # Types of content.
        **{f"type {form}": post(probe(), "", form) for form in (
            "application/json; charset=utf-8", "application/JSON", "text/plain", "application/x-www-form-urlencoded",
            "application/vnd.kubernetes.protobuf", "application/cbor", "garbage", "", "application/yaml",
            "application/json, application/yaml", "*/*", "application/merge-patch+json", "multipart/form-data",
            "application/json;", "application/json;;a",
        )},
        # Query.
        "dry": post(probe(), "?dryRun=All"),
        "dry twice": post(probe(), "?dryRun=All&dryRun=All"),
        "dry again": post(probe("one"), "?dryRun=All"),
        "dry garbage": post(probe(), "?dryRun=Some"),
        "dry lower case": post(probe(), "?dryRun=all"),
        "dry empty": post(probe(), "?dryRun="),
        "dry both": post(probe(), "?dryRun=All&dryRun=Some"),
        "dry with a revision": post(meta(resourceVersion="7"), "?dryRun=All"),
        "unknown, strict": post({**probe(nope=1, deep={"x": 1}, parts=[{"name": "a", "y": 1}]), "z": 1}, "?fieldValidation=Strict"),
        "unknown, warned": post({**probe(nope=1, deep={"x": 1}, parts=[{"name": "a", "y": 1}]), "z": 1}),
        "unknown, ignored": post({**probe(nope=1), "z": 1}, "?fieldValidation=Ignore"),
        "unknown metadata": post(meta(nope=1, Labels={}), "?fieldValidation=Strict"),
        "unknown metadata, warned": post(meta(nope=1)),
        "unknown in an owner": post(meta(ownerReferences=[{**OWNER, "nope": 1}]), OWNED),
        "unknown and invalid": post(probe(nope=1, size=0)),
        "validation garbage": post(probe(), "?fieldValidation=strict"),
        "validation empty": post(probe(), "?fieldValidation="),
        "manager too long": post(probe(), "?fieldManager=" + "m" * 129),
        "manager unprintable": post(probe(), "?fieldManager=a%09b"),
        "manager unicode": post(probe(), "?fieldManager=%C3%A4"),
        "force": post(probe(), "?force=true"),
        "timeout garbage": post(probe(), "?timeout=x"),
        "options of all sorts": post(probe(), "?dryRun=x&fieldValidation=y&fieldManager=" + "z" * 200),
        # Metadata.
        "no name": post(probe("")),
        "name null": post(meta(name=None)),
        "name a number": post(meta(name=1)),
        "generated": post(probe("", meta={"generateName": "gen-"})),
        "generated, name too": post(meta(generateName="gen-")),
        "generated, bad": post(probe("", meta={"generateName": "Gen_"})),
        "generated, long": post(probe("", meta={"generateName": "g" * 260})),
        "generated, dry": post(probe("", meta={"generateName": "gen-"}), "?dryRun=All"),
        "generated, dot": post(probe("", meta={"generateName": "gen."})),
        **{f"name {name[:12]}": post(meta(name=name)) for name in (
            "A", "a_b", "a b", "-a", "a-", "a.b", "a..b", ".", "..", "a/b", "a%2fb", "ä", "1", "a" * 253, "b" * 254, " a",
        )},
        "namespace of its own": post(meta(namespace="{ns}")),
        "another namespace": post(meta(namespace="other")),
        "namespace null": post(meta(namespace=None)),
        "uid": post(meta(uid="mine")),
        "revision": post(meta(resourceVersion="7")),
        "revision 0": post(meta(resourceVersion="0")),
        "revision garbage": post(meta(resourceVersion="x")),
        "revision a number": post(meta(resourceVersion=7)),
        "system fields": post(meta(
            selfLink="/x", creationTimestamp="2001-01-01T00:00:00Z", deletionTimestamp="2001-01-01T00:00:00Z",
            deletionGracePeriodSeconds=5, generation=9,
        )),
        "bad creationTimestamp": post(meta(creationTimestamp="yesterday")),
        "creationTimestamp null": post(meta(creationTimestamp=None)),
        "bad generation": post(meta(generation="x")),
        "managedFields": post(meta(managedFields=[{"manager": "m", "operation": "Update"}])),
        "managedFields garbage": post(meta(managedFields=[{"manager": 1}])),
        "managedFields text": post(meta(managedFields="x")),
        "labels null": post(meta(labels=None)),
        "labels empty": post(meta(labels={})),
        "label null": post(meta(labels={"a": None})),
        "label a number": post(meta(labels={"a": 1})),
        "labels list": post(meta(labels=[])),
        "labels text": post(meta(labels="x")),
        **{f"label {key[:12]}={value[:12]}": post(meta(labels={key: value})) for key, value in (
            ("a/b", "c"), ("a/b/c", "d"), ("", "x"), ("a b", "c"), ("-a", "b"), ("a", "b c"), ("a", "-"), ("a", ""),
            ("a", "v" * 64), ("k" * 64, "b"), ("P/b", "c"), ("/b", "c"), ("a/", "c"), ("a_b.c-d", "E_f.g-h"),
            ("p" * 254 + "/a", "b"),
        )},
        "annotation any value": post(meta(annotations={"a/b": "any thing\n"})),
        "annotation bad key": post(meta(annotations={"a b": "c"})),
        "annotation capital key": post(meta(annotations={"A.example.com/B": "c"})),
        "annotations too large": post(meta(annotations={"a": "x" * 262144})),
        "annotation a number": post(meta(annotations={"a": 1})),
        "bad labels and annotations": post(meta(labels={"a b": "c d"}, annotations={"e f": "g"})),
        "finalizers": post(meta(finalizers=["a.example.com/b", "c.example.com/d"])),
        "finalizer without a path": post(meta(finalizers=["a.example.com", "plain"])),
        "finalizers of the system": post(meta(finalizers=["orphan", "kubernetes"])),
        "finalizers orphan and foreground": post(meta(finalizers=["orphan", "foregroundDeletion"])),
        "finalizers twice": post(meta(finalizers=["a/b", "a/b"])),
        "finalizer empty": post(meta(finalizers=[""])),
        "finalizer bad": post(meta(finalizers=["a b", "a/b/c"])),
        "finalizer a number": post(meta(finalizers=[1])),
        "finalizers text": post(meta(finalizers="x")),
        "finalizers null": post(meta(finalizers=None)),
        "owner": post(meta(ownerReferences=[OWNER]), OWNED),
        "owner of all": post(meta(ownerReferences=[{**OWNER, "controller": True, "blockOwnerDeletion": False}]), OWNED),
        "owner empty": post(meta(ownerReferences=[{}])),
        "owners twice": post(meta(ownerReferences=[OWNER, OWNER]), OWNED),
        "owners of one uid": post(meta(ownerReferences=[OWNER, {**OWNER, "name": "b"}]), OWNED),
        "controllers": post(meta(ownerReferences=[{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}])),
        "owner event": post(meta(ownerReferences=[{**OWNER, "kind": "Event"}])),
        "owner of a bad version": post(meta(ownerReferences=[{**OWNER, "apiVersion": "a/b/c"}])),
        "owner without version": post(meta(ownerReferences=[{**OWNER, "apiVersion": ""}])),
        "owner null": post(meta(ownerReferences=[None])),
        "owners text": post(meta(ownerReferences="x")),
        "everything wrong": post(meta(name="A b", labels={"a b": "c d"}, finalizers=["x y"], ownerReferences=[{}])),
        "everything wrong, spec too": post(probe("A b", meta={"labels": {"a b": "c"}}, size=0)),
        "beacon": post({"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "{ns}-b"}, "status": {"seen": 1}}, BEACONS),
        "beacon with a namespace": post(
            {"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "{ns}-b", "namespace": "x"}}, BEACONS
        ),
        "beacon in a namespace": post(
            {"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "b"}}, "/apis/{g}/v1/namespaces/{ns}/beacons"
        ),
        "beacon wrong": post({"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "b"}, "size": "1"}, BEACONS),
    }
)  # fmt: skip
