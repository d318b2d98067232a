from __future__ import annotations

import datetime as dt
import stat
from pathlib import Path

import pytest
from cryptography import x509

from extapi.listener.selfsigned import self_signed
from extapi.listener.tls import CertificateError, ServingCertificate

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def test_a_pair_for_localhost_is_made_once_and_its_key_is_its_owners(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path / "new" / "dir", NOW)
    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert parsed.not_valid_before_utc < NOW < parsed.not_valid_after_utc
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    ServingCertificate(certificate, key)  # a listener takes it
    before = certificate.read_bytes(), key.read_bytes()
    assert self_signed(tmp_path / "new" / "dir", NOW) == (certificate, key)
    assert (certificate.read_bytes(), key.read_bytes()) == before


def test_a_directory_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match=r"file/dir: Not a directory; give --tls-cert-file .* --cert-dir"):
        self_signed(tmp_path / "file" / "dir", NOW)
