"""What every namespace is given."""

from __future__ import annotations

from extapi.controlplane.controllers.accounts import AccountController
from extapi.testing import InMemoryServer
from tests.unit.controlplane.controllers.cluster import MERGE, ROOT, cluster, create

CA = "-----BEGIN CERTIFICATE-----\n"


def root_ca(server: InMemoryServer, namespace: str) -> object:
    return server.request("GET", f"{ROOT}/{namespace}/configmaps/kube-root-ca.crt").json().get("data")


def test_each_namespace_gets_its_default_account_and_the_root_ca() -> None:
    with cluster(AccountController(CA)) as server:
        create(server, ROOT, "new")
        server.advance(1)
        assert server.request("GET", f"{ROOT}/new/serviceaccounts/default").status == 200
        assert root_ca(server, "new") == {"ca.crt": CA}


def test_what_was_deleted_comes_back() -> None:
    with cluster(AccountController(CA)) as server:
        create(server, ROOT, "new")
        server.advance(1)
        uid = server.request("GET", f"{ROOT}/new/serviceaccounts/default").json()["metadata"]["uid"]
        server.request("DELETE", f"{ROOT}/new/serviceaccounts/default")
        server.request("DELETE", f"{ROOT}/new/configmaps/kube-root-ca.crt")
        server.advance(1)
        assert server.request("GET", f"{ROOT}/new/serviceaccounts/default").json()["metadata"]["uid"] != uid
        assert root_ca(server, "new") == {"ca.crt": CA}


def test_a_changed_root_ca_is_put_right() -> None:
    with cluster(AccountController(CA)) as server:
        create(server, ROOT, "new")
        server.advance(1)
        wrong = {"data": {"ca.crt": "mine", "more": "x"}}
        server.request("PATCH", f"{ROOT}/new/configmaps/kube-root-ca.crt", headers=MERGE, body=wrong)
        server.advance(1)
        assert root_ca(server, "new") == {"ca.crt": CA}


def test_nothing_is_made_in_a_namespace_that_goes() -> None:
    with cluster(AccountController(CA)) as server:
        create(server, ROOT, "going")
        server.advance(1)
        server.request("DELETE", f"{ROOT}/going")
        server.advance(1)
        server.request("DELETE", f"{ROOT}/going/configmaps/kube-root-ca.crt")
        server.advance(1)
        assert server.request("GET", f"{ROOT}/going/configmaps/kube-root-ca.crt").status == 404
