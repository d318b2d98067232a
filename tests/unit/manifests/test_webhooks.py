"""``--as crd``: a webhook for each thing that the author's code does, and none more; every path is one that is answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import yaml
from twisted.internet.task import Clock

from extapi import CLUSTER, Api, FieldError, Group, Kind, PolicyRule, Scale, Strategy, Version
from extapi.manifests.files import kustomization, render
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from extapi.webhooks.server import WebhookServer
from tests.kubernetes.hooked import api as hooked
from tests.unit.manifests.apis import ANY
from tests.unit.manifests.rendering import pod_of, rendered

GROUP = "shop.example.com"


class Prepares(Strategy):
    def prepare(self, obj: Any, old: Any | None) -> None: ...


class Checks(Strategy):
    def validate(self, obj: Any, old: Any | None) -> Iterable[FieldError]:
        return ()


class Warns(Strategy):
    def warn(self, obj: Any, old: Any | None) -> Iterable[str]:
        return ()


class Mutates:
    async def mutate(self, _review: Any) -> None: ...


class Follows:
    async def start(self, _context: Any) -> None: ...

    async def validate(self, _review: Any) -> None: ...


class FollowsOthers(Follows):
    """Follows kinds of the cluster, and none of its own API."""

    needs: tuple[PolicyRule, ...] = ()


class Runs:
    async def run(self, _context: Any) -> None: ...


def shop(*admission: Any, strategy: Strategy | None = None, **more: Any) -> Api:
    kind = Kind(
        "Thing",
        storage="v1",
        versions={"v1": Version(ANY), "v2": Version(ANY), "v0": Version(ANY, served=False)},
        scale=Scale(spec_replicas_path=".spec.n", status_replicas_path=".status.n"),
        strategy=strategy or Strategy(),
        scope=CLUSTER,
    )
    return Api(Group(GROUP, kind), admission=admission, **more)


def crds(api: Api, **flags: Any) -> dict[str, Any]:
    return rendered(api, as_="crd", **flags)


def rule(api: Api, name: str) -> tuple[list[str], list[str], str] | None:
    """Operations, resources and side effects; None without a webhook."""
    configuration = crds(api).get(f"{name}-webhooks")
    if configuration is None:
        return None
    (hook,) = configuration["webhooks"]
    (found,) = hook["rules"]
    assert (found["apiGroups"], found["apiVersions"], found["scope"]) == ([GROUP], ["v1", "v2"], "Cluster")
    assert (hook["matchPolicy"], hook["failurePolicy"], hook["admissionReviewVersions"]) == (
        "Equivalent",
        "Fail",
        ["v1"],
    )
    return found["operations"], found["resources"], hook["sideEffects"]


ALL = ["things", "things/status", "things/scale"]
WRITES, DELETES = ["CREATE", "UPDATE"], ["CREATE", "UPDATE", "DELETE"]


@pytest.mark.parametrize(
    ("api", "mutating", "validating"),
    [
        (shop(), None, None),
        (shop(strategy=Prepares()), (WRITES, ["things"], "None"), None),
        (shop(strategy=Checks()), None, (WRITES, ALL, "None")),
        (shop(strategy=Warns()), None, (WRITES, ALL, "None")),
        (shop(Mutates(), strategy=Prepares()), (DELETES, ALL, "NoneOnDryRun"), None),
        (shop(Follows(), strategy=Prepares()), (WRITES, ["things"], "None"), (DELETES, ALL, "NoneOnDryRun")),
    ],
)
def test_a_webhook_asks_about_what_the_code_is_for(api: Api, mutating: Any, validating: Any) -> None:
    assert rule(api, "mutating") == mutating
    assert rule(api, "validating") == validating


@pytest.mark.parametrize("api", [pizza, hooked])
def test_each_path_is_answered(api: Api) -> None:
    """And asked at the Service that is there, by the port that it has."""
    objects = crds(api, name="shop", namespace="mall")
    definitions = [each["spec"]["conversion"] for name, each in objects.items() if name.startswith("definition-")]
    configs = [each["webhook"]["clientConfig"] for each in definitions if each["strategy"] == "Webhook"]
    for name in ("mutating", "validating"):
        configs += [hook["clientConfig"] for hook in objects[f"{name}-webhooks"]["webhooks"]]
    answered = WebhookServer(api, Clock()).paths
    port = objects["service"]["spec"]["ports"][0]["port"]
    for each in configs:
        assert each["service"].pop("path") in answered
        assert each == {"service": {"namespace": "mall", "name": "shop", "port": port}}


def test_kinds_of_one_name_have_paths_of_their_own() -> None:
    kind = Kind("Thing", storage="v1", versions={"v1": Version(ANY)}, strategy=Prepares())
    api = Api(Group("one.example.com", kind), Group("two.example.com", kind))
    objects = crds(api)
    paths = [each["clientConfig"]["service"]["path"] for each in objects["mutating-webhooks"]["webhooks"]]
    assert paths == ["/admit/v1/thing.one.example.com", "/admit/v1/thing.two.example.com"]
    assert set(paths) <= set(WebhookServer(api, Clock()).paths)
    assert {"definition-things.one.example.com", "definition-things.two.example.com"} <= set(objects)


def test_the_pod_answers_webhooks_and_stores_nothing() -> None:
    pod = pod_of(crds(pizza))
    (container,) = pod["containers"]
    assert container["args"][:2] == ["webhooks", "some.module:api"]
    assert not any("storage" in each for each in container["args"])
    assert {volume["name"] for volume in pod["volumes"]} == {"tls", "tmp"}
    several = crds(pizza, replicas=2)
    assert several["deployment"]["spec"]["replicas"] == 2
    assert several["deployment"]["spec"]["strategy"]["type"] == "RollingUpdate"
    assert several["disruption-budget"]["spec"]["maxUnavailable"] == 1


def test_the_rights_are_those_that_the_code_declares() -> None:
    """The chapter's rbac.yaml has the first rule; the others are what the controller follows and writes."""
    objects = crds(pizza)
    group = "restaurant.programming-kubernetes.info"
    assert objects["server-role"]["rules"] == [
        {"apiGroups": [group], "resources": ["toppings"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [group], "resources": ["pizzas"], "verbs": ["list", "watch"]},
        {"apiGroups": [group], "resources": ["pizzas/status"], "verbs": ["patch"]},
    ]
    assert "authentication-reader" not in objects


def test_the_rights_of_code_that_declares_none() -> None:
    read, write = ["get", "list", "watch"], ["create", "delete", "deletecollection", "patch", "update"]
    assert "server-role" not in crds(shop(strategy=Checks()))
    assert "server-role" not in crds(shop(FollowsOthers()))
    events = PolicyRule.for_events()
    assert crds(shop(Follows(), needs=[events]))["server-role"]["rules"] == [
        {"apiGroups": [GROUP], "resources": ["things"], "verbs": read},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    objects = crds(shop(controllers=[Runs()]))
    assert objects["server-role"]["rules"] == [
        {"apiGroups": [GROUP], "resources": ["things"], "verbs": read + write},
        {"apiGroups": [GROUP], "resources": ["things/scale", "things/status"], "verbs": ["get", "patch", "update"]},
    ]
    role, binding = objects["lease-role"], objects["lease-role-binding"]
    assert {each for found in role["rules"] for each in found["resources"]} == {"leases"}
    (named,) = [each["resourceNames"] for each in role["rules"] if "resourceNames" in each]
    assert named == [GROUP]
    assert (role["kind"], binding["kind"]) == ("Role", "RoleBinding")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_a_server_that_converts_what_it_waits_for_is_asked_before_it_is_ready() -> None:
    """Otherwise each waits for the other."""
    (group,) = pizza.groups
    toppings = Group(group.name, group.kinds[1])

    def unready(group: Group, *plugins: Any) -> bool:
        objects = crds(Api(group, admission=plugins))
        return bool(objects["service"]["spec"].get("publishNotReadyAddresses"))

    assert unready(group, Follows())
    assert not unready(group, *pizza.admission)  # they follow toppings alone, which have one version
    assert not unready(group, FollowsOthers())
    assert not unready(toppings, Follows())
    assert not unready(group)


def test_cert_manager_puts_its_authority_in() -> None:
    objects = crds(pizza, cert_manager=True)
    for name in ("definition-pizzas", "mutating-webhooks", "validating-webhooks"):
        annotations = objects[name]["metadata"]["annotations"]
        assert annotations["cert-manager.io/inject-ca-from"] == "restaurant/restaurant-tls"
    assert "annotations" not in objects["definition-toppings"]["metadata"]
    settings = make_settings(pizza, "some.module:api", as_="crd", cert_manager=True)
    assert "secretGenerator" not in yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))
