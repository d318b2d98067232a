"""The doctor names what is wrong: each failure produced on a real control plane of its own, all at once, then looked at once."""

from __future__ import annotations

import base64
import contextlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extapi.dev.kube import KubeClient, KubeError
from tests.certificates import SERVER, Issued, authority
from tests.docs.samples import ROOT, blocks
from tests.kubernetes import doctoring
from tests.kubernetes.ailing import NAMESPACE, Ailing, api_service, nobody, service
from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.kubernetes.doctoring import Examination
from tests.kubernetes.second import APISERVICES
from tests.kubernetes.test_crd_export import established
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
PORTS = [{"name": "https", "port": 443, "targetPort": 8443}]
REASONS = {
    "absent.example.com": "ServiceNotFound",
    "port.example.com": "ServicePortError",
    "slices.example.com": "EndpointsNotFound",
    "unready.example.com": "MissingEndpoints",
    "down.example.com": "FailedDiscoveryCheck",
    "bundle.example.com": "FailedDiscoveryCheck",
    "expired.example.com": "FailedDiscoveryCheck",
    "names.example.com": "FailedDiscoveryCheck",
    "leaf.example.com": "FailedDiscoveryCheck",
    "none.example.com": "FailedDiscoveryCheck",
    "hanging.example.com": "FailedDiscoveryCheck",
    "missing.example.com": "FailedDiscoveryCheck",
    "slow.example.com": "Passed",
    "clock.example.com": "Passed",
    "other.example.com": "Passed",
    "late.example.com": "Passed",
    "insecure.example.com": "Passed",
}
"""What kube-aggregator says of each group; PEM that is none it cannot even probe."""


