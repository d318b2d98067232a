"""A CA bundle in a file (spec A9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extapi.authentication.certificates import BundleError
from extapi.authentication.files import PERIOD, BundleFile
from extapi.authentication.settings import Settings
from tests.certificates import authority
from tests.unit.client.building import now


def test_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    first, second = authority("a").pem, authority("b").pem
    path.write_bytes(first)
    settings = Settings()
    clock: Any = now()
    file = BundleFile(path, settings.trust_clients, clock)
    file.load()
    file.start()
    assert settings.client_ca is not None
    assert settings.client_ca.pem == first
    generation = settings.generation

    clock.advance(PERIOD)
    assert settings.generation == generation
    path.write_bytes(b"half written")
    clock.advance(PERIOD)
    assert settings.client_ca.pem == first
    path.unlink()
    clock.advance(PERIOD)
    assert settings.client_ca.pem == first
    path.write_bytes(second)
    clock.advance(PERIOD)
    assert settings.client_ca.pem == second
    assert settings.generation == generation + 1

    file.stop()
    path.write_bytes(first)
    clock.advance(2 * PERIOD)
    assert settings.client_ca.pem == second
    assert clock.getDelayedCalls() == []


def test_a_start_without_it_is_an_error(tmp_path: Path) -> None:
    file = BundleFile(tmp_path / "none.crt", Settings().trust_proxies, now())
    with pytest.raises(BundleError, match=r"cannot read the CA bundle .*none\.crt: No such file"):
        file.load()
    (tmp_path / "none.crt").write_bytes(b"x")
    with pytest.raises(
        BundleError, match=r"none\.crt: requestheader-client-ca-file: a CA bundle holds no usable certificates"
    ):
        file.load()
    file.stop()
