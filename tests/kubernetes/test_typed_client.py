"""The typed half of the ``kubernetes`` package, and its dynamic client, on the kinds of the control plane itself."""

# The annotations of that package are incomplete, and many of its answers are objects to it.
# mypy: disable-error-code="no-untyped-call, index, arg-type"

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient, exceptions
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.core_objects import RBAC
from tests.waiting import until


@pytest.fixture(scope="module")
def api_client(control_plane: ControlPlane) -> Any:
    with config.new_client_from_config(str(control_plane.kubeconfig)) as made:
        yield made


@pytest.fixture
def core(api_client: Any) -> Any:
    return client.CoreV1Api(api_client)


def meta(name: str, **more: Any) -> client.V1ObjectMeta:
    return client.V1ObjectMeta(name=name, **more)


def test_namespaces(core: Any, namespace: str) -> None:
    name = f"typed-{namespace}"
    made = core.create_namespace(client.V1Namespace(metadata=meta(name, labels={"a": "b"})))
    assert (made.status.phase, made.spec.finalizers) == ("Active", ["kubernetes"])
    assert name in {item.metadata.name for item in core.list_namespace(label_selector="a=b").items}
    patched = core.patch_namespace(name, {"metadata": {"labels": {"a": None, "c": "d"}}})
    assert patched.metadata.labels == {"c": "d", "kubernetes.io/metadata.name": name}
    gone = core.delete_namespace(name)
    assert gone["status"]["phase"] == "Terminating"

    def missing() -> bool:
        try:
            core.read_namespace(name)
        except client.ApiException as error:
            return bool(error.status == 404)
        return False

    until(missing, 30)


def test_config_maps_and_secrets(core: Any, namespace: str) -> None:
    made = core.create_namespaced_config_map(
        namespace, client.V1ConfigMap(metadata=meta("menu"), data={"a": "1"}, binary_data={"b": "AAE="})
    )
    assert made.metadata.uid
    made.data["c"] = "2"
    replaced = core.replace_namespaced_config_map("menu", namespace, made)
    assert replaced.data == {"a": "1", "c": "2"}
    with pytest.raises(client.ApiException) as stale:
        core.replace_namespaced_config_map("menu", namespace, made)
    assert stale.value.status == 409
    assert core.read_namespaced_config_map("menu", namespace).binary_data == {"b": "AAE="}
    secret = core.create_namespaced_secret(namespace, client.V1Secret(metadata=meta("s"), string_data={"k": "word"}))
    assert (secret.type, secret.data) == ("Opaque", {"k": base64.b64encode(b"word").decode()})
    assert secret.string_data is None
    with pytest.raises(client.ApiException) as wrong:
        core.create_namespaced_secret(
            namespace, client.V1Secret(metadata=meta("t"), type="kubernetes.io/tls", data={"tls.crt": ""})
        )
    assert wrong.value.status == 422
    core.delete_collection_namespaced_config_map(namespace, field_selector="metadata.name=menu")
    assert "menu" not in {item.metadata.name for item in core.list_namespaced_config_map(namespace).items}


def test_services_and_events(core: Any, namespace: str) -> None:
    ports = [client.V1ServicePort(port=80)]
    made = core.create_namespaced_service(
        namespace, client.V1Service(metadata=meta("web"), spec=client.V1ServiceSpec(cluster_ip="None", ports=ports))
    )
    (port,) = made.spec.ports
    assert (made.spec.type, made.spec.session_affinity, port.protocol, port.target_port) == (
        "ClusterIP",
        "None",
        "TCP",
        80,
    )
    reference = client.V1ObjectReference(kind="Service", name="web", namespace=namespace)
    core.create_namespaced_event(
        namespace,
        client.CoreV1Event(metadata=meta("e"), involved_object=reference, reason="Opened", message="m", type="Normal"),
    )
    (found,) = core.list_namespaced_event(namespace, field_selector="involvedObject.name=web").items
    assert (found.reason, found.involved_object.kind) == ("Opened", "Service")


def test_rights_and_reviews(api_client: Any, core: Any, namespace: str) -> None:
    rbac: Any = client.RbacAuthorizationV1Api(api_client)
    access: Any = client.AuthorizationV1Api(api_client)
    core.create_namespaced_service_account(namespace, client.V1ServiceAccount(metadata=meta("robot")))
    rule = client.V1PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get"])
    rbac.create_namespaced_role(namespace, client.V1Role(metadata=meta("reader"), rules=[rule]))
    rbac.create_namespaced_role_binding(
        namespace,
        client.V1RoleBinding(
            metadata=meta("readers"),
            role_ref=client.V1RoleRef(api_group=RBAC, kind="Role", name="reader"),
            subjects=[client.RbacV1Subject(kind="ServiceAccount", name="robot", namespace=namespace)],
        ),
    )
    user = f"system:serviceaccount:{namespace}:robot"

    def allowed(verb: str) -> bool:
        what = client.V1ResourceAttributes(namespace=namespace, verb=verb, resource="secrets")
        spec = client.V1SubjectAccessReviewSpec(user=user, resource_attributes=what)
        review = client.V1SubjectAccessReview(spec=spec)
        return bool(access.create_subject_access_review(review).status.allowed)

    until(lambda: allowed("get"))
    assert not allowed("list")
    rules = access.create_self_subject_rules_review(
        client.V1SelfSubjectRulesReview(spec=client.V1SelfSubjectRulesReviewSpec(namespace=namespace))
    ).status
    assert any(each.verbs == ["*"] and each.resources == ["*"] for each in rules.resource_rules)
    assert rules.incomplete is False

    # The token of that account, in a client of its own.
    asked = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600))
    issued = core.create_namespaced_service_account_token("robot", namespace, asked)
    assert issued.status.expiration_timestamp
    settings = client.Configuration()
    settings.host, settings.ssl_ca_cert = api_client.configuration.host, api_client.configuration.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {issued.status.token}"}
    with client.ApiClient(settings) as its_own:
        me: Any = client.AuthenticationV1Api(its_own).create_self_subject_review(client.V1SelfSubjectReview())
        assert me.status.user_info.username == user
        with pytest.raises(client.ApiException) as refused:
            client.CoreV1Api(its_own).list_namespaced_secret(namespace)
        assert refused.value.status == 403


