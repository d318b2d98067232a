"""``deploy/`` in a cluster: applied to the real kube-apiserver, its pod run by the rights and the files that it brings.

A control plane with the controllers that make pods of Deployments; the one node is played (``pod``).
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from extapi.manifests.command import manifests
from tests.docs.samples import ROOT, blocks, commands, reader
from tests.kubernetes import imagebuild, pod as pods, podnetwork
from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.kubernetes.pod import Pod
from tests.kubernetes.podnetwork import PodNetwork
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

NAMESPACE = "restaurant"
GROUP = "restaurant.programming-kubernetes.info"
CONTROLLERS = ["deployment-controller", "replicaset-controller", "endpointslice-controller"]


@dataclass(frozen=True)
class Restaurant:
    """The pizza API in its cluster, as the README has brought it there."""

    control_plane: ControlPlane
    kubectl: Kubectl
    pod: Pod
    directory: Path

    def available(self) -> bool:
        """Whether kube-apiserver serves both versions."""
        read = 'jsonpath={.items[*].status.conditions[?(@.type=="Available")].status}'
        return self.kubectl("get", "apiservice", "-l", f"app.kubernetes.io/name={NAMESPACE}", "-o", read) == "True True"


@pytest.fixture(scope="module")
def network() -> Iterator[PodNetwork]:
    """The pod's."""
    with podnetwork.pod_network() as made:
        yield made


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One that asks the pods behind a Service itself, since there is nobody who would forward Services' addresses."""
    directory = tmp_path_factory.mktemp("cluster")
    with running(directory, "kube", flags=["--enable-aggregator-routing=true"], controllers=CONTROLLERS) as started:
        yield started


@pytest.fixture(scope="module")
def restaurant(
    plane: ControlPlane, network: PodNetwork, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Restaurant]:
    """The README's section, typed word for word; where it has applied the manifests, a node takes up the work."""
    directory = tmp_path_factory.mktemp("checkout")
    (directory / "docs").symlink_to(ROOT / "docs")
    shutil.copytree(ROOT / "deploy", directory / "deploy", ignore=shutil.ignore_patterns("certs"))
    kubectl = Kubectl(plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))
    image = imagebuild.built()
    found: list[Pod] = []
    with contextlib.ExitStack() as stack:
        kubernetes = plane.client.get("/api/v1/namespaces/default/services/kubernetes")["spec"]
        port = kubernetes["ports"][0]["port"]
        stack.enter_context(podnetwork.service(network, kubernetes["clusterIP"], port, plane.cluster.port))
        someone = stack.enter_context(reader(directory))
        someone.environment["KUBECONFIG"] = str(plane.kubeconfig)
        for command, expected in _section():
            someone._type("", command, expected)
            if command == "kubectl apply -k deploy":
                found.append(pods.scheduled(plane, network, directory / "node", NAMESPACE, image))
                stack.callback(found[0].kill)
                found[0].start()
                found[0].wait_ready()
        yield Restaurant(plane, kubectl, found[0], directory)


def _section() -> Iterator[tuple[str, str]]:
    """What the README types in a cluster, and what it says is printed."""
    for block in blocks(ROOT / "README.md"):
        if block.for_cluster:
            yield from commands(block)


def test_the_readme_leads_to_a_served_api(restaurant: Restaurant) -> None:
    """Of the section itself the fixture has seen that it prints what it says."""
    assert restaurant.available()
    assert "margherita" in restaurant.kubectl("get", "pizzas")
    bundle = (restaurant.directory / "deploy" / "certs" / "ca.crt").read_bytes()
    for version in ("v1alpha1", "v1beta1"):
        found = restaurant.kubectl("get", "apiservice", f"{version}.{GROUP}", "-o", "json")
        spec = json.loads(found)["spec"]
        assert base64.b64decode(spec["caBundle"]) == bundle
        assert "insecureSkipTLSVerify" not in spec


