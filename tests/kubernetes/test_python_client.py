"""The ``kubernetes`` package against pizzas, through kube-apiserver."""

# The annotations of that package are incomplete, and many of its answers are objects to it.
# mypy: disable-error-code="no-untyped-call, index, arg-type"

from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient, exceptions

from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.pizzas import GROUP, old_pizza, pizza
from tests.kubernetes.second import SecondServer
from tests.kubernetes.twin_schema import KIND, OURS, PLURAL, VERSION
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")


@pytest.fixture(scope="module")
def api_client(control_plane: ControlPlane) -> Any:
    with config.new_client_from_config(str(control_plane.kubeconfig)) as made:
        yield made


@pytest.fixture
def pizzas(api_client: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The dynamic client's v1beta1 pizzas."""
    return dynamic(api_client, tmp_path_factory).resources.get(api_version=f"{GROUP}/v1beta1", kind="Pizza")


def dynamic(api_client: Any, directories: pytest.TempPathFactory) -> Any:
    return DynamicClient(api_client, cache_file=str(directories.mktemp("discovery") / "cache"))


def test_discovery_finds_both_versions_and_prefers_one(
    api_client: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    resources = dynamic(api_client, tmp_path_factory).resources
    assert {found.api_version for found in resources.search(group=GROUP, kind="Pizza")} == {"v1alpha1", "v1beta1"}
    preferred = [found for found in resources.search(group=GROUP, kind="Pizza") if found.preferred]
    assert [found.group_version for found in preferred] == [f"{GROUP}/v1beta1"]
    found = resources.get(api_version=f"{GROUP}/v1beta1", kind="Pizza")
    assert (found.name, found.namespaced, found.short_names) == ("pizzas", True, ["pz"])
    assert set(found.verbs) == {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
    assert set(found.subresources) == {"status"}


def test_create_read_change_and_delete(pizzas: Any, namespace: str) -> None:
    made = pizzas.create(body=pizza("plain", tomato=2), namespace=namespace)
    assert made.metadata.uid
    assert made.metadata.generation == 1
    got = pizzas.get(name="plain", namespace=namespace)
    assert [(each.name, each.quantity) for each in got.spec.toppings] == [("tomato", 2)]

    body = until(lambda: _priced(pizzas, "plain", namespace))
    body["spec"]["toppings"].append({"name": "olives"})
    replaced = pizzas.replace(body=body, namespace=namespace)
    assert (replaced.metadata.generation, len(replaced.spec.toppings)) == (2, 2)
    merge = "application/merge-patch+json"
    patched = pizzas.patch(
        body={"metadata": {"labels": {"a": "b"}}}, name="plain", namespace=namespace, content_type=merge
    )
    assert patched.metadata.labels.a == "b"
    assert patched.metadata.generation == 2
    operations = [{"op": "remove", "path": "/spec/toppings/0"}]
    patched = pizzas.patch(
        body=operations, name="plain", namespace=namespace, content_type="application/json-patch+json"
    )
    assert [each.name for each in patched.spec.toppings] == ["olives"]
    assert pizzas.get(namespace=namespace, label_selector="a=b").items[0].metadata.name == "plain"
    status = pizzas.status.patch(body={"status": {"cost": "7"}}, name="plain", namespace=namespace, content_type=merge)
    assert status.status.cost == "7"

    assert pizzas.delete(name="plain", namespace=namespace).status == "Success"
    with pytest.raises(exceptions.NotFoundError):
        pizzas.get(name="plain", namespace=namespace)


def _priced(pizzas: Any, name: str, namespace: str) -> dict[str, Any] | None:
    body: dict[str, Any] = pizzas.get(name=name, namespace=namespace).to_dict()
    return body if body.get("status", {}).get("cost") else None


def test_errors_have_classes(pizzas: Any, namespace: str) -> None:
    pizzas.create(body=pizza("plain", tomato=1), namespace=namespace)
    with pytest.raises(exceptions.ConflictError) as exists:
        pizzas.create(body=pizza("plain", tomato=1), namespace=namespace)
    assert json.loads(exists.value.body)["reason"] == "AlreadyExists"
    with pytest.raises(exceptions.UnprocessibleEntityError):
        pizzas.create(body=pizza("bad", tomato=0), namespace=namespace)
    with pytest.raises(exceptions.ForbiddenError, match='topping \\\\"fish\\\\" not known'):
        pizzas.create(body=pizza("odd", fish=1), namespace=namespace)
    with pytest.raises(exceptions.BadRequestError):
        pizzas.create(body=pizza("odd", tomato=1) | {"apiVersion": "other/v1"}, namespace=namespace)
    with pytest.raises(exceptions.DynamicApiError) as strategic:
        pizzas.patch(body={}, name="plain", namespace=namespace)  # a strategic merge patch unless told otherwise
    assert strategic.value.status == 415
    assert json.loads(strategic.value.body)["reason"] == "UnsupportedMediaType"
    with pytest.raises(exceptions.ConflictError, match="FieldManagerConflict"):
        pizzas.server_side_apply(body=pizza("plain", tomato=2), namespace=namespace, field_manager="test")
    stale = pizza("plain", tomato=3)
    stale["metadata"]["resourceVersion"] = "1"
    with pytest.raises(exceptions.ConflictError, match="the object has been modified"):
        pizzas.replace(body=stale, namespace=namespace)


def test_lists_come_in_pages_of_one_state(pizzas: Any, namespace: str) -> None:
    for number in range(5):
        pizzas.create(body=pizza(f"p{number}", tomato=1), namespace=namespace)
    page = pizzas.get(namespace=namespace, limit=2)
    assert page.metadata.remainingItemCount == 3
    # What comes after the first page is not on the following ones.
    pizzas.create(body=pizza("p9", tomato=1), namespace=namespace)
    pizzas.delete(name="p4", namespace=namespace)
    names, revisions = [], set()
    while True:
        names += [item.metadata.name for item in page.items]
        revisions.add(page.metadata.resourceVersion)
        token = page.metadata["continue"]
        if not token:
            break
        page = pizzas.get(namespace=namespace, limit=2, _continue=token)
    assert names == ["p0", "p1", "p2", "p3", "p4"]
    assert len(revisions) == 1


def test_a_watch_resumes_where_it_ended(pizzas: Any, namespace: str) -> None:
    start = pizzas.get(namespace=namespace).metadata.resourceVersion
    pizzas.create(body=pizza("first", tomato=1), namespace=namespace)
    watcher = watch.Watch()
    seen = []
    for event in pizzas.watch(namespace=namespace, resource_version=start, timeout=20, watcher=watcher):
        seen.append((event["type"], event["object"].metadata.name))
        revision = event["object"].metadata.resourceVersion
        if event["object"].to_dict().get("status", {}).get("cost") == "1.50":
            watcher.stop()
    assert seen == [("ADDED", "first"), ("MODIFIED", "first")]

    pizzas.create(body=pizza("second", tomato=1), namespace=namespace)
    pizzas.delete(name="first", namespace=namespace)
    watcher = watch.Watch()
    later = []
    for event in pizzas.watch(namespace=namespace, resource_version=revision, timeout=20, watcher=watcher):
        later.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watcher.stop()
    assert later[0] == ("ADDED", "second")
    assert later[-1] == ("DELETED", "first")
    assert ("ADDED", "first") not in later


def test_a_watch_starts_with_what_is_there_and_ends_in_time(pizzas: Any, namespace: str) -> None:
    pizzas.create(body=pizza("plain", tomato=1), namespace=namespace)
    until(lambda: _priced(pizzas, "plain", namespace))
    events = [(e["type"], e["object"].metadata.name) for e in pizzas.watch(namespace=namespace, timeout=1)]
    assert events == [("ADDED", "plain")]


def test_a_continue_token_that_is_none_is_refused(api_client: Any, namespace: str) -> None:
    custom = client.CustomObjectsApi(api_client)
    with pytest.raises(client.ApiException) as refused:
        custom.list_namespaced_custom_object(GROUP, "v1beta1", namespace, "pizzas", limit=1, _continue="abc")
    assert refused.value.status == 400


def test_a_forgotten_revision_is_expired(api_client: Any, gadgets: SecondServer, namespace: str) -> None:
    """A store in memory begins its revisions at the clock, so that revision 1 is long forgotten."""
    custom = client.CustomObjectsApi(api_client)
    where = (OURS, VERSION, namespace, PLURAL)
    stream = watch.Watch().stream(custom.list_namespaced_custom_object, *where, resource_version="1")
    with pytest.raises(client.ApiException) as expired:
        next(stream)
    assert expired.value.status == 410
    assert expired.value.reason.startswith("Expired: too old resource version: 1 (")
    with pytest.raises(client.ApiException) as gone:
        custom.list_namespaced_custom_object(*where, resource_version="1", resource_version_match="Exact")
    assert gone.value.status == 410
    # As told, list again and watch from there.
    start = custom.list_namespaced_custom_object(*where)["metadata"]["resourceVersion"]
    obj = {"apiVersion": f"{OURS}/{VERSION}", "kind": KIND, "metadata": {"name": "new"}, "spec": {"size": 1}}
    custom.create_namespaced_custom_object(*where, obj)
    watcher = watch.Watch()
    for event in watcher.stream(custom.list_namespaced_custom_object, *where, resource_version=start):
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "new")
        watcher.stop()


def test_custom_objects_api(api_client: Any, namespace: str) -> None:
    custom = client.CustomObjectsApi(api_client)
    old = (GROUP, "v1alpha1", namespace, "pizzas")
    new = (GROUP, "v1beta1", namespace, "pizzas")
    made = custom.create_namespaced_custom_object(*old, old_pizza("mine", "tomato", "tomato"))
    assert made["spec"] == {"toppings": ["tomato", "tomato"]}
    got = custom.get_namespaced_custom_object(*new, "mine")
    assert got["spec"] == {"toppings": [{"name": "tomato", "quantity": 2}]}
    custom.patch_namespaced_custom_object(*new, "mine", {"metadata": {"labels": {"a": "b"}}})
    listed = custom.list_namespaced_custom_object(*old, label_selector="a=b")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["mine"]
    assert listed["kind"] == "PizzaList"
    everywhere = custom.list_custom_object_for_all_namespaces(GROUP, "v1beta1", "pizzas", label_selector="a=b")
    assert namespace in {item["metadata"]["namespace"] for item in everywhere["items"]}
    got = custom.get_namespaced_custom_object(*new, "mine")
    got["spec"]["toppings"] = [{"name": "olives"}]
    replaced = custom.replace_namespaced_custom_object(*new, "mine", got)
    assert replaced["spec"]["toppings"] == [{"name": "olives", "quantity": 1}]
    status = custom.patch_namespaced_custom_object_status(*new, "mine", {"status": {"cost": "3"}})
    assert status["status"] == {"cost": "3"}
    assert custom.get_namespaced_custom_object_status(*new, "mine")["kind"] == "Pizza"
    gone = custom.delete_collection_namespaced_custom_object(*new)
    assert [item["metadata"]["name"] for item in gone["items"]] == ["mine"]
    with pytest.raises(client.ApiException) as missing:
        custom.get_namespaced_custom_object(*new, "mine")
    assert (missing.value.status, missing.value.reason) == (404, "Not Found")
    assert custom.get_cluster_custom_object(GROUP, "v1alpha1", "toppings", "tomato")["spec"] == {"cost": "1.50"}