@dataclass(frozen=True)
class Ward:
    """The control plane with everything that is wrong, and what the doctor said of it."""

    plane: ControlPlane
    text: str
    status: int
    examination: Examination
    ports: dict[str, int]
    ca: Issued
    stranger: Issued


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    directory = tmp_path_factory.mktemp("ward")
    # One authority for users and proxies: what should never be.
    flags = [f"--requestheader-client-ca-file={directory / 'plane' / 'certificates' / 'cluster-ca.crt'}"]
    ca, stranger = authority("doctor-ca"), authority("stranger-ca")
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(running(directory / "plane", "kube", flags=flags))
        client = plane.client
        _post(client, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        patients = _patients(ca)
        for each in patients:
            stack.enter_context(each.running(directory))
        ports = {each.group: each.port for each in patients} | {"down.example.com": stack.enter_context(nobody())}
        _services(client, ports)
        _register(client, ports, ca, stranger)
        _account(client)
        until(lambda: _judged(client), 60)
        _post(client, "/api/v1/namespaces", {"metadata": {"name": "stuck"}})
        client.delete("/api/v1/namespaces/stuck")
        until(lambda: "slices.example.com/v1" in _failure(client, "stuck"), 60)
        # It was well when kube-apiserver looked, and hangs now.
        next(each for each in patients if each.group == "late.example.com").held.set()
        text = doctoring.start(plane.kubeconfig, "--timeout=7")
        examination = doctoring.examine(plane.kubeconfig, "--timeout=7")
        status, printed = doctoring.finished(text)
        yield Ward(plane, printed, status, examination, ports, ca, stranger)


@pytest.fixture(scope="module")
def sick(ward: Ward) -> Examination:
    """Webhooks of one group with one thing wrong each, at the same servers, and what the doctor says of that group."""
    client, group = ward.plane.client, SICK
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")]
    conversion = {"conversionReviewVersions": ["v1"], "clientConfig": _config(ward, "down")}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "ailments", "singular": "ailment", "kind": "Ailment", "listKind": "AilmentList"},
        "versions": versions,
        "conversion": {"strategy": "Webhook", "webhook": conversion},
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    _post(client, path, {"metadata": {"name": f"ailments.{group}"}, "spec": spec})
    until(lambda: established(ward.plane, f"{path}/ailments.{group}"))
    ailment = {"apiVersion": f"{group}/v1", "kind": "Ailment", "metadata": {"name": "one"}}
    ailments = f"/apis/{group}/v1/namespaces/{NAMESPACE}/ailments"
    _post(client, ailments, ailment)
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": ["ailments"]}
    pods = {**rule, "apiGroups": ["", "coordination.k8s.io"], "resources": ["pods", "leases"]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
    ignored = {"rules": [rule], "failurePolicy": "Ignore"}
    parts: dict[str, dict[str, Any]] = {
        "bundle": {"rules": [rule], "timeoutSeconds": 30},
        "absent": ignored,
        "names": ignored,
        "expired": ignored,
        "port": ignored,
        "clock": {"rules": [{**rule, "resources": ["others"]}, pods], "namespaceSelector": here},
    }
    hooks = [
        {
            "name": f"{name}.{group}",
            "clientConfig": _config(ward, name),
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **part,
        }
        for name, part in parts.items()
    ]
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    _post(client, configurations, {"metadata": {"name": "sick"}, "webhooks": hooks})

    def asked() -> bool:
        with pytest.raises(KubeError, match="failed calling webhook"):
            client.request("POST", f"{ailments}?dryRun=All", {**ailment, "metadata": {"name": "two"}})
        return True

    until(asked)
    return doctoring.examine(ward.plane.kubeconfig, f"--group={group}")


SICK = "sick.example.com"


def _config(ward: Ward, name: str) -> dict[str, Any]:
    bundle = (ward.stranger if name == "bundle" else ward.ca).pem
    port = ward.ports.get(f"{name}.example.com", 443)
    service = {"namespace": NAMESPACE, "name": name, "port": port, "path": "/x"}
    return {"service": service, "caBundle": base64.b64encode(bundle).decode()}


@pytest.mark.parametrize(
    ("check", "severity", "subject", "words"),
    [
        (
            "webhook.call",
            "error",
            "bundle",
            ["unknown authority", "set webhooks[0].clientConfig.caBundle of Validating"],
        ),
        ("webhook.timeout", "warning", "bundle", ["is 30", "webhooks[0].timeoutSeconds of Validating"]),
        ("certificate.chain", "error", "bundle", ["does not vouch", "set webhooks[0].clientConfig.caBundle"]),
        ("certificate.names", "error", "names", ["expects names.doctor.svc"]),
        ("certificate.dates", "error", "expired", ["it has expired"]),
        (
            "webhook.deadlock",
            "error",
            "clock",
            ["CREATE pods, UPDATE leases in its own namespace doctor", "webhooks[5]."],
        ),
        ("webhook.deadlock", "ok", "bundle", ["nothing that its server needs"]),
        (
            "webhook.call",
            "error",
            "",
            ["list ailments.sick.example.com in v2", "connection refused", "nothing answers"],
        ),
        ("service.exists", "error", "absent", ["correct webhooks[1].clientConfig.service of Validating"]),
        (
            "service.port",
            "error",
            "port",
            ["the webhooks name port 443; the Service has 6443", "webhooks[4].clientConfig"],
        ),
    ],
)
def test_webhooks(sick: Examination, check: str, severity: str, subject: str, words: list[str]) -> None:
    about = f"webhook {subject}.{SICK} of ValidatingWebhookConfiguration sick"
    if not subject:
        about = f"conversion of CustomResourceDefinition ailments.{SICK}"
    elif check.startswith("service."):
        about = f"Service {NAMESPACE}/{subject}"
    finding = sick.finding(check, about)
    assert finding["severity"] == severity
    told = f"{finding['saw']} {finding['wrong']} {finding['do']}"
    assert [each for each in words if each not in told] == [], told


@pytest.fixture
def kubectl_of(ward: Ward, tmp_path: Path) -> Kubectl:
    return Kubectl(ward.plane.kubeconfig, tmp_path)


def _patients(ca: Issued) -> list[Ailing]:
    def leaf(group: str, **wrong: Any) -> Issued:
        host = f"{group.partition('.')[0]}.{NAMESPACE}.svc"
        return ca.leaf(group, **{"san": [host], "eku": SERVER, **wrong})

    names = ("bundle", "none", "leaf", "hanging", "missing", "slow", "clock", "other", "late", "insecure", "pem")
    patients = {name: Ailing(f"{name}.example.com", leaf(f"{name}.example.com")) for name in names}
    patients["hanging"].held.set()
    patients["slow"].slow = 3.0
    patients["clock"].ahead = 600.0
    patients["other"].claims = "another.example.com"
    expired = Ailing("expired.example.com", leaf("expired.example.com", expired=True))
    names_another = Ailing(
        "names.example.com", leaf("names.example.com", san=["localhost", "names.doctor.example.com"])
    )
    # It serves another group than the one that is registered for it.
    patients["missing"] = Ailing("elsewhere.example.com", leaf("missing.example.com"))
    return [*patients.values(), expired, names_another]


def _services(client: KubeClient, ports: dict[str, int]) -> None:
    """Of ClusterIP where kube-aggregator itself is to see the failure; they lead nowhere."""
    for group in ports:
        _post(client, SERVICES, service(group.partition(".")[0].replace("elsewhere", "missing")))
    _post(client, SERVICES, service("port", ports=[{"port": 6443}]))
    _post(client, SERVICES, service("slices", ports=PORTS, selector={"app": "nobody"}))
    _post(client, SERVICES, service("unready", ports=PORTS, selector={"app": "unready"}))
    endpoint = {"addresses": ["10.1.2.3"], "conditions": {"ready": False}}
    unready = {
        "metadata": {"name": "unready-1", "labels": {"kubernetes.io/service-name": "unready"}},
        "addressType": "IPv4",
        "endpoints": [endpoint],
        "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}],
    }
    _post(client, SLICES, unready)


def _register(client: KubeClient, ports: dict[str, int], ca: Issued, stranger: Issued) -> None:
    own = base64.b64encode(ca.pem).decode()
    bundles = {
        "bundle.example.com": base64.b64encode(stranger.pem).decode(),
        "leaf.example.com": base64.b64encode(stranger.leaf("leaf", eku=SERVER).pem).decode(),
        "pem.example.com": base64.b64encode(b"-----BEGIN NONSENSE-----").decode(),
    }
    for group in [*REASONS, "pem.example.com"]:
        name = group.partition(".")[0]
        port = ports.get("elsewhere.example.com" if name == "missing" else group, 443)
        trust: dict[str, Any] = {"caBundle": bundles.get(group, own)}
        if name == "none":
            trust = {}
        if name == "insecure":
            trust = {"insecureSkipTLSVerify": True}
        _post(client, APISERVICES, api_service(group, name, port, **trust))


def _account(client: KubeClient) -> None:
    """Accounts without any rights: of a pod that nobody runs, and of a Deployment whose pods nobody makes."""
    _post(client, f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "bare"}})
    container = {"name": "server", "image": "example.com/server"}
    _post(client, f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "behind"}})
    pod = {"serviceAccountName": "behind", "containers": [container]}
    _post(
        client,
        f"/api/v1/namespaces/{NAMESPACE}/pods",
        {"metadata": {"name": "unready", "labels": {"app": "unready"}}, "spec": pod},
    )
    template = {
        "metadata": {"labels": {"app": "nobody"}},
        "spec": {"serviceAccountName": "bare", "containers": [container]},
    }
    spec = {"selector": {"matchLabels": {"app": "nobody"}}, "template": template}
    _post(client, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", {"metadata": {"name": "server"}, "spec": spec})


def _post(client: KubeClient, path: str, obj: dict[str, Any]) -> None:
    client.request("POST", path, obj)


def _judged(client: KubeClient) -> bool:
    found = {}
    for each in client.get(APISERVICES)["items"]:
        for condition in each.get("status", {}).get("conditions", ()):
            found[each["metadata"]["name"].removeprefix("v1.")] = condition["reason"]
    assert {group: found.get(group) for group in REASONS} == REASONS
    return True


def _failure(client: KubeClient, namespace: str) -> str:
    conditions = client.get(f"/api/v1/namespaces/{namespace}")["status"].get("conditions", ())
    return next((each["message"] for each in conditions if each["type"] == "NamespaceDeletionDiscoveryFailure"), "")


def test_it_ends_with_1_and_counts_what_it_found(ward: Ward) -> None:
    assert (ward.status, ward.examination.status) == (1, 1)
    lines = ward.text.splitlines()
    assert lines[0] == ward.examination.report["server"]
    first = [line.split(" ")[0] for line in lines]
    severities = ("error", "warning", "unknown", "ok")
    # There are several of each.
    names = {"error": "errors", "warning": "warnings"}
    assert lines[-1] == ", ".join(f"{first.count(name)} {names.get(name, name)}" for name in severities)
    found = [each["severity"] for each in ward.examination.report["findings"]]
    assert ward.examination.report["counts"] == {name: found.count(name) for name in severities}


def expect(ward: Ward, check: str, severity: str, subject: str, *words: str) -> None:
    """A finding that says these words, in the text as well."""
    finding = ward.examination.finding(check, subject)
    assert finding["severity"] == severity
    told = f"{finding['saw']} {finding['wrong']} {finding['do']}"
    for each in words:
        assert each in told
    printed = " ".join(ward.text.split())
    assert finding["wrong"] in printed
    assert finding["do"] in printed


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("absent", ['service/absent in "doctor" is not present', "create the Service absent in the namespace doctor"]),
        ("port", ['service/port in "doctor" is not listening on port 443', "has no port 443"]),
        ("slices", ['cannot find endpointslices for service/slices in "doctor"', "service-name=slices"]),
        ("unready", ['have no addresses with port name "https"', "no pod behind the Service is ready"]),
        ("down", ["connect: connection refused", "nothing listens at that address"]),
        ("bundle", ["x509: certificate signed by unknown authority", "does not vouch", "kubectl patch apiservice"]),
        ("expired", ["x509: certificate has expired", "has expired", "reissue it"]),
        ("names", ["x509: certificate is valid for localhost", "is not for names.doctor.svc"]),
        ("hanging", ["did not answer discovery within 5 seconds"]),
        ("missing", [": 404", "does not serve this group and version", "delete the APIService v1.missing.example.com"]),
    ],
)
def test_what_kube_apiserver_says_is_quoted_and_explained(ward: Ward, group: str, words: list[str]) -> None:
    name = f"{group}.example.com"
    expect(ward, "apiservice.available", "error", f"APIService v1.{name}", f"{REASONS[name]}: ", *words)


