"""What is the same for every kind: reads, writes, patches, deletions. Each kind is asked all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.planes.naming import Steps
from tests.differential.planes.samples import (
    CLUSTER_ROLE,
    CONFIG_MAP,
    EVENT,
    LEASE,
    PARTIAL,
    PARTIAL_LIST,
    SAMPLES,
    SERVICE,
    STRATEGIC,
    TABLE,
    Sample,
)
from tests.differential.side import YAML, Step, delete, get, json_patch, merge, post, put


def reading(kind: Sample) -> dict[str, Steps]:
    """Objects and lists in all forms."""
    one = kind.at("one")
    return {
        "get": get(one),
        "get missing": get(kind.at("none")),
        "get missing as a table": get(kind.at("none"), TABLE),
        "get as a table": get(one, TABLE),
        "get as a table with objects": get(f"{one}?includeObject=Object", TABLE),
        "get as metadata": get(one, PARTIAL),
        "get as YAML": get(one, YAML),
        "get as text": get(one, "text/plain"),
        "get pretty": get(f"{one}?pretty=true"),
        "get in the future": get(f"{one}?resourceVersion=999999999999999999"),
        "list": kind.mine(),
        "list as a table": kind.mine("", TABLE),
        "list as a table without objects": kind.mine("&includeObject=None", TABLE),
        "list as metadata": kind.mine("", PARTIAL_LIST),
        "list as YAML": kind.mine("", YAML),
        "list by label": kind.mine(",which%3Done"),
        "list by a wrong label": kind.mine(",!!"),
        "list by name": kind.mine(f"&fieldSelector=metadata.name%3D{kind.name('one')}"),
        "list by another name": kind.mine(f"&fieldSelector=metadata.name!%3D{kind.name('one')}"),
        "list by namespace": kind.mine("&fieldSelector=metadata.namespace%3D{ns}"),
        "list by an unknown field": kind.mine("&fieldSelector=spec.nothing%3Da"),
        "list by a wrong selector": kind.mine("&fieldSelector=a"),
        "pages": (kind.mine("&limit=1"), kind.mine("&limit=1&continue={continue}")),
        "wrong page": kind.mine("&limit=1&continue=abc"),
        "list at zero": (kind.mine(), kind.mine("&resourceVersion=0")),
        "list exactly": (kind.mine(), delete(one), kind.mine("&resourceVersion={list}&resourceVersionMatch=Exact")),
        "list in the future": kind.mine("&resourceVersion=999999999999999999"),
        "list with a wrong match": kind.mine("&resourceVersionMatch=Exact"),
        "head": Step("HEAD", one),
        "unknown subresource": get(f"{one}/nothing"),
        "status": get(f"{one}/status"),
    }


def creating(kind: Sample) -> dict[str, Steps]:
    """POST."""

    def meta(**given: Any) -> Step:
        return post(kind.obj(meta=given), kind.path)

    def query(text: str, obj: Any) -> Step:
        return post(obj, f"{kind.path}?{text}")

    odd = {**kind.obj(), "nothing": 1}
    start = f'{{"apiVersion":"{kind.version}","kind":"{kind.kind}","metadata":{{"name":"{kind.name("new")}"}}'
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}
    return {
        "create": post(kind.obj(), kind.path),
        "create again": post(kind.obj("one"), kind.path),
        "create dry": query("dryRun=All", kind.obj()),
        "create dry again": query("dryRun=All", kind.obj("one")),
        "create wrongly dry": query("dryRun=Some", kind.obj()),
        "create as metadata": post(kind.obj(), kind.path, accept=PARTIAL),
        "create as a table": post(kind.obj(), kind.path, accept=TABLE),
        "create from YAML": post(f"{start}}}", kind.path, YAML),
        "create on an object": post(kind.obj(), kind.at("other")),
        "create empty": post("{}", kind.path),
        "create nothing": post("", kind.path),
        "create garbage": post("garbage", kind.path),
        "create a list": post("[]", kind.path),
        "create a null": post("null", kind.path),
        "create as text": post(kind.obj(), kind.path, "text/plain"),
        "create without a type": post(kind.obj(), kind.path, ""),
        "create of another kind": post({**kind.obj(), "kind": "Other"}, kind.path),
        "create of another group": post({**kind.obj(), "apiVersion": "other/v1"}, kind.path),
        "create of another version": post({**kind.obj(), "apiVersion": f"{kind.version}beta9"}, kind.path),
        "create without kind": post({key: value for key, value in kind.obj().items() if key != "kind"}, kind.path),
        "create without anything": post(f"{start}}}", kind.path),
        "create without a name": meta(name=""),
        "create generated": meta(name="", generateName="gen-"),
        "create generated wrongly": meta(name="", generateName="Gen_"),
        "create both names": meta(generateName="gen-"),
        "create Bad_Name": meta(name="Bad_{ns}"),
        "create a dotted name": meta(name="a.{ns}"),
        "create a name with a colon": meta(name="a:{ns}"),
        "create a name with a slash": meta(name="a/{ns}"),
        "create a name with a percent": meta(name="a%{ns}"),
        "create a long name": meta(name="a" * 250 + "{ns}"),
        "create a number": meta(name="1-{ns}"),
        "create two dots": meta(name=".."),
        "create in another namespace": meta(namespace="elsewhere"),
        "create with server fields": meta(
            uid="u", creationTimestamp="2020-01-01T00:00:00Z", generation=5, selfLink="/x", deletionGracePeriodSeconds=5
        ),
        "create with a revision": meta(resourceVersion="1"),
        "create with a wrong time": meta(creationTimestamp="yesterday"),
        "create deleted": meta(deletionTimestamp="2020-01-01T00:00:00Z", finalizers=["a.b/c"]),
        "create with wrong labels": meta(labels={"a b": "c", "d": "e f", "": "x"}),
        "create with labels of a wrong type": meta(labels={"a": 1}),
        "create with labels of a wrong type 2": meta(labels=[]),
        "create with null labels": meta(labels=None, annotations=None, finalizers=None),
        "create with wrong annotations": meta(annotations={"a b": "c"}),
        "create with wrong finalizers": meta(finalizers=["a b", "x"]),
        "create with wrong owners": query(
            "dryRun=All", kind.obj(meta={"ownerReferences": [{**owner, "uid": ""}, {"kind": "x"}]})
        ),
        "create with two controllers": query(
            "dryRun=All",
            kind.obj(
                meta={
                    "ownerReferences": [
                        {**owner, "controller": True},
                        {**owner, "name": "b", "uid": "w", "controller": True},
                    ]
                }
            ),
        ),
        "create owned": query("dryRun=All", kind.obj(meta={"ownerReferences": [owner]})),
        "create with metadata of a wrong type": post({**kind.obj(), "metadata": []}, kind.path),
        "create with a number for a name": meta(name=1),
        "create unknown": query("fieldValidation=Warn", odd),
        "create unknown strictly": query("fieldValidation=Strict", odd),
        "create unknown silently": query("fieldValidation=Ignore", odd),
        "create unknown wrongly": query("fieldValidation=Maybe", odd),
        "create unknown in metadata": query("fieldValidation=Strict", kind.obj(meta={"nothing": 1})),
        "create twice the field": query(
            "fieldValidation=Strict", start + ',"kind":"x","metadata":{"name":"new-{ns}"}}'
        ),
        "create twice the field, warned": query("fieldValidation=Warn", start + f',"kind":"{kind.kind}"}}'),
        "create with another case": query("fieldValidation=Strict", {**kind.obj(), "Metadata": {}}),
        "create with a field manager": query(f"fieldManager={'m' * 129}", kind.obj()),
        "create, trailing": post(f"{start}}} x", kind.path),
        "create, unknown parameter": query("nonsense=1", kind.obj()),
    }


def updating(kind: Sample) -> dict[str, Steps]:
    """PUT."""
    one = kind.at("one")

    def meta(**given: Any) -> Step:
        return put(one, kind.obj("one", meta=given))

    read = get(one)
    return {
        "update": put(one, kind.obj("one")),
        "update labels": meta(labels={"space": "{ns}", "b": "c"}),
        "update at its revision": (read, meta(resourceVersion="{rv}", annotations={"a": "b"})),
        "update at a wrong revision": meta(resourceVersion="1"),
        "update at garbage": meta(resourceVersion="abc"),
        "update at zero": meta(resourceVersion="0"),
        "update of its uid": (read, meta(uid="{uid}", annotations={"a": "b"})),
        "update of a wrong uid": meta(uid="u"),
        "update of another name": meta(name=kind.name("other")),
        "update without a name": meta(name=""),
        "update in another namespace": meta(namespace="elsewhere"),
        "update of a missing one": (put(kind.at("none"), kind.obj("none")), get(kind.at("none"))),
        "update of a missing one with a revision": put(
            kind.at("none"), kind.obj("none", meta={"resourceVersion": "1"})
        ),
        "update of a missing one with a uid": put(kind.at("none"), kind.obj("none", meta={"uid": "u"})),
        "update to nothing": put(one, "{}"),
        "update with an empty body": put(one, ""),
        "update of another kind": put(one, {**kind.obj("one"), "kind": "Other"}),
        "update dry": put(f"{one}?dryRun=All", kind.obj("one", meta={"annotations": {"a": "b"}})),
        "update strictly": put(f"{one}?fieldValidation=Strict", {**kind.obj("one"), "nothing": 1}),
        "update the collection": put(kind.path, kind.obj("one")),
        "update of a deletion": meta(deletionTimestamp="2020-01-01T00:00:00Z"),
        "update of wrong labels": meta(labels={"a b": "c"}),
        "update of finalizers": (meta(finalizers=["a.b/c"]), meta(finalizers=[])),
        "update a status": put(f"{one}/status", kind.obj("one")),
    }


def patching(kind: Sample) -> dict[str, Steps]:
    """PATCH, of three sorts."""
    one = kind.at("one")
    held = merge(one, {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}})
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}

    def strategic(body: Any, query: str = "") -> Step:
        return merge(one + query, body, STRATEGIC)

    return {
        "merge": merge(one, kind.change),
        "merge twice": (merge(one, kind.change), merge(one, kind.change)),
        "merge a label away": merge(one, {"metadata": {"labels": {"which": None, "x": "y"}}}),
        "merge nothing": merge(one, {}),
        "merge at a wrong revision": merge(one, {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}),
        "merge at its revision": (
            get(one),
            merge(one, {"metadata": {"resourceVersion": "{rv}", "labels": {"x": "y"}}}),
        ),
        "merge another name": merge(one, {"metadata": {"name": "other"}}),
        "merge another namespace": merge(one, {"metadata": {"namespace": "elsewhere"}}),
        "merge another uid": merge(one, {"metadata": {"uid": "u"}}),
        "merge another kind": merge(one, {"kind": "Other"}),
        "merge another version": merge(one, {"apiVersion": "v9"}),
        "merge labels of a wrong type": merge(one, {"metadata": {"labels": {"x": 1}}}),
        "merge wrong labels": merge(one, {"metadata": {"labels": {"x y": "1"}}}),
        "merge metadata away": merge(one, {"metadata": None}),
        "merge an unknown field": merge(f"{one}?fieldValidation=Warn", {"nothing": 1}),
        "merge an unknown field strictly": merge(f"{one}?fieldValidation=Strict", {"nothing": 1}),
        "merge a list": merge(one, []),
        "merge garbage": merge(one, "garbage"),
        "merge an empty body": merge(one, ""),
        "merge into a missing one": merge(kind.at("none"), kind.change),
        "merge dry": merge(f"{one}?dryRun=All", kind.change),
        "merge as metadata": merge(one, kind.change, accept=PARTIAL),
        "merge as a table": merge(one, kind.change, accept=TABLE),
        "merge with force": merge(f"{one}?force=true", kind.change),
        "merge the collection": merge(kind.path, kind.change),
        "merge a status": merge(f"{one}/status", kind.change),
        "JSON add": json_patch(one, ("add", "/metadata/labels/x", "y")),
        "JSON test": json_patch(one, ("test", "/metadata/labels/app", "b"), ("remove", "/metadata/labels/app")),
        "JSON remove": json_patch(one, ("remove", "/metadata/labels/app")),
        "JSON remove missing": json_patch(one, ("remove", "/metadata/labels/nothing")),
        "JSON replace missing": json_patch(one, ("replace", "/nothing/more", 1)),
        "JSON name": json_patch(one, ("replace", "/metadata/name", "other")),
        "JSON unknown field": json_patch(f"{one}?fieldValidation=Strict", ("add", "/nothing", 1)),
        "JSON unknown operation": json_patch(one, ("grow", "/nothing", 1)),
        "JSON object": merge(one, {}, "application/json-patch+json"),
        "strategic": strategic(kind.change),
        "strategic, nothing": strategic({}),
        "strategic, a label away": strategic({"metadata": {"labels": {"which": None, "x": "y"}}}),
        "strategic, replaced labels": strategic({"metadata": {"labels": {"$patch": "replace", "space": "{ns}"}}}),
        "strategic, labels away": strategic({"metadata": {"annotations": {"a": "b"}, "labels": {"$patch": "delete"}}}),
        "strategic, unknown directive": strategic({"metadata": {"labels": {"$patch": "grow"}}}),
        "strategic, finalizer added": (held, strategic({"metadata": {"finalizers": ["g.h/i"]}}), _released(one)),
        "strategic, finalizer removed": (
            held,
            strategic({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}}),
            _released(one),
        ),
        "strategic, finalizers ordered": (
            held,
            strategic(
                {"metadata": {"$setElementOrder/finalizers": ["d.e/f", "a.b/c", "x.y/z"], "finalizers": ["x.y/z"]}}
            ),
            _released(one),
        ),
        "strategic, owners": strategic(
            {"metadata": {"ownerReferences": [owner, {**owner, "uid": "w"}]}}, "?dryRun=All"
        ),
        "strategic, owner without uid": strategic({"metadata": {"ownerReferences": [{"name": "a"}]}}, "?dryRun=All"),
        "strategic, retained": strategic({"metadata": {"$retainKeys": ["name"], "name": kind.name("one")}}),
        "strategic, unknown field": strategic({"nothing": 1}, "?fieldValidation=Strict"),
        "strategic, unknown field warned": strategic({"nothing": {"a": 1}}, "?fieldValidation=Warn"),
        "strategic, wrong type": strategic({"metadata": {"labels": ["a"]}}),
        "strategic, a list": strategic([]),
        "strategic, garbage": strategic("garbage"),
        "strategic, another name": strategic({"metadata": {"name": "other"}}),
        "strategic, wrong revision": strategic({"metadata": {"resourceVersion": "1"}}),
        "strategic, missing": merge(kind.at("none"), kind.change, STRATEGIC),
        "patch as JSON": merge(one, kind.change, "application/json"),
        "patch without a type": merge(one, kind.change, ""),
        "patch as YAML": merge(one, "metadata: {labels: {x: y}}", YAML),
    }


def _released(path: str) -> Step:
    """Finalizers that would keep the object are taken away."""
    return merge(path, {"metadata": {"finalizers": None}})


def deleting(kind: Sample) -> dict[str, Steps]:
    """DELETE of an object, and of those that a selector selects."""
    one = kind.at("one")
    held = merge(one, {"metadata": {"finalizers": ["a.b/c"]}})
    uid, revision = {"preconditions": {"uid": "u"}}, {"preconditions": {"resourceVersion": "1"}}
    return {
        "delete": (delete(one), get(one), delete(one)),
        "delete a missing one": delete(kind.at("none")),
        "delete of a wrong uid": delete(one, uid),
        "delete at a wrong revision": delete(one, revision),
        "delete of its uid": (get(one), delete(one, {"preconditions": {"uid": "{uid}", "resourceVersion": "{rv}"}})),
        "delete a missing one of a uid": delete(kind.at("none"), uid),
        "delete dry": (delete(f"{one}?dryRun=All"), get(one)),
        "delete dry in the body": (delete(one, {"dryRun": ["All"]}), get(one)),
        "delete wrongly dry": delete(one, {"dryRun": ["Some"]}),
        "delete in the background": delete(f"{one}?propagationPolicy=Background"),
        "delete somehow": delete(f"{one}?propagationPolicy=Somehow"),
        "delete somehow, in the body": delete(one, {"propagationPolicy": "Somehow"}),
        "delete with both policies": delete(one, {"propagationPolicy": "Background", "orphanDependents": True}),
        "delete in a while": delete(f"{one}?gracePeriodSeconds=30"),
        "delete at once": delete(f"{one}?gracePeriodSeconds=0"),
        "delete before now": delete(one, {"gracePeriodSeconds": -5}),
        "delete with a wrong period": delete(f"{one}?gracePeriodSeconds=x"),
        "delete as metadata": delete(one, accept=PARTIAL),
        "delete as a table": delete(one, accept=TABLE),
        "delete with options of another kind": delete(one, {"kind": "Other", "apiVersion": "v1"}),
        "delete with options named": delete(one, {"kind": "DeleteOptions", "apiVersion": "v1"}),
        "delete with options of its group": delete(one, {"kind": "DeleteOptions", "apiVersion": kind.version}),
        "delete with garbage": delete(one, "garbage"),
        "delete with a list": delete(one, []),
        "delete with unknown options": delete(one, {"nothing": 1}),
        "delete with options as text": delete(one, {}, "text/plain"),
        "delete a held one": (held, delete(one), delete(one), merge(one, {"metadata": {"finalizers": []}}), get(one)),
        "delete a held one dry": (held, delete(f"{one}?dryRun=All"), get(one), _released(one)),
        "a finalizer more for a deleted one": (
            held,
            delete(one),
            merge(one, {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}}),
            _released(one),
            get(one),
        ),
        "update a deleted one": (held, delete(one), merge(one, {"metadata": {"labels": {"x": "y"}}}), _released(one)),
        "delete all": delete(f"{kind.path}?labelSelector=space%3D{{ns}}"),
        "delete some": delete(f"{kind.path}?labelSelector=space%3D{{ns}},which%3Done"),
        "delete none": delete(f"{kind.path}?labelSelector=space%3Dnothing"),
        "delete all dry": delete(f"{kind.path}?labelSelector=space%3D{{ns}}&dryRun=All"),
        "delete by name": delete(
            f"{kind.path}?labelSelector=space%3D{{ns}}&fieldSelector=metadata.name%3D{kind.name('two')}"
        ),
        "delete by an unknown field": delete(
            f"{kind.path}?labelSelector=space%3D{{ns}}&fieldSelector=spec.nothing%3Da"
        ),
        "delete all as a table": delete(f"{kind.path}?labelSelector=space%3D{{ns}}", accept=TABLE),
        "delete all with a wrong option": delete(
            f"{kind.path}?labelSelector=space%3D{{ns}}", {"propagationPolicy": "x"}
        ),
        "delete a status": delete(f"{one}/status"),
    }


def watching(kind: Sample) -> dict[str, Steps]:
    """Watches that end after a second."""
    second = "&watch=true&timeoutSeconds=1"
    return {
        "watch": kind.mine(second),
        "watch from a list": (kind.mine(), delete(kind.at("one")), kind.mine(f"{second}&resourceVersion={{list}}")),
        "watch as a table": kind.mine(second, TABLE),
        "watch metadata": kind.mine(second, PARTIAL),
        "watch with initial events": kind.mine(
            f"{second}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        ),
    }


def all_of(kind: Sample) -> Iterator[tuple[str, Case]]:
    """All conversations about a kind."""
    given = (post(kind.obj("one"), kind.path), post(kind.obj("two"), kind.path))
    for steps in (reading(kind), creating(kind), updating(kind), patching(kind), deleting(kind), watching(kind)):
        for name, found in steps.items():
            said = [found] if isinstance(found, Step) else list(found)
            after = () if all(step.method == "GET" for step in said) else (kind.mine(),)
            yield f"{kind.kind}: {name}", Case((*given, *said, *after))


ALL = (CONFIG_MAP, SERVICE, EVENT, LEASE, CLUSTER_ROLE)
"""The kinds that are asked everything: they differ most from each other. The rest are asked :data:`SOME` of it."""
SOME = re.compile(
    r"get( missing| as a table)?|list|list as a table|list by (name|an unknown field)|pages|create( dry| again| empty|"
    r" without anything| generated| Bad_Name| a dotted name| unknown strictly| with wrong (labels|finalizers))?|"
    r"update( at .*revision| of a missing one| of another name)?|merge( dry| wrong labels)?|"
    r"strategic(, finalizer added|, unknown field)?|JSON add|delete( dry| a held one| of a wrong uid| all)?|watch from a list"
)
CASES = {
    name: case
    for kind in SAMPLES
    for name, case in all_of(kind)
    if kind in ALL or SOME.fullmatch(name.partition(": ")[2])
}
