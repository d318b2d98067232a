from __future__ import annotations

import base64
import datetime as dt
import re
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from extapi.dev.certificates import ensure
from extapi.dev.directory import opened
from extapi.dev.failure import DevFailure
from extapi.dev.registration import IDENTITIES
from extapi.dev.users import kubeconfig_for

NOW = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


def test_it_holds_a_certificate_for_a_day_of_the_cluster_authority(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        keys = ensure(state.certificates, IDENTITIES, now=NOW)
        state.address.write_text("127.0.0.1:6443\n")
        config = yaml.safe_load(kubeconfig_for(tmp_path, "alice", ["cooks", "eaters"], now=NOW))
    cluster = config["clusters"][0]["cluster"]
    ca = base64.b64decode(cluster["certificate-authority-data"])
    assert (cluster["server"], ca) == ("https://127.0.0.1:6443", keys.certificate("cluster-ca").read_bytes())
    certificate = x509.load_pem_x509_certificate(
        base64.b64decode(config["users"][0]["user"]["client-certificate-data"])
    )
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
    names = {
        oid: [name.value for name in certificate.subject.get_attributes_for_oid(oid)]
        for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    }
    assert names == {NameOID.COMMON_NAME: ["alice"], NameOID.ORGANIZATION_NAME: ["cooks", "eaters"]}
    assert certificate.not_valid_after_utc == NOW + dt.timedelta(days=1)
    assert config["contexts"][0]["context"]["user"] == config["users"][0]["name"] == "alice"


def test_it_names_the_address_of_ipv6_where_that_is_listened_on(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        ensure(state.certificates, IDENTITIES, now=NOW)
        state.address.write_text("[::1]:6443\n")
        config = yaml.safe_load(kubeconfig_for(tmp_path, "alice", [], now=NOW))
    assert config["clusters"][0]["cluster"]["server"] == "https://[::1]:6443"


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_that_no_certificate_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    with opened(tmp_path) as state:
        ensure(state.certificates, IDENTITIES, now=NOW)
        state.address.write_text("127.0.0.1:6443\n")
        for user, groups in ((name, ["a"]), ("a", [name])):
            with pytest.raises(
                DevFailure, match=f"^'{name}' cannot be used in a certificate: a name has 1 to 64 characters$"
            ):
                kubeconfig_for(tmp_path, user, groups, now=NOW)


def test_without_a_running_control_plane_there_is_nothing_to_reach(tmp_path: Path) -> None:
    message = re.escape(
        f"no control plane runs in the directory {tmp_path}: start one with extapi dev --dir {tmp_path}"
    )
    with pytest.raises(DevFailure, match=f"^{message}$"):
        kubeconfig_for(tmp_path, "alice", [], now=NOW)
    with opened(tmp_path) as state:
        state.address.write_text("127.0.0.1:6443\n")
    with pytest.raises(DevFailure, match=f"^{message}$"):
        kubeconfig_for(tmp_path, "alice", [], now=NOW)


def test_a_control_plane_that_is_still_starting_has_no_port_yet(tmp_path: Path) -> None:
    with (
        opened(tmp_path),
        pytest.raises(DevFailure, match=r"^the control plane in the directory .* is still starting$"),
    ):
        kubeconfig_for(tmp_path, "alice", [], now=NOW)