def test_what_is_well_is_not_named(ward: Ward) -> None:
    named = {subject for each in ward.examination.wrong() for subject in each["subjects"]}
    assert "Service doctor/late" not in named
    assert ward.examination.finding("apiservice.available", "APIService v1.clock.example.com")["severity"] == "ok"
    for check in ("certificate.chain", "certificate.names", "certificate.dates", "certificate.bundle"):
        assert ward.examination.finding(check, "APIService v1.clock.example.com")["severity"] == "ok"


def test_services(ward: Ward) -> None:
    expect(ward, "service.exists", "error", "Service doctor/absent", 'services "absent" not found')
    expect(ward, "service.port", "error", "Service doctor/port", "name port 443; the Service has 6443")
    expect(ward, "service.endpoints", "error", "Service doctor/slices", "no EndpointSlice")
    expect(ward, "service.selector", "error", "Service doctor/slices", "labels app=nobody", "Deployment server would")
    expect(ward, "service.endpoints", "error", "Service doctor/unready", "1 endpoints", "none is ready")


def test_certificates(ward: Ward) -> None:
    for group, check, words in (
        ("bundle", "certificate.chain", ["presents CN=bundle.example.com, issued by CN=doctor-ca", "CN=stranger-ca"]),
        ("leaf", "certificate.chain", ["holds no authority"]),
        ("expired", "certificate.dates", ["it has expired", "CN=expired.example.com"]),
        ("names", "certificate.names", ["for localhost, names.doctor.example.com", "expects names.doctor.svc"]),
        ("none", "certificate.bundle", ["no caBundle", "set spec.caBundle"]),
        ("pem", "certificate.bundle", ["24 bytes that are not PEM certificates"]),
    ):
        expect(ward, check, "error", f"APIService v1.{group}.example.com", *words)
    expect(ward, "certificate.bundle", "warning", "APIService v1.insecure.example.com", "insecureSkipTLSVerify is true")
    address = f"localhost:{ward.ports['down.example.com']}: Connection refused"
    expect(ward, "certificate.chain", "unknown", "APIService v1.down.example.com", "not reachable from here", address)


