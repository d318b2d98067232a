"""The pod under ``restricted``, as Kubernetes documents that level, and what its store and network need."""

from __future__ import annotations

from typing import Any

import yaml

from extapi.manifests.files import kustomization, render
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from tests.unit.manifests.apis import reviews
from tests.unit.manifests.rendering import pod_of, rendered


def test_the_pod_is_restricted() -> None:
    """The controls of the level "restricted" in the Pod Security Standards."""
    objects = rendered()
    assert objects["namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    pod = pod_of(objects)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] != 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert "hostNetwork" not in pod
    assert {"requests", "limits"} == set(container["resources"])


def test_a_pod_has_the_time_that_its_end_takes() -> None:
    """Requests in flight get 60 seconds (behaviour H12), after the delay."""
    alone, one_of_many = pod_of(rendered()), pod_of(rendered(reviews, replicas=2))
    assert not any("shutdown-delay" in arg for arg in alone["containers"][0]["args"])
    assert alone["terminationGracePeriodSeconds"] > 60
    (delay,) = (arg.partition("=")[2] for arg in one_of_many["containers"][0]["args"] if "shutdown-delay" in arg)
    assert one_of_many["terminationGracePeriodSeconds"] > int(delay.removesuffix("s")) + 60


def test_sqlite_has_a_disk_and_one_pod_at_a_time() -> None:
    objects = rendered(storage="sqlite:////data/pizza/all.sqlite")
    assert objects["deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert objects["deployment"]["spec"]["replicas"] == 1
    mounts = {mount["name"]: mount["mountPath"] for mount in pod_of(objects)["containers"][0]["volumeMounts"]}
    assert mounts["data"] == "/data/pizza"
    assert "--storage=sqlite:////data/pizza/all.sqlite" in pod_of(objects)["containers"][0]["args"]
    assert pod_of(objects)["securityContext"]["fsGroup"] == pod_of(objects)["securityContext"]["runAsUser"]
    assert "disruption-budget" not in objects


def test_memory_has_no_disk() -> None:
    objects = rendered(storage="memory:")
    assert "volume-claim" not in objects
    # Two pods would have objects of their own, also while one takes the place of the other.
    assert objects["deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert "strategy" not in rendered(reviews)["deployment"]["spec"]
    assert {volume["name"] for volume in pod_of(objects)["volumes"]} == {"tls", "tmp"}


def test_several_pods_go_on_while_nodes_are_drained() -> None:
    objects = rendered(reviews, replicas=3)
    assert objects["deployment"]["spec"]["replicas"] == 3
    budget = objects["disruption-budget"]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == objects["deployment"]["spec"]["selector"]
    pod = pod_of(objects)
    spread = pod["topologySpreadConstraints"]
    # Well-known labels of nodes; and a cluster of one node or zone runs them, too.
    assert [each["topologyKey"] for each in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    assert {each["whenUnsatisfiable"] for each in spread} == {"ScheduleAnyway"}
    assert list(pod["affinity"]["podAntiAffinity"]) == ["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = objects["deployment"]["spec"]["template"]["metadata"]["labels"]
    assert all(each["labelSelector"]["matchLabels"].items() <= labels.items() for each in spread)
    assert objects["deployment"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


ETCD: dict[str, Any] = {"storage": "etcd:", "etcd_servers": "https://etcd-0.etcd:2379,https://10.0.0.7:2380"}


def test_pods_that_share_an_etcd() -> None:
    objects = rendered(replicas=3, **ETCD)
    assert "volume-claim" not in objects
    assert objects["deployment"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert objects["disruption-budget"]["spec"]["maxUnavailable"] == 1
    pod = pod_of(objects)
    (container,) = pod["containers"]
    flags = dict(arg.removeprefix("--").split("=", 1) for arg in container["args"][2:])
    assert flags["storage"] == "etcd:"
    assert flags["etcd-servers"] == ETCD["etcd_servers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    (mount,) = (mount for mount in container["volumeMounts"] if mount["name"] == "etcd")
    assert [flags[f"etcd-{name}file"] for name in ("ca", "cert", "key")] == [
        f"{mount['mountPath']}/{name}" for name in ("ca.crt", "tls.crt", "tls.key")
    ]
    # As the serving certificate's: for the group of the pod.
    assert volumes["etcd"]["secret"] == {"secretName": "restaurant-etcd", "defaultMode": 0o440}
    assert pod["terminationGracePeriodSeconds"] > int(flags["shutdown-delay-duration"].removesuffix("s")) + 60


def test_one_pod_on_etcd_is_replaced_without_a_gap_too() -> None:
    objects = rendered(**ETCD)
    assert objects["deployment"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert any("shutdown-delay" in arg for arg in pod_of(objects)["containers"][0]["args"])
    assert "disruption-budget" not in objects


def test_a_user_of_etcd_has_a_password_in_a_file() -> None:
    pod = pod_of(rendered(etcd_username="pizza", etcd_secret="made-elsewhere", **ETCD))
    args = [arg for arg in pod["containers"][0]["args"] if arg.startswith("--etcd-")]
    assert args[2:] == [
        "--etcd-cafile=/etc/extapi/etcd/ca.crt",
        "--etcd-username=pizza",
        "--etcd-password-file=/etc/extapi/etcd/password",
    ]
    assert {"secretName": "made-elsewhere", "defaultMode": 0o440} in [volume.get("secret") for volume in pod["volumes"]]


def test_an_etcd_without_tls_needs_no_secret() -> None:
    pod = pod_of(rendered(storage="etcd:", etcd_servers="http://127.0.0.1:2379"))
    assert {volume["name"] for volume in pod["volumes"]} == {"tls", "tmp"}
    assert not [arg for arg in pod["containers"][0]["args"] if arg.endswith(("crt", "key")) and "etcd" in arg]


def test_the_network_policy_lets_the_pod_reach_its_etcd() -> None:
    def last(servers: str) -> list[tuple[str, int]]:
        rules = rendered(storage="etcd:", etcd_servers=servers)["network-policy"]["spec"]["egress"]
        assert len(rules) == 2
        return [(port["protocol"], port["port"]) for port in rules[1]["ports"]]

    assert last(ETCD["etcd_servers"]) == [("TCP", 2379), ("TCP", 2380), ("UDP", 53), ("TCP", 53)]
    # Of an address nobody has to ask DNS; etcd's own port is the default.
    assert last("https://10.0.0.7,https://[fd00::1]:2379") == [("TCP", 2379)]


def test_the_network_of_the_node() -> None:
    objects = rendered(host_network=True, port=9443)
    pod = pod_of(objects)
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["containers"][0]["ports"] == [{"name": "https", "containerPort": 9443}]
    assert "--secure-port=9443" in pod["containers"][0]["args"]
    # The levels "restricted" and "baseline" refuse it.
    assert objects["namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    # Policies do not apply to it.
    assert "network-policy" not in objects
    several = rendered(reviews, host_network=True, replicas=2)["deployment"]["spec"]["strategy"]
    assert several["rollingUpdate"]["maxSurge"] == 0


def test_the_network_policy_is_there_for_those_who_ask() -> None:
    settings = make_settings(pizza, "some.module:api")
    files = render(settings, pizza)
    text = kustomization(settings, files, "x")
    assert "network-policy.yaml" not in yaml.safe_load(text)["resources"]
    assert rendered()["network-policy"]["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8443}]}]