def test_what_was_patched_stays_when_the_manifests_are_applied_again(restaurant: Restaurant) -> None:
    """Nothing changes, caBundle neither; the fields are looked at strictly, by kube-apiserver."""

    def secret() -> str:
        path = "jsonpath={.metadata.resourceVersion}"
        return restaurant.kubectl("-n", NAMESPACE, "get", "secret", f"{NAMESPACE}-tls", "-o", path)

    before = secret()
    again = restaurant.kubectl("apply", "-k", str(restaurant.directory / "deploy"), "--validate=strict")
    # Of the Secret kubectl thinks that it differs: kustomize breaks base64 into lines.
    assert [line for line in again.splitlines() if not line.endswith(" unchanged")] == [
        f"secret/{NAMESPACE}-tls configured"
    ]
    assert secret() == before
    deploy = str(restaurant.directory / "deploy")
    kubeconfig, server = str(restaurant.kubectl.kubeconfig), restaurant.control_plane.cluster
    patched = _manifests("--patch-ca-bundle", "--dir", deploy, "--kubeconfig", kubeconfig)
    assert patched.stdout.count(" unchanged\n") == 2
    assert patched.stderr == f"in the cluster at https://127.0.0.1:{server.port}:\n"
    assert restaurant.available()


def test_without_an_authority_the_server_is_not_believed(restaurant: Restaurant) -> None:
    """Nor is it when somebody has told kube-apiserver not to look: the command takes that back."""
    kubectl, name = restaurant.kubectl, f"v1beta1.{GROUP}"

    def change(operation: str, field: str, value: object = None) -> None:
        patch = [{"op": operation, "path": f"/spec/{field}", "value": value}]
        kubectl("patch", "apiservice", name, "--type=json", "-p", json.dumps(patch))

    def message() -> str:
        return kubectl("get", "apiservice", name, "-o", 'jsonpath={.status.conditions[?(@.type=="Available")].message}')

    change("remove", "caBundle")
    until(lambda: "x509: certificate signed by unknown authority" in message(), 60)
    change("add", "insecureSkipTLSVerify", value=True)
    deploy, kubeconfig = str(restaurant.directory / "deploy"), str(kubectl.kubeconfig)
    _manifests("--patch-ca-bundle", "--dir", deploy, "--kubeconfig", kubeconfig)
    spec = json.loads(kubectl("get", "apiservice", name, "-o", "json"))["spec"]
    assert "insecureSkipTLSVerify" not in spec
    until(restaurant.available, 60)


def test_the_pod_is_what_pod_security_admits(restaurant: Restaurant) -> None:
    """The controllers have made one already; the namespace refuses others."""
    deployment = json.loads(restaurant.kubectl("-n", NAMESPACE, "get", "deployment", NAMESPACE, "-o", "json"))
    spec = deployment["spec"]["template"]["spec"]

    def admitted(spec: Any) -> str:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one-more"}, "spec": spec}
        dry = ("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-")
        done = restaurant.kubectl.run(*dry, stdin=json.dumps(pod))
        return done.stderr or done.stdout

    assert admitted(spec) == "pod/one-more created (server dry run)\n"
    (container,) = spec["containers"]
    loose = {**container, "securityContext": {**container["securityContext"], "allowPrivilegeEscalation": True}}
    assert 'violates PodSecurity "restricted:latest"' in admitted({**spec, "containers": [loose]})


def test_every_way_to_render_is_taken_strictly(restaurant: Restaurant, tmp_path: Path) -> None:
    """What only some flags bring, and the policy that is off by default; nothing is kept."""
    for target, *flags in (
        ("extapi.pizza:api", "--host-network", "--storage=memory:"),
        ("tests.unit.manifests.apis:reviews", "--replicas=3"),
        ("tests.unit.manifests.apis:reviews", "--replicas=2", "--host-network"),
        ("tests.unit.manifests.apis:library",),
        ("extapi.pizza:api", "--storage=etcd:", "--etcd-servers=https://etcd:2379", "--replicas=3"),
    ):
        directory = tmp_path / f"{target.rpartition(':')[2]}{''.join(flags)}"
        _manifests("--namespace", NAMESPACE, "--dir", str(directory), *flags, target=target)
        shutil.copytree(restaurant.directory / "deploy" / "certs", directory / "certs")
        shutil.copytree(restaurant.directory / "deploy" / "certs", directory / "etcd")
        kustomization = directory / "kustomization.yaml"
        if (directory / "network-policy.yaml").exists():
            kustomization.write_text(
                kustomization.read_text().replace("resources:", "resources:\n  - network-policy.yaml")
            )
        dry = restaurant.kubectl("apply", "-k", str(directory), "--dry-run=server", "--validate=strict")
        made = {line.partition("/")[0] for line in dry.splitlines()}
        assert ("networkpolicy.networking.k8s.io" in made) == ("--host-network" not in flags)
        assert ("poddisruptionbudget.policy" in made) == any(flag.startswith("--replicas") for flag in flags)
    deployment = directory / "deployment.yaml"
    deployment.write_text(deployment.read_text().replace("replicas:", "replicaz:"))
    wrong = restaurant.kubectl.run("apply", "-k", str(directory), "--dry-run=server", "--validate=strict")
    assert 'unknown field "spec.replicaz"' in wrong.stderr