def test_the_account_of_the_deployment_behind_a_service_lacks_its_bindings(ward: Ward) -> None:
    subject = "account doctor:bare"
    binding = "kubectl create clusterrolebinding doctor:bare:auth-delegator --clusterrole=system:auth-delegator --serviceaccount=doctor:bare"
    expect(ward, "rights.tokenreviews", "error", subject, "may not create tokenreviews.authentication.k8s.io", binding)
    expect(ward, "rights.subjectaccessreviews", "error", subject, "subjectaccessreviews.authorization.k8s.io", binding)
    reader = "kubectl create rolebinding doctor:bare:authentication-reader -n kube-system"
    expect(ward, "rights.configmap", "error", subject, "may not get, list, watch configmaps", reader)
    expect(ward, "rights.namespaces", "unknown", subject, "may not get, list, watch namespaces")
    webhooks = "may not list, watch mutatingwebhookconfigurations.admissionregistration.k8s.io, validatingwebhook"
    expect(ward, "rights.webhooks", "unknown", subject, webhooks)
    policies = (
        "may not list, watch mutatingadmissionpolicies.admissionregistration.k8s.io, mutatingadmissionpolicybindin"
    )
    expect(ward, "rights.policies", "unknown", subject, policies)
    assert ward.examination.finding("rights.account", subject)["severity"] == "ok"