def test_a_watch_of_a_core_kind(core: Any, namespace: str) -> None:
    start = core.list_namespaced_secret(namespace).metadata.resource_version
    core.create_namespaced_secret(namespace, client.V1Secret(metadata=meta("s")))
    core.patch_namespaced_secret("s", namespace, {"data": {"a": "AA=="}})
    core.delete_namespaced_secret("s", namespace)
    watcher = watch.Watch()
    seen = []
    for event in watcher.stream(core.list_namespaced_secret, namespace, resource_version=start, timeout_seconds=20):
        assert isinstance(event["object"], client.V1Secret)
        seen.append((event["type"], event["object"].metadata.name, event["object"].data))  # type: ignore[union-attr]
        if event["type"] == "DELETED":
            watcher.stop()
    assert seen == [("ADDED", "s", None), ("MODIFIED", "s", {"a": "AA=="}), ("DELETED", "s", {"a": "AA=="})]


def test_the_dynamic_client_finds_what_it_did_not_know(
    api_client: Any, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dynamic = DynamicClient(api_client, cache_file=str(tmp_path_factory.mktemp("discovery") / "cache"))
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "menu", "labels": {"a": "b"}},
        "data": {"x": "1"},
    }
    maps.create(body=body, namespace=namespace)
    # A strategic merge patch unless told otherwise.
    assert maps.patch(body={"data": {"y": "2"}}, name="menu", namespace=namespace).data.to_dict() == {
        "x": "1",
        "y": "2",
    }
    assert [item.metadata.name for item in maps.get(namespace=namespace, label_selector="a=b").items] == ["menu"]
    events = maps.watch(namespace=namespace, name="menu", timeout=1)
    assert [(event["type"], event["object"].data.y) for event in events] == [("ADDED", "2")]
    roles = dynamic.resources.get(api_version=f"{RBAC}/v1", kind="ClusterRole")
    assert roles.get(name="cluster-admin").rules[0].verbs == ["*"]
    with pytest.raises(exceptions.NotFoundError):
        roles.get(name="none")
    maps.delete(name="menu", namespace=namespace)
    with pytest.raises(exceptions.NotFoundError):
        maps.get(name="menu", namespace=namespace)


def test_leases(api_client: Any, namespace: str) -> None:
    leases: Any = client.CoordinationV1Api(api_client)
    spec = client.V1LeaseSpec(holder_identity="a", lease_duration_seconds=15, renew_time="2026-01-01T00:00:00.000001Z")
    made = leases.create_namespaced_lease(namespace, client.V1Lease(metadata=meta("l"), spec=spec))
    made.spec.holder_identity = "b"
    made.spec.lease_transitions = 1
    taken = leases.replace_namespaced_lease("l", namespace, made)
    assert (taken.spec.holder_identity, taken.spec.lease_transitions) == ("b", 1)
    assert taken.spec.renew_time.year == 2026
    with pytest.raises(client.ApiException) as late:
        leases.replace_namespaced_lease("l", namespace, made)
    assert late.value.status == 409
    with pytest.raises(client.ApiException) as wrong:
        leases.patch_namespaced_lease("l", namespace, {"spec": {"leaseDurationSeconds": 0}})
    assert wrong.value.status == 422


class Candidate:
    """One that wants to lead, in a thread of its own, until told to stop."""

    def __init__(self, name: str, namespace: str) -> None:
        self.leads, self._enough = threading.Event(), threading.Event()
        settings = electionconfig.Config(
            LeaseLock("leader", namespace, name),
            lease_duration=3,
            renew_deadline=2,
            retry_period=1,
            onstarted_leading=self._lead,
            onstopped_leading=lambda: None,
        )
        self._thread = threading.Thread(target=leaderelection.LeaderElection(settings).run, daemon=True)
        self._thread.start()

    def _lead(self) -> None:
        self.leads.set()
        self._enough.wait(60)
        raise RuntimeError("enough")  # which is how a leader says that it gives up

    def stop(self) -> None:
        self._enough.set()
        self._thread.join(20)


@pytest.fixture
def as_default(control_plane: ControlPlane) -> Iterator[None]:
    """The leader election of the package knows only a default client."""
    config.load_kube_config(str(control_plane.kubeconfig))
    yield
    client.Configuration.set_default(client.Configuration())


@pytest.mark.usefixtures("as_default")
def test_a_leader_is_elected_and_followed_by_another(api_client: Any, namespace: str) -> None:
    leases: Any = client.CoordinationV1Api(api_client)
    first = Candidate("first", namespace)
    assert first.leads.wait(20)
    held = leases.read_namespaced_lease("leader", namespace).spec
    assert (held.holder_identity, held.lease_duration_seconds) == ("first", 3)
    second = Candidate("second", namespace)
    until(lambda: leases.read_namespaced_lease("leader", namespace).spec.renew_time > held.renew_time)
    assert not second.leads.is_set()
    first.stop()
    assert second.leads.wait(20)
    assert leases.read_namespaced_lease("leader", namespace).spec.holder_identity == "second"
    second.stop()
