"""Setting caBundle: everything is looked at before anything is changed."""

from __future__ import annotations

import base64
import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from extapi.manifests.cabundle import PatchFailed, read_bundle, set_bundle
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from tests.certificates import SERVER, authority, bundle, self_signed

NOW = dt.datetime.now(dt.UTC)
SETTINGS = make_settings(pizza, "extapi.pizza:api")


class Cluster:
    """APIServices in memory; merge patches of ``spec``."""

    def __init__(self, **specs: Any) -> None:
        self.objects = {name: {"metadata": {}, "spec": spec} for name, spec in specs.items()}
        self.patched: list[str] = []

    def get(self, name: str) -> Any:
        return self.objects.get(name)

    def patch(self, name: str, patch: Any) -> None:
        self.patched.append(name)
        spec = self.objects[name]["spec"] | patch["spec"]
        self.objects[name]["spec"] = {key: value for key, value in spec.items() if value is not None}


def ours(**more: Any) -> dict[str, Any]:
    return {"service": {"namespace": "restaurant", "name": "restaurant"}, **more}


def test_each_is_told_whether_it_was_changed() -> None:
    cluster = Cluster(one=ours(), two=ours(caBundle=base64.b64encode(b"pem").decode()))
    assert list(set_bundle(cluster, SETTINGS, ["one", "two"], b"pem")) == [("one", True), ("two", False)]
    assert cluster.patched == ["one"]
    assert base64.b64decode(cluster.objects["one"]["spec"]["caBundle"]) == b"pem"
    assert list(set_bundle(cluster, SETTINGS, ["one", "two"], b"pem")) == [("one", False), ("two", False)]


def test_looking_at_certificates_is_switched_on_again() -> None:
    """kube-apiserver refuses caBundle together with insecureSkipTLSVerify (behaviour D17)."""
    cluster = Cluster(one=ours(insecureSkipTLSVerify=True))
    assert list(set_bundle(cluster, SETTINGS, ["one"], b"pem")) == [("one", True)]
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
        list(set_bundle(cluster, SETTINGS, ["one", "two"], b"pem"))
    assert cluster.patched == []


def test_what_cert_manager_sets_is_left_to_it() -> None:
    cluster = Cluster(one=ours())
    cluster.objects["one"]["metadata"] = {"annotations": {"cert-manager.io/inject-ca-from": "a/b"}}
    with pytest.raises(PatchFailed, match="cert-manager sets its caBundle"):
        list(set_bundle(cluster, SETTINGS, ["one"], b"pem"))


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
