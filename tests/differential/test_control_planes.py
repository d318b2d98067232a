"""The built-in control plane says what kube-apiserver says: every conversation, but for what ``deliberate`` allows."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from extapi.controlplane.kinds.admissionmessages import ADMISSION
from extapi.controlplane.kinds.messages import EVENTS, MESSAGES
from extapi.dev.kube import KubeClient
from tests.differential.planes import documents, policies, webhooks
from tests.differential.planes.deliberate import DELIBERATE, allowed, needed, remaining
from tests.differential.planes.every import all_cases
from tests.differential.planes.samples import Sample
from tests.differential.playing import Answers, conversing
from tests.differential.side import Side
from tests.kubernetes.calling import MERGE, Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")  # the one that is there is kube-apiserver, the other is started here

GROUP = "none.differential.test"
PROTOBUF = "application/vnd.kubernetes.protobuf"
CASES = all_cases()


@pytest.fixture(scope="module")
def planes(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlane, ControlPlane]]:
    """The built-in control plane and kube-apiserver, both running."""
    with running(tmp_path_factory.mktemp("builtin"), "builtin") as builtin:
        yield builtin, control_plane
    _undefine(control_plane.client)


def _undefine(client: KubeClient) -> None:
    """Delete the definitions of all conversations: kubectl fails at groups whose resources are not there any more."""
    path = f"/apis/{documents.DEFINITIONS}"
    for each in client.get(path)["items"]:
        if each["spec"]["group"].endswith(".defs.test"):
            one = f"{path}/{each['metadata']['name']}"
            # Some have stored versions that are not theirs, so that not even their finalizer can be taken away.
            stored = [version["name"] for version in each["spec"]["versions"] if version["storage"]]
            client.request("PATCH", f"{one}/status", {"status": {"storedVersions": stored}}, MERGE)
            client.request("PATCH", one, {"metadata": {"finalizers": []}}, MERGE)
            client.delete(one)
    until(lambda: not any(group["name"].endswith(".defs.test") for group in client.get("/apis")["groups"]), 60)


@pytest.fixture(scope="module")
def converse(
    planes: tuple[ControlPlane, ControlPlane], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Answers]]:
    """Play the conversation of a name with both, as administrator and as a stranger."""
    directory = tmp_path_factory.mktemp("conversations")

    def side(plane: ControlPlane) -> Side:
        ca = plane.certificates.certificate("cluster-ca")
        signed = user_certificate(authority(plane.certificates, "cluster-ca"), "e2e-admin", "system:masters")
        tls, strangers = tls_of(ca, signed, directory), tls_of(ca, None, directory)
        return Side(GROUP, plane.cluster.port, tls, strangers=strangers, base="")

    with conversing(CASES, lambda: (side(planes[0]), side(planes[1]))) as play:
        yield play


@pytest.fixture(scope="module")
def call(
    planes: tuple[ControlPlane, ControlPlane], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Answer, Answer]]:
    """Ask both, as administrator; the built-in one first."""
    directory = tmp_path_factory.mktemp("documents")
    callers = []
    for plane in planes:
        signed = user_certificate(authority(plane.certificates, "cluster-ca"), "e2e-admin", "system:masters")
        tls = tls_of(plane.certificates.certificate("cluster-ca"), signed, directory)
        callers.append(Caller(plane.cluster.port, tls))

    def both(
        path: str, accept: str = "application/json", method: str = "GET", body: Any = None
    ) -> tuple[Answer, Answer]:
        ours, theirs = (caller(method, path, body, headers=[("Accept", accept)]) for caller in callers)
        return ours, theirs

    return both


@pytest.fixture(scope="module")
def read(call: Callable[..., tuple[Answer, Answer]]) -> Callable[..., tuple[Any, Any]]:
    """Read the JSON at a path from both."""

    def both(path: str, accept: str = "application/json") -> tuple[Any, Any]:
        ours, theirs = call(path, accept)
        assert (ours.status, theirs.status) == (200, 200)
        # Schemas of APIServices stand in a package of their own there.
        body = theirs.body.replace(b"io.k8s.kube-aggregator.pkg.apis.", b"io.k8s.api.")
        return json.loads(ours.body), json.loads(body)

    return both


@pytest.mark.parametrize("name", CASES)
def test_both_control_planes_answer_alike(converse: Callable[[str], Answers], name: str) -> None:
    ours, theirs = converse(name)
    left = [remaining(*answers, allowed(name)) for answers in zip(ours, theirs, strict=True)]
    assert [answer for answer, _ in left] == [answer for _, answer in left]


def test_every_difference_that_is_allowed_is_there(converse: Callable[[str], Answers]) -> None:
    unused = [
        (pattern, entry.reason)
        for entry in DELIBERATE
        for pattern in entry.cases
        if not entry.sometimes
        and not any(needed(entry, name, *converse(name)) for name in fnmatch.filter(CASES, pattern))
    ]
    assert not unused


@pytest.mark.parametrize("path", documents.GROUP_VERSIONS)
def test_resources_are_described_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.resources(document) for document in read(f"/{path}"))
    assert ours == {name: theirs.get(name) for name in ours}


@pytest.mark.parametrize("path", [path.rpartition("/")[0] for path in documents.GROUP_VERSIONS[1:]])
def test_groups_are_described_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = read(f"/{path}")
    assert ours == theirs
    ours, theirs = ({group["name"]: group for group in found["groups"]} for found in read("/apis"))
    built_in = [each.split("/")[1] for each in documents.GROUP_VERSIONS[1:]]  # those of definitions come and go
    assert [ours[name] for name in built_in] == [theirs[name] for name in built_in]
    assert {name for name in ours if name.endswith(".k8s.io")} <= theirs.keys()


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_all_resources_are_described_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.aggregated(document) for document in read(path, documents.AGGREGATED))
    for name, told in ours.items():
        if ".defs.test/" in name:  # of other conversations, whose definitions come and go
            continue
        known = theirs.get(name)
        assert told == ({key: known.get(key) for key in told} if isinstance(told, dict) and known else known), name


def test_health_checks_have_the_names_of_kube_apiserver(call: Callable[..., tuple[Answer, Answer]]) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        ours, theirs = (set(answer.body.decode().splitlines()) for answer in call(f"{path}?verbose"))
        assert ours - theirs <= {"[+]storage-writes ok", "[+]storage-log ok"}
        assert {"[+]ping ok", "[+]etcd ok", "[+]poststarthook/rbac/bootstrap-roles ok"} <= ours


PATHS = (
    "/api/v1/namespaces/kube-system",
    "/api/v1/namespaces/none",
    "/api/v1/events",
    "/apis/events.k8s.io/v1/events",
    "/api/v1/namespaces?limit=1",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    *(f"/{path}" for path in documents.GROUP_VERSIONS[1:]),
)
OURS = {
    "": ("namespaces", "configmaps", "secrets", "serviceaccounts", "services", "events"),
    "events.k8s.io": ("events",),
    "coordination.k8s.io": ("leases",),
    "rbac.authorization.k8s.io": ("clusterroles", "clusterrolebindings", "roles", "rolebindings"),
    "apiregistration.k8s.io": ("apiservices",),
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ),
}
MESSAGES_OF = {"events.k8s.io": EVENTS, "admissionregistration.k8s.io": ADMISSION}
"""The messages of groups that have their own."""


@pytest.mark.parametrize(("group", "resource"), [(group, name) for group, names in OURS.items() for name in names])
def test_protobuf_is_written_as_by_kube_apiserver(
    call: Callable[..., tuple[Answer, Answer]], group: str, resource: str
) -> None:
    """Byte by byte: what kube-apiserver says in JSON, written by us, is what it says in protobuf."""
    _fill(call)
    path = f"/apis/{group}/v1/{resource}" if group else f"/api/v1/{resource}"
    messages = MESSAGES_OF.get(group, MESSAGES)
    ours, theirs = (json.loads(answer.body) for answer in call(path))
    # As it was then: some objects are renewed all the time.
    then = f"{path}?resourceVersionMatch=Exact&resourceVersion={theirs['metadata']['resourceVersion']}"
    found, written = json.loads(call(then)[1].body), call(then, PROTOBUF)[1]
    kind = found["kind"].removesuffix("List")
    assert found["items"]
    assert messages.encode_list(found, kind, found["items"]) == written.body
    # Our own objects are of the same form: what is read back is written alike.
    for item in ours["items"]:
        message = messages.message(kind, item)
        assert messages.message(kind, messages.decode(kind, message)) == message
    if group == "admissionregistration.k8s.io":
        call(f"{path}/protobuf", method="DELETE")


def _fill(call: Callable[..., tuple[Answer, Answer]]) -> None:
    """Something of every kind, on both; what is there already stays."""
    event = {"metadata": {"name": "protobuf"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}
    complete = {
        "metadata": {"name": "protobuf-v1"},
        "regarding": event["involvedObject"],
        "type": "Normal",
        "reason": "r",
        "eventTime": "2026-01-02T03:04:05.678901Z",
        "action": "a",
        "reportingController": "a/b",
        "note": "n",
        "reportingInstance": "i",
        "series": {"count": 2, "lastObservedTime": "2026-01-02T03:04:06.000001Z"},
    }
    secret = {"metadata": {"name": "protobuf"}, "data": {"a": "AAE="}}
    lease = {
        "metadata": {"name": "protobuf"},
        "spec": {"holderIdentity": "a", "renewTime": "2026-01-02T03:04:05.600000Z"},
    }
    for path, obj in (
        *policies.COMPLETE,
        ("/api/v1/namespaces/default/events", event),
        ("/apis/events.k8s.io/v1/namespaces/default/events", complete),
        ("/api/v1/namespaces/default/secrets", secret),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease),
        *((kind.path, _hooks(kind)) for kind in webhooks.KINDS.values()),
    ):
        for answer in call(path, method="POST", body=obj):
            assert answer.status in {201, 409}, answer.body


def _hooks(kind: Sample) -> dict[str, Any]:
    """A configuration that has everything, and is about nothing."""
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}
    service = {"namespace": "a", "name": "b", "path": "/x"}
    conditions = [{"name": "a", "expression": "true"}]
    made = webhooks.conditions("true", clientConfig={"service": service, "caBundle": "YQ=="}, objectSelector=selector)
    return {
        "metadata": {"name": "protobuf"},
        "webhooks": [webhooks.BASE, {**made, "name": "c.d.test", "matchConditions": conditions}],
    }


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "accept",
    [
        PROTOBUF,
        f"{PROTOBUF},application/json",
        f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1",
        f"{PROTOBUF};stream=watch",
    ],
)
def test_the_form_of_an_answer_is_that_of_kube_apiserver(
    call: Callable[..., tuple[Answer, Answer]], path: str, accept: str
) -> None:
    ours, theirs = call(path, accept)
    if ours.status == 406 and "List" in accept:
        return  # the metadata list of one object is refused before anything is read
    assert (ours.status, ours.headers["Content-Type"]) == (theirs.status, theirs.headers["Content-Type"])


@pytest.mark.parametrize("path", documents.GROUP_VERSIONS)
def test_operations_are_published_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.operations(document) for document in read(f"/openapi/v3/{path}"))
    assert ours == {name: theirs.get(name) for name in ours}


@pytest.mark.parametrize("path", documents.GROUP_VERSIONS)
def test_schemas_are_published_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.schemas(document) for document in read(f"/openapi/v3/{path}"))
    assert ours == {name: theirs.get(name) for name in ours}
