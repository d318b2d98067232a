from __future__ import annotations

from typing import Any

import pytest

from extapi.api.definition import Api, Group
from extapi.manifests.settings import ManifestSettings, SettingsErrors, make_settings
from extapi.pizza import api as pizza
from tests.unit.manifests.apis import core, library, reviews


def made(api: Api = pizza, **flags: Any) -> ManifestSettings:
    return make_settings(api, "some.module:api", **flags)


def problems(api: Api = pizza, **flags: Any) -> list[str]:
    with pytest.raises(SettingsErrors) as caught:
        made(api, **flags)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def test_names_are_guessed_from_the_group() -> None:
    settings = made()
    assert (settings.name, settings.namespace) == ("restaurant", "restaurant")
    assert settings.image == "registry.example.com/restaurant:1"
    assert settings.storage == "sqlite:////var/lib/restaurant/data.sqlite"
    assert settings.data_directory == "/var/lib/restaurant"
    assert made(library).name == "library"


def test_a_name_of_ones_own_is_taken_everywhere() -> None:
    settings = made(name="shop")
    assert (settings.namespace, settings.image) == ("shop", "registry.example.com/shop:1")
    assert made(name="shop", namespace="mall").namespace == "mall"


def test_ports() -> None:
    assert made().port == 8443
    assert made(host_network=True).port not in {443, 6443, 8443}
    assert made(host_network=True, port=9000).port == 9000
    assert "privileged" in problems(port=443)[0]
    assert "privileged" in problems(port=1023)[0]
    assert made(port=1024).port == 1024  # ip_unprivileged_port_start


def test_one_sqlite_file_is_for_one_pod() -> None:
    (why,) = problems(replicas=2)
    assert "cannot share one SQLite file" in why
    assert "--replicas" in why
    assert "with --storage etcd: there may be several" in why


def test_memory_is_for_one_pod() -> None:
    (why,) = problems(replicas=3, storage="memory:")
    assert "its own objects" in why


def test_etcd_is_shared_by_many_pods() -> None:
    settings = made(replicas=3, storage="etcd:", etcd_servers="https://a:2379,https://b:2379")
    assert (settings.storage, settings.data_directory, settings.stores) == ("etcd:", "", False)
    assert settings.etcd is not None
    assert settings.etcd.servers == ("https://a:2379", "https://b:2379")
    # Two APIs with one etcd do not meet by accident.
    assert settings.etcd.prefix == "/extapi/restaurant"
    assert made(storage="etcd:", etcd_servers="https://a:2379", etcd_prefix="/mine").etcd.prefix == "/mine"  # type: ignore[union-attr]  # it has one


def test_what_is_wrong_with_etcd_is_said() -> None:
    """By the rules of ``extapi serve``, before there is a pod that would refuse to start."""
    assert problems(storage="etcd:") == ["--etcd-servers must be specified"]
    assert (
        "/registry is where kube-apiserver"
        in problems(storage="etcd:", etcd_servers="https://a", etcd_prefix="/registry")[0]
    )
    (why,) = problems(storage="etcd:", etcd_servers="http://a:2379", etcd_username="pizza")
    assert "unencrypted" in why
    (why,) = problems(storage="etcd:", etcd_servers="https://a:2379", etcd_secret="No Secret")
    assert why.startswith("--etcd-secret: 'No Secret'")
    assert (
        made(storage="etcd:", etcd_servers="https://a:2379", etcd_secret="etcd.client-1").etcd_secret == "etcd.client-1"
    )
    assert problems(etcd_servers="https://a:2379", etcd_prefix="/x", etcd_secret="s", etcd_username="u") == [
        f"--etcd-{flag} is for --storage etcd:" for flag in ("servers", "prefix", "secret", "username")
    ]


def test_what_stores_nothing_may_have_many_pods() -> None:
    settings = made(reviews, replicas=3)
    assert (settings.storage, settings.data_directory) == ("memory:", "")


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ("etcd", "expected memory: or sqlite:"),
        ("sqlite:///data.sqlite", "is relative"),
        ("sqlite:////data.sqlite", "cannot be /;"),
        ("sqlite:////tmp/data.sqlite", "cannot be /tmp;"),
        ("sqlite:////etc/data.sqlite", "cannot be /etc;"),
        ("sqlite:////var/lib/../../etc/data.sqlite", "a volume is mounted"),
        # What holds the program, its certificate, its token; and a mountPath that kube-apiserver refuses.
        ("sqlite:////opt/extapi/data.sqlite", "cannot be /opt/extapi;"),
        ("sqlite:////usr/local/data.sqlite", "cannot be /usr/local;"),
        ("sqlite:////etc/extapi/tls/data.sqlite", "cannot be /etc/extapi/tls;"),
        ("sqlite://///etc/data.sqlite", "cannot be /etc;"),
        ("sqlite:////var/run/secrets/kubernetes.io/serviceaccount/data.sqlite", "a volume is mounted"),
        ("sqlite:////var/lib/a:b/data.sqlite", "cannot be /var/lib/a:b;"),
    ],
)
def test_a_volume_needs_a_directory_of_its_own(storage: str, words: str) -> None:
    (why,) = problems(storage=storage)
    assert why.startswith("--storage: ")
    assert words in why


@pytest.mark.parametrize("name", ["Shop", "1shop", "shop.example", "shop-", "s" * 41])
def test_a_name_that_no_service_can_have(name: str) -> None:
    told = problems(name=name, namespace="ok")
    assert [why.split(":")[0] for why in told if "--name" in why] == ["--name"]


def test_a_namespace_may_be_called_what_a_service_may_not() -> None:
    for namespace in ("3d", "n" * 63):
        assert made(namespace=namespace).namespace == namespace
    for namespace in ("N", "n" * 64, "n.n"):
        (why,) = problems(namespace=namespace)
        assert why.startswith("--namespace: ")


@pytest.mark.parametrize("namespace", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_the_cluster_s_own_namespaces_are_left_alone(namespace: str) -> None:
    """The manifests hold their namespace's Pod Security level, and it goes when they are deleted."""
    (why,) = problems(namespace=namespace)
    assert why.startswith(f"--namespace: {namespace} is the cluster's own")


def test_nothing_begins_as_what_is_kubernetes_own() -> None:
    """Roles are called NAME:..., and the prefix system: is reserved ("Using RBAC Authorization")."""
    (why,) = problems(name="system", namespace="ok")
    assert "Kubernetes' own" in why


def test_everything_is_told_at_once() -> None:
    told = problems(name="A", namespace="B", image="two words", port=80, storage="redis:")
    assert [why.split(":")[0] for why in told] == ["--name", "--namespace", "--image", "--port", "--storage"]


def test_the_core_group_is_kubernetes_own() -> None:
    apps = Api(Group("apps", *core.groups[0].kinds))
    for api in (core, apps):
        assert any("one of Kubernetes' own groups" in why for why in problems(api, name="x"))
