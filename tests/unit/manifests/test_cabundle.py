"""Setting caBundle: everything is looked at before anything is changed."""

from __future__ import annotations

import base64
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from extapi.codec.patches import json_patch
from extapi.errors import Invalid
from extapi.manifests.cabundle import PatchFailed, Registered, read_bundle, set_bundle
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from tests.certificates import SERVER, authority, bundle, self_signed

NOW = dt.datetime.now(dt.UTC)
SETTINGS = make_settings(pizza, "extapi.pizza:api")


class Cluster:
    """APIServices, or given objects, in memory; JSON patches."""

    def __init__(self, *objects: Any, **specs: Any) -> None:
        made = [{"kind": "APIService", "metadata": {"name": name}, "spec": spec} for name, spec in specs.items()]
        self.objects = {each["metadata"]["name"]: each for each in (*objects, *made)}
        self.patched: list[str] = []

    def get(self, of: Registered) -> Any:
        found = self.objects.get(of.name)
        return None if found is None or found["kind"] != of.kind else found

    def patch(self, of: Registered, patch: Any) -> None:
        self.patched.append(of.name)
        self.objects[of.name] = json_patch(self.objects[of.name], json.dumps(patch).encode()).value


def services(*names: str) -> list[Registered]:
    return [Registered("APIService", name) for name in names]


def told(**changed: bool) -> list[tuple[Registered, bool]]:
    return list(zip(services(*changed), changed.values(), strict=True))


def ours(**more: Any) -> dict[str, Any]:
    return {"service": {"namespace": "restaurant", "name": "restaurant"}, **more}


def test_each_is_told_whether_it_was_changed() -> None:
    cluster = Cluster(one=ours(), two=ours(caBundle=base64.b64encode(b"pem").decode()))
    assert list(set_bundle(cluster, SETTINGS, services("one", "two"), b"pem")) == told(one=True, two=False)
    assert cluster.patched == ["one"]
    assert base64.b64decode(cluster.objects["one"]["spec"]["caBundle"]) == b"pem"
    assert list(set_bundle(cluster, SETTINGS, services("one", "two"), b"pem")) == told(one=False, two=False)


def test_looking_at_certificates_is_switched_on_again() -> None:
    """kube-apiserver refuses caBundle together with insecureSkipTLSVerify (behaviour D17)."""
    cluster = Cluster(one=ours(insecureSkipTLSVerify=True))
    assert list(set_bundle(cluster, SETTINGS, services("one"), b"pem")) == told(one=True)
    assert "insecureSkipTLSVerify" not in cluster.objects["one"]["spec"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, "there is no APIService two: apply the manifests first"),
        (
            {"service": {"namespace": "mall", "name": "shop"}},
            "leads to the Service mall/shop, not to restaurant/restaurant",
        ),
        (
            {"service": {"namespace": "mall", "name": "restaurant"}},
            "leads to the Service mall/restaurant, not to restaurant/restaurant",
        ),
        ({}, "leads to no Service"),
    ],
)
def test_what_is_not_ours_is_left_alone_and_all_the_rest(spec: Any, words: str) -> None:
    cluster = Cluster(one=ours(), **({} if spec is None else {"two": spec}))
    with pytest.raises(PatchFailed, match=words):
        list(set_bundle(cluster, SETTINGS, services("one", "two"), b"pem"))
    assert cluster.patched == []


def config(*, service: str = "restaurant", **more: Any) -> dict[str, Any]:
    return {"clientConfig": {"service": {"namespace": "restaurant", "name": service}, **more}}


HOOKS = Registered("ValidatingWebhookConfiguration", "hooks")
DEFINITION = Registered("CustomResourceDefinition", "pizzas.example.com")


def hooks(*each: dict[str, Any]) -> dict[str, Any]:
    named = [{"name": f"{index}.example.com", **hook} for index, hook in enumerate(each)]
    return {"kind": HOOKS.kind, "metadata": {"name": HOOKS.name}, "webhooks": named}


def definition(**spec: Any) -> dict[str, Any]:
    return {"kind": DEFINITION.kind, "metadata": {"name": DEFINITION.name}, "spec": {"names": {}, **spec}}


