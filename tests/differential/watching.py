"""Watches that end after a second: which events come, in which form; and watches that are refused."""

from __future__ import annotations

from tests.differential.cases import cases
from tests.differential.reading import PARTIAL, TABLE
from tests.differential.side import BEACONS, OLDER, Step, delete, get, merge, post, probe

W = "?watch=1&timeoutSeconds=1"
CHANGES = (
    get(),
    merge("/one", {"spec": {"size": 5}}),
    merge("/one/status", {"status": {"seen": 1}}),
    merge("/two", {"metadata": {"labels": {"which": "other"}}}),
    post(probe("three", meta={"labels": {"which": "one"}})),
    merge("/one", {"spec": {"size": 5}}),
    delete("/one"),
)


def watch(query: str = "", path: str = "", accept: str = "", seconds: int = 1) -> Step:
    """A watch of at most ``seconds``."""
    return get(f"{path}?watch=1&timeoutSeconds={seconds}{query}", accept=accept)


SINCE = "&resourceVersion={list}"

CASES = cases(
    {
        "initial": watch(),
        "initial at 0": (get(), watch("&resourceVersion=0")),  # the list before brings caches up to date
        "since": (*CHANGES, watch(SINCE)),
        "since, older": (*CHANGES, watch(SINCE, OLDER)),
        "since, table": (*CHANGES, watch(SINCE, accept=TABLE)),
        "since, table with objects": (*CHANGES, watch(SINCE + "&includeObject=Object", accept=TABLE)),
        "since, table without objects": (*CHANGES, watch(SINCE + "&includeObject=None", accept=TABLE)),
        "since, metadata": (*CHANGES, watch(SINCE, accept=PARTIAL)),
        "since, labels": (*CHANGES, watch(SINCE + "&labelSelector=which%3Done")),
        "since, labels gone": (*CHANGES, watch(SINCE + "&labelSelector=which%3Dtwo")),
        "since, unequal": (*CHANGES, watch(SINCE + "&labelSelector=which!%3Dtwo")),
        "since, name": (*CHANGES, watch(SINCE + "&fieldSelector=metadata.name%3Done")),
        "since, nothing": (*CHANGES, watch(SINCE + "&labelSelector=nope")),
        "since, held": (
            post(probe("held", meta={"finalizers": ["a.example.com/b"]})),
            get(),
            delete("/held"),
            merge("/held", {"metadata": {"finalizers": []}, "spec": {"size": 9}}),
            watch(SINCE),
        ),
        "since, collection": (get(), delete(), watch(SINCE)),
        "object": (*CHANGES, get("/two?watch=1&timeoutSeconds=1" + SINCE)),
        "across": (*CHANGES, watch(SINCE + "&fieldSelector=metadata.namespace%3D{ns}", "/apis/{g}/v1/probes")),
        "deprecated path": (*CHANGES, get("/apis/{g}/v1/watch/namespaces/{ns}/probes?timeoutSeconds=1&resourceVersion={list}")),
        "deprecated path, object": (
            *CHANGES,
            get("/apis/{g}/v1/watch/namespaces/{ns}/probes/one?timeoutSeconds=1&resourceVersion={list}"),
        ),
        "deprecated path, initial events": get("/apis/{g}/v1/watch/namespaces/{ns}/probes?timeoutSeconds=1&sendInitialEvents=true"),
        "deprecated path, wrong name": get(
            "/apis/{g}/v1/watch/namespaces/{ns}/probes/one?timeoutSeconds=1&fieldSelector=metadata.name%3Dx"
        ),
        "stream": watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        "stream of beacons": watch(
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=x%3D{ns}", BEACONS
        ),
        "stream without bookmarks": watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        "stream, table": watch(
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", accept=TABLE
        ),
        "stream, metadata": watch(
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", accept=PARTIAL
        ),
        "stream at 0": (get(), watch(
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0"
        )),
        "stream at its own": watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={rv}"),
        "no initial events": watch("&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"),
        "bookmarks": watch("&allowWatchBookmarks=true"),
        # Refused.
        "garbage": watch("&resourceVersion=abc"),
        "negative": watch("&resourceVersion=-1"),
        "stream without match": watch("&sendInitialEvents=true"),
        "stream, exact": watch("&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1"),
        "match": watch("&resourceVersionMatch=NotOlderThan&resourceVersion=1"),
        "match alone": watch("&resourceVersionMatch=NotOlderThan"),
        "match garbage": watch("&resourceVersionMatch=x&resourceVersion=1"),
        "continue": watch("&continue=x"),
        "continue and match": watch("&continue=x&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"),
        "limit": watch("&limit=1"),
        "bad selector": watch("&labelSelector=a%3Db%3Dc"),
        "bad field": watch("&fieldSelector=x%3Dy"),
        "bad seconds": get("?watch=1&timeoutSeconds=x"),
        "bad stream": watch("&sendInitialEvents=maybe"),
        "yaml": watch(accept="application/yaml"),
        "text": watch(accept="text/plain"),
        "protobuf": watch(accept="application/vnd.kubernetes.protobuf"),
        "json stream": watch(accept="application/json;stream=watch"),
        "json after protobuf": watch(accept="application/vnd.kubernetes.protobuf;stream=watch,application/json"),
        "metadata list": watch(accept=PARTIAL.replace("Metadata;", "MetadataList;")),
        "table of v2": watch(accept=TABLE.replace("v=v1", "v=v2")),
        "pretty": watch("&pretty=1"),
        "bad include": watch("&includeObject=x", accept=TABLE),
        "subresource": get("/one/status?watch=1&timeoutSeconds=1"),
        "missing namespace": watch(path="/apis/{g}/v1/namespaces/nowhere/probes"),
        "watch true": get("?watch=true&timeoutSeconds=1"),
        "watch empty": get("?watch=&timeoutSeconds=1"),
        "watch garbage": get("?watch=x&timeoutSeconds=1"),
    }
)  # fmt: skip
