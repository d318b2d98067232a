"""A control plane that a test may do anything to, with the API that tells who asks: callers, identities, and trust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509

from tests.certificates import CLIENT, Issued
from tests.kubernetes.calling import MERGE, Answer, Caller, authority, tls_of
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.who import GROUP, REVIEWS, review
from tests.waiting import until

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PROXIES = "requestheader-client-ca-file"

FORGED = [
    ("X-Remote-User", "admin"),
    ("X-Remote-Uid", "u-1"),
    ("X-Remote-Group", "system:masters"),
    ("X-Remote-Extra-Scopes%2FA", "all"),
]
"""Headers in which somebody names themselves an administrator."""


@dataclass(frozen=True)
class Plane:
    """A control plane with the API that tells who asks, for which everybody has rights."""

    control_plane: ControlPlane
    port: int
    """Of the extension server."""
    directory: Path

    def signed_by(self, name: str) -> Issued:
        """One of the control plane's authorities, to sign anything with."""
        signer = authority(self.control_plane.certificates, name)
        return Issued(signer.certificate, signer.key)

    def caller(self, issued: Issued | None = None, *, directly: bool = False) -> Caller:
        """Somebody with that certificate, or without one, through the control plane or past it."""
        keys = self.control_plane.certificates
        tls = tls_of(keys.certificate("serving-ca" if directly else "cluster-ca"), None, self.directory)
        if issued is not None:
            paths = issued.save(self.directory, f"{issued.certificate.serial_number:x}")
            tls.load_cert_chain(paths.certificate, paths.key)
        return Caller(self.port if directly else self.control_plane.cluster.port, tls)

    @property
    def admin(self) -> Caller:
        """Somebody who may everything."""
        return self.caller(self.signed_by("cluster-ca").leaf("who-admin", orgs=["system:masters"], eku=CLIENT))


def rights() -> Iterator[tuple[str, dict[str, Any]]]:
    """Everybody may ask who they are, of the control plane and of us."""
    reviews = {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]}
    ours = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}
    metadata = {"name": "who"}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [reviews, ours]}
    yield f"/apis/{RBAC}/v1/clusterroles/who", role
    groups = ("system:authenticated", "system:unauthenticated")
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "who"},
        "subjects": [{"kind": "Group", "name": name, "apiGroup": RBAC} for name in groups],
    }
    yield f"/apis/{RBAC}/v1/clusterrolebindings/who", binding


Headers = Sequence[tuple[str, str]]


def user_of(answer: Answer, *path: str) -> dict[str, Any]:
    """Who somebody is; what is empty may be missing."""
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json
    for step in path:
        found = found[step]
    return {"username": "", "uid": "", "groups": [], "extra": {}, **found}


def both(caller: Caller, headers: Headers = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """Who somebody is to the control plane, and who it is to us."""
    question = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    theirs = user_of(caller("POST", SELF, question, headers=headers), "status", "userInfo")
    return theirs, user_of(caller("POST", REVIEWS, review(), headers=headers), "user")


@dataclass(frozen=True)
class Trust:
    """Who may vouch for users: the files of kube-apiserver, and what it publishes for us."""

    plane: Plane

    @property
    def published(self) -> bytes:
        """The authorities in the ConfigMap."""
        pem: str = self.plane.control_plane.client.get(CONFIG_MAP)["data"][PROXIES]
        return pem.encode()

    def publish(self, pem: bytes) -> None:
        """Write the ConfigMap by hand."""
        self.plane.control_plane.client.request("PATCH", CONFIG_MAP, {"data": {PROXIES: pem.decode()}}, MERGE)

    def write(self, name: str, pem: bytes) -> None:
        """Replace a file that kube-apiserver was started with."""
        path = self.plane.directory / name
        path.write_bytes(pem)
        path.replace(self.plane.control_plane.certificates.directory / name)

    def add(self, old: bytes, new: bytes) -> None:
        """Have old and new published: by kube-apiserver itself, which looks at its file and needs no restart."""
        if self.plane.control_plane.name == "kube":
            self.write("front-proxy-ca.crt", old + new)
            until(lambda: set(certificates(self.published)) == {*certificates(old), *certificates(new)}, 90)
        else:
            self.publish(old + new)  # the built-in one reads the file at its start

    def take_out(self, old: Issued, new: bytes) -> None:
        """Have only new published. kube-apiserver adds to the ConfigMap and takes nothing out: that is done by hand.

        (``clusterauthenticationtrust`` joins what is there with what it was started with.) It must not know the old one
        any more by then, or it would come back: it believes nobody with it, itself.
        """
        self.write("front-proxy-ca.crt", new)
        if self.plane.control_plane.name == "kube":
            leaf = old.leaf("front-proxy-client", eku=CLIENT)
            until(lambda: self.plane.caller(leaf)("POST", REVIEWS, review(), headers=FORGED).status == 401, 90)
            assert set(certificates(self.published)) > set(certificates(new))
        self.publish(new)


def certificates(pem: bytes) -> list[x509.Certificate]:
    """What a bundle holds."""
    return x509.load_pem_x509_certificates(pem)