def test_webhooks_and_conversion_get_it_where_they_lack_it() -> None:
    own = base64.b64encode(b"pem").decode()
    cluster = Cluster(
        hooks(config(), config(caBundle=own), config(caBundle="b2xk")),
        definition(conversion={"strategy": "Webhook", "webhook": config()}),
    )
    done = list(set_bundle(cluster, SETTINGS, [DEFINITION, HOOKS], b"pem"))
    assert done == [(DEFINITION, True), (HOOKS, True)]
    found = cluster.objects
    assert [each["clientConfig"]["caBundle"] for each in found["hooks"]["webhooks"]] == [own, own, own]
    assert found["pizzas.example.com"]["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] == own
    assert not any(changed for _, changed in set_bundle(cluster, SETTINGS, [DEFINITION, HOOKS], b"pem"))


def test_a_list_that_changes_meanwhile_is_not_patched() -> None:
    """A JSON pointer names a place in the list; what is there may be another webhook by now."""

    class Changing(Cluster):
        def patch(self, of: Registered, patch: Any) -> None:
            self.objects[of.name]["webhooks"].insert(0, {"name": "new.example.com", **config(service="shop")})
            super().patch(of, patch)

    cluster = Changing(hooks(config()))
    with pytest.raises(Invalid):
        list(set_bundle(cluster, SETTINGS, [HOOKS], b"pem"))
    assert not any("caBundle" in each["clientConfig"] for each in cluster.objects["hooks"]["webhooks"])


@pytest.mark.parametrize(
    ("obj", "of", "words"),
    [
        (
            hooks(config(), config(service="shop")),
            HOOKS,
            "the ValidatingWebhookConfiguration hooks leads to the Service",
        ),
        (definition(), DEFINITION, "the CustomResourceDefinition pizzas.example.com leads to no Service"),
        (definition(conversion={"strategy": "None"}), DEFINITION, "leads to no Service"),
        (definition(), HOOKS, "there is no ValidatingWebhookConfiguration hooks: apply the manifests first"),
    ],
)
def test_webhooks_of_others_are_left_alone(obj: Any, of: Registered, words: str) -> None:
    cluster = Cluster(obj)
    with pytest.raises(PatchFailed, match=words):
        list(set_bundle(cluster, SETTINGS, [of], b"pem"))
    assert cluster.patched == []


def test_what_cert_manager_sets_is_left_to_it() -> None:
    cluster = Cluster(one=ours())
    cluster.objects["one"]["metadata"] = {"annotations": {"cert-manager.io/inject-ca-from": "a/b"}}
    with pytest.raises(PatchFailed, match="cert-manager sets its caBundle"):
        list(set_bundle(cluster, SETTINGS, services("one"), b"pem"))


def test_several_authorities_are_one_bundle(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    old, new = authority("old"), authority("new")
    path.write_bytes(b"# the old one\n" + old.pem + b"\r\nthe new one:\n" + new.pem)
    assert read_bundle(path, NOW) == old.pem + new.pem  # and nothing else of the file


def test_a_self_signed_certificate_vouches_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(self_signed("server", eku=SERVER).pem)
    assert read_bundle(path, NOW)


def test_a_certificate_that_cannot_vouch_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    leaf = authority("serving").leaf("restaurant", eku=SERVER)
    path.write_bytes(bundle(leaf, authority("old", expired=True)))
    with pytest.raises(PatchFailed) as caught:
        read_bundle(path, NOW)
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{path}: CN=restaurant is not an authority")
    assert second.startswith(f"{path}: CN=old expired at ")


def test_a_file_that_is_no_bundle_is_named(tmp_path: Path) -> None:
    missing, empty, key = tmp_path / "ca.crt", tmp_path / "empty.crt", tmp_path / "ca.key"
    empty.touch()
    paths = authority("serving").leaf("restaurant", eku=SERVER).save(tmp_path, "leaf")
    key.write_bytes(paths.key.read_bytes())
    for path, words in ((missing, "extapi certs"), (empty, "no usable certificates"), (key, "holds a private key")):
        with pytest.raises(PatchFailed, match=words) as caught:
            read_bundle(path, NOW)
        assert str(path) in str(caught.value)