def test_the_bindings_that_it_names_are_those_that_are_missing(ward: Ward, kubectl_of: Kubectl) -> None:
    """Typed as they stand there; then nothing is wrong with the account that the operator named."""
    named = doctoring.examine(ward.plane.kubeconfig, "--group=clock.example.com", "--service-account=doctor:bare")
    commands = {each["do"] for each in named.wrong() if each["check"].startswith("rights.")}
    assert len(commands) == 5
    for each in commands:
        for command in each.split(" && "):
            kubectl_of(*shlex.split(command)[1:])
    again = doctoring.examine(ward.plane.kubeconfig, "--group=clock.example.com", "--service-account=doctor:bare")
    rights = {
        each["check"]: each["severity"] for each in again.report["findings"] if each["check"].startswith("rights.")
    }
    assert rights == dict.fromkeys(
        [
            "rights.account",
            "rights.tokenreviews",
            "rights.subjectaccessreviews",
            "rights.configmap",
            "rights.namespaces",
            "rights.webhooks",
            "rights.policies",
        ],
        "ok",
    )


def test_the_account_of_a_pod_behind_a_service(ward: Ward) -> None:
    selector = ward.examination.finding("service.selector", "Service doctor/unready")
    assert (selector["severity"], selector["saw"]) == ("ok", "pods that it selects: 1")
    expect(ward, "rights.tokenreviews", "error", "account doctor:behind", "--serviceaccount=doctor:behind")


def test_the_page_shows_what_it_prints(ward: Ward) -> None:
    page = ROOT / "docs" / "howto" / "doctor.md"
    (shown,) = [each.text for each in blocks(page) if each.text.startswith("error ")]
    (printed,) = [
        each for each in ward.text.split("\n\n") if each.startswith("error   apiservice.available  APIService v1.down.")
    ]
    assert _without_numbers(printed) == _without_numbers(shown)


def _without_numbers(text: str) -> str:
    """Ports and ages differ, and with them where lines end."""
    return re.sub(r"\d{4,5}|\d+ (second|minute)s?", "N", " ".join(text.split()))


def test_one_authority_for_users_and_proxies(ward: Ward) -> None:
    subject = "ConfigMap kube-system/extension-apiserver-authentication"
    expect(ward, "authentication.same-ca", "warning", subject, "CN=extapi-dev-cluster-ca", "claim to be anybody")
    assert ward.examination.finding("authentication.proxies", subject)["severity"] == "ok"


def test_clocks(ward: Ward) -> None:
    expect(ward, "clock.server", "error", "Service doctor/clock", "10 minutes ahead of kube-apiserver's")
    assert ward.examination.finding("clock.here", "kube-apiserver")["severity"] == "ok"


def test_discovery(ward: Ward) -> None:
    expect(ward, "discovery.answer", "error", "APIService v1.late.example.com", "within 5 seconds")
    expect(
        ward, "discovery.answer", "warning", "APIService v1.slow.example.com", "an answer after 3.", "gives up after 5"
    )
    expect(ward, "discovery.answer", "error", "APIService v1.other.example.com", "another.example.com/v1")
    expect(ward, "discovery.answer", "unknown", "APIService v1.down.example.com", "see apiservice.available")
    expect(ward, "discovery.aggregated", "warning", "APIService v1.down.example.com", "freshness Stale")


def test_openapi(ward: Ward) -> None:
    """These servers have none."""
    expect(ward, "openapi.v3", "warning", "APIService v1.clock.example.com", "does not list apis/clock.example.com/v1")
    expect(ward, "openapi.v2", "warning", "APIService v1.clock.example.com", "/apis/clock.example.com/v1/")


def test_a_namespace_that_waits(ward: Ward) -> None:
    said = "NamespaceDeletionDiscoveryFailure: Discovery failed for some groups"
    command = "kubectl delete apiservice v1.absent.example.com"
    expect(ward, "namespaces.terminating", "error", "Namespace stuck", "Terminating for", said, command)


def test_an_address_that_the_operator_names(ward: Ward) -> None:
    """As through a port-forward: what the Service itself leads to, cannot be reached from here."""
    port = ward.ports["names.example.com"]
    named = doctoring.examine(ward.plane.kubeconfig, "--group=slices.example.com", f"--connect=127.0.0.1:{port}")
    finding = named.finding("certificate.names", "APIService v1.slices.example.com")
    assert finding["severity"] == "error"
    assert "expects slices.doctor.svc" in finding["wrong"]
    both = doctoring.start(ward.plane.kubeconfig, "--connect=127.0.0.1:1")
    _, errors = both.communicate(timeout=60)
    assert both.returncode == 2
    assert "--connect leads to one server" in errors
