"""The files together: every reference leads to an object, and no file holds a secret."""

from __future__ import annotations

from typing import Any

import yaml

from extapi.manifests.files import kustomization, render, stream
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from tests.unit.manifests.rendering import pod_of, rendered


def test_nothing_has_two_names_for_one_thing() -> None:
    """Each reference leads to an object that is there."""
    objects = rendered(name="shop", namespace="mall")
    account = objects["service-account"]["metadata"]
    assert (
        (account["name"], account["namespace"])
        == ("shop", "mall")
        == ("shop", objects["namespace"]["metadata"]["name"])
    )
    for binding in ("auth-delegator", "authentication-reader", "server-role-binding"):
        assert objects[binding]["subjects"] == [{"kind": "ServiceAccount", "name": "shop", "namespace": "mall"}]
    assert objects["server-role-binding"]["roleRef"]["name"] == objects["server-role"]["metadata"]["name"]
    pod = pod_of(objects)
    assert pod["serviceAccountName"] == "shop"
    labels = objects["deployment"]["spec"]["template"]["metadata"]["labels"]
    for selector in (objects["deployment"]["spec"]["selector"]["matchLabels"], objects["service"]["spec"]["selector"]):
        assert selector.items() <= labels.items()
    (container,) = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    assert volumes["data"]["persistentVolumeClaim"]["claimName"] == objects["volume-claim"]["metadata"]["name"]
    assert objects["service"]["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    for version in ("v1beta1", "v1alpha1"):
        where = objects[f"apiservice-{version}"]["spec"]["service"]
        service = objects["service"]
        assert where == {"name": "shop", "namespace": "mall", "port": service["spec"]["ports"][0]["port"]}


def test_the_secret_for_etcd_is_made_of_files_too() -> None:
    etcd: dict[str, Any] = {"storage": "etcd:", "etcd_servers": "https://etcd:2379"}
    settings = make_settings(pizza, "some.module:api", **etcd)
    _, generator = yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))["secretGenerator"]
    volumes = {volume["name"]: volume for volume in pod_of(rendered(**etcd))["volumes"]}
    assert generator["name"] == volumes["etcd"]["secret"]["secretName"]
    assert generator["files"] == ["etcd/ca.crt", "etcd/tls.crt", "etcd/tls.key"]
    head = stream(settings, [], "x")
    assert "create secret generic restaurant-etcd --from-file=ca.crt=FILE --from-file=tls.crt=FILE" in head
    # cert-manager knows nothing of etcd; a Secret that is there already is not made.
    settings = make_settings(pizza, "some.module:api", cert_manager=True, **etcd)
    (generator,) = yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))["secretGenerator"]
    assert generator["name"] == "restaurant-etcd"
    settings = make_settings(pizza, "some.module:api", cert_manager=True, etcd_secret="there", **etcd)
    assert "secretGenerator" not in kustomization(settings, render(settings, pizza), "x")


def test_the_secret_is_made_of_files_that_git_ignores() -> None:
    settings = make_settings(pizza, "some.module:api")
    (generator,) = yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))["secretGenerator"]
    secret = pod_of(rendered())["volumes"][0]["secret"]["secretName"]
    assert (generator["name"], generator["namespace"], generator["type"]) == (secret, "restaurant", "kubernetes.io/tls")
    assert generator["files"] == ["certs/tls.crt", "certs/tls.key"]
    # A new certificate is read by the running server; it is no reason for a new pod.
    assert generator["options"]["disableNameSuffixHash"] is True
