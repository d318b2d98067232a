"""The APIServices: the priorities of versions, and where the certificate comes from."""

from __future__ import annotations

import yaml

from extapi.manifests.files import kustomization, render
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from tests.unit.manifests.apis import library
from tests.unit.manifests.rendering import pod_of, rendered


def test_versions_have_priorities_in_their_order() -> None:
    """A stable version before a beta one before an alpha one: how Kubernetes orders versions."""
    objects = rendered(library)
    specs = {name: obj["spec"] for name, obj in objects.items() if name.startswith("apiservice-")}
    group = "library.example.com"
    order = sorted(
        (spec for spec in specs.values() if spec["group"] == group), key=lambda spec: -int(spec["versionPriority"])
    )
    assert [spec["version"] for spec in order] == ["v1", "v2beta1", "v1alpha1"]
    assert len({spec["versionPriority"] for spec in order}) == 3
    # Limits of kube-aggregator's validation.
    assert all(
        1 <= spec["versionPriority"] <= 1000 and 1 <= spec["groupPriorityMinimum"] <= 20000 for spec in specs.values()
    )
    assert f"apiservice-v1.{group}" in objects
    assert "apiservice-v1.archive.example.com" in objects


def test_cert_manager_issues_and_injects() -> None:
    """Issuers and Certificates as cert-manager's documentation has them: a CA issuer, started by a self-signed one."""
    objects = rendered(cert_manager=True, name="shop", namespace="mall")
    authority, serving = objects["certificate-ca"]["spec"], objects["certificate-tls"]["spec"]
    assert objects["issuer-selfsigned"]["spec"] == {"selfSigned": {}}
    assert authority["isCA"] is True
    assert authority["issuerRef"]["name"] == objects["issuer-selfsigned"]["metadata"]["name"]
    # cert-manager makes a new key by default (since 1.18); then what the old one has signed is believed no more.
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert objects["issuer-ca"]["spec"] == {"ca": {"secretName": authority["secretName"]}}
    assert serving["issuerRef"]["name"] == objects["issuer-ca"]["metadata"]["name"]
    assert "shop.mall.svc" in serving["dnsNames"]
    assert "server auth" in serving["usages"]  # by default it could only sign and encrypt
    assert authority["duration"] == "87600h"  # by default 90 days, and caBundle has to follow each time
    assert serving["secretName"] == pod_of(objects)["volumes"][0]["secret"]["secretName"]
    wanted = f"mall/{objects['certificate-tls']['metadata']['name']}"
    for version in ("v1beta1", "v1alpha1"):
        annotations = objects[f"apiservice-{version}"]["metadata"]["annotations"]
        assert annotations == {"cert-manager.io/inject-ca-from": wanted}
    settings = make_settings(pizza, "some.module:api", cert_manager=True)
    assert "secretGenerator" not in yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))


def test_certificates_are_always_looked_at() -> None:
    for objects in (rendered(), rendered(cert_manager=True), rendered(host_network=True)):
        for name, obj in objects.items():
            if name.startswith("apiservice-"):
                assert "insecureSkipTLSVerify" not in obj["spec"]
                assert "caBundle" not in obj["spec"]