def test_the_server_may_nothing_but_what_it_needs(restaurant: Restaurant) -> None:
    """Beside what every service account may."""

    def may(account: str, namespace: str) -> set[tuple[str, ...]]:
        who = f"--as=system:serviceaccount:{NAMESPACE}:{account}"
        rows = restaurant.kubectl("-n", namespace, "auth", "can-i", "--list", who, "--no-headers").splitlines()
        return {tuple(" ".join(row.split()).split(" ", 1)) for row in rows}

    assert may(NAMESPACE, "default") - may("default", "default") == {
        ("tokenreviews.authentication.k8s.io", "[] [] [create]"),
        ("subjectaccessreviews.authorization.k8s.io", "[] [] [create]"),
        ("namespaces", "[] [] [get list watch]"),
        ("mutatingwebhookconfigurations.admissionregistration.k8s.io", "[] [] [get list watch]"),
        ("validatingwebhookconfigurations.admissionregistration.k8s.io", "[] [] [get list watch]"),
        ("mutatingadmissionpolicies.admissionregistration.k8s.io", "[] [] [get list watch]"),
        ("mutatingadmissionpolicybindings.admissionregistration.k8s.io", "[] [] [get list watch]"),
        ("validatingadmissionpolicies.admissionregistration.k8s.io", "[] [] [get list watch]"),
        ("validatingadmissionpolicybindings.admissionregistration.k8s.io", "[] [] [get list watch]"),
    }
    assert may(NAMESPACE, "kube-system") - may(NAMESPACE, "default") == {
        ("configmaps", "[] [extension-apiserver-authentication] [get list watch]")
    }


def test_users_have_the_rights_of_their_roles(restaurant: Restaurant) -> None:
    """The roles of the manifests are a part of the cluster's view, edit and admin."""
    kubectl = restaurant.kubectl
    for role in ("view", "edit", "admin"):
        kubectl("create", "rolebinding", f"deploy-{role}", f"--clusterrole={role}", f"--user=deploy-{role}")

    def can(user: str, verb: str, resource: str) -> bool:
        return kubectl.run("auth", "can-i", verb, f"{resource}.{GROUP}", f"--as=deploy-{user}").stdout == "yes\n"

    until(lambda: all(can(role, "list", "pizzas") for role in ("view", "edit", "admin")), 30)
    assert [can(role, "create", "pizzas") for role in ("view", "edit", "admin")] == [False, True, True]
    assert [can(role, "deletecollection", "pizzas") for role in ("view", "edit", "admin")] == [False, True, True]
    assert not can("nobody", "get", "pizzas")
    made = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "Pizza",
        "metadata": {"name": "plain"},
        "spec": {"toppings": [{"name": "tomato"}]},
    }
    assert kubectl("create", "-f", "-", "--as=deploy-edit", stdin=json.dumps(made)).endswith("/plain created\n")
    assert "Forbidden" in kubectl.run("delete", "pizza", "plain", "--as=deploy-view").stderr
    kubectl("delete", "pizza", "plain", "--as=deploy-admin")


def test_the_container_is_confined_as_the_pod_says(restaurant: Restaurant) -> None:
    """That the server can be so is what the other tests show; here, that it is."""
    assert restaurant.pod.running is not None
    process = Path("/proc") / str(restaurant.pod.running.pid)
    status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
    assert status["Uid"].split() == ["65532"] * 4
    assert status["Gid"].split() == ["65532"] * 4
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {status[each] for each in ("CapBnd", "CapEff", "CapPrm", "CapInh")} == {"0" * 16}
    mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
    writable = {mount[4] for mount in mounts if mount[5].startswith("rw")}
    assert {each for each in writable if not each.startswith(("/proc", "/dev"))} == {"/tmp", "/var/lib/restaurant"}
    groups = dict(line.split(":")[1:] for line in (process / "cgroup").read_text().splitlines())
    # Version 1 of control groups has one tree for memory, version 2 one for everything.
    limit = f"memory{groups['memory']}/memory.limit_in_bytes" if "memory" in groups else f"{groups['']}/memory.max"
    assert Path("/sys/fs/cgroup/" + limit).read_text() == f"{512 << 20}\n"


def test_an_update_ends_the_old_pod_before_the_new_one_starts(restaurant: Restaurant) -> None:
    """Only one process can use the SQLite file. It ends in good time, and what it has stored is there for the next one."""
    kubectl, pod, client = restaurant.kubectl, restaurant.pod, restaurant.control_plane.client
    kubectl("-n", NAMESPACE, "rollout", "restart", "deployment", NAMESPACE)
    until(lambda: "deletionTimestamp" in client.get(pod.path)["metadata"], 30)
    (alone,) = client.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    assert alone["metadata"]["uid"] == pod.obj["metadata"]["uid"]
    assert pod.terminate() == 0
    pod.succeed()
    assert pod.obj["metadata"]["uid"] != alone["metadata"]["uid"]
    pod.start()
    pod.wait_ready()
    kubectl("-n", NAMESPACE, "rollout", "status", "deployment", NAMESPACE, "--timeout=60s")
    until(restaurant.available, 60)
    assert kubectl("get", "pizzas", "-o", "name") == f"pizza.{GROUP}/margherita\n"


def test_a_right_that_is_missing_is_named_with_what_to_apply(restaurant: Restaurant) -> None:
    """A pod that lacks a right says so in its log; once it has it, it goes on by itself. What is stored stays."""
    kubectl, pod = restaurant.kubectl, restaurant.pod
    deploy = str(restaurant.directory / "deploy")
    account = f"--serviceaccount={NAMESPACE}:{NAMESPACE}"
    kubectl("-n", "kube-system", "delete", "rolebinding", f"{NAMESPACE}:authentication-reader")
    kubectl("delete", "clusterrolebinding", f"{NAMESPACE}:auth-delegator", f"{NAMESPACE}:server")
    pod.report(ready=False)
    # Without the first one it cannot know whom to believe, and does not start.
    until(
        lambda: (
            "no"
            in kubectl.run(
                "-n", "kube-system", "auth", "can-i", "get", "cm", f"--as=system:serviceaccount:{NAMESPACE}:{NAMESPACE}"
            ).stdout
        )
    )
    pod.start()
    until(lambda: pod.ended() is not None, 60)
    assert pod.ended() == 1
    last = pod.said().splitlines()[-1]
    assert last.startswith("Error: unable to load configmap kube-system/extension-apiserver-authentication: ")
    assert "--role=extension-apiserver-authentication-reader" in last
    assert account in last
    kubectl("apply", "-f", f"{deploy}/authentication-reader.yaml")
    # Without the others it runs, and is not ready.
    pod.start()
    until(lambda: pod.probe("livenessProbe"), 60)
    assert not pod.probe("readinessProbe")
    namespaces = _advice(pod, "namespaces")
    assert "--verb=get,list,watch --resource=namespaces" in namespaces
    assert namespaces.endswith(account)
    pod.report(ready=True)  # so that kube-apiserver asks it, and it kube-apiserver
    delegator = _advice(pod, "subjectaccessreviews")
    assert "--clusterrole=system:auth-delegator" in delegator
    assert delegator.endswith(account)
    kubectl("apply", "-k", deploy)
    pod.wait_ready()
    until(restaurant.available, 60)
    until(lambda: kubectl("get", "pizzas", "-o", "name") == f"pizza.{GROUP}/margherita\n", 30)


def _advice(pod: Pod, resource: str) -> str:
    """What the log says about a refusal that names ``resource``."""

    def found() -> str:
        lines = [json.loads(line) for line in pod.said().splitlines() if line.startswith("{")]
        missing = [line for line in lines if line["event"] == "a right is missing in the cluster"]
        return next((str(line["usually_fixed_by"]) for line in missing if f'"{resource}"' in line["reason"]), "")

    return until(found, 30)


def _manifests(*arguments: str, target: str = "extapi.pizza:api") -> Result:
    """``extapi manifests``, as the one who typed the README."""
    done = CliRunner().invoke(manifests, [target, *arguments])
    assert done.exit_code == 0, done.output
    return done
