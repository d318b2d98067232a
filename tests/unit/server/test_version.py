"""What the server says it is: spec C21."""

from __future__ import annotations

import platform

import pytest

from extapi.server.version import version_info


def test_kubernetes_and_our_own_version() -> None:
    info = version_info()
    assert (info["major"], info["minor"]) == ("1", "36")
    assert info["gitVersion"].startswith("v1.36.0+extapi-")
    assert info["goVersion"].startswith("python3.")


@pytest.mark.parametrize(("machine", "name"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("riscv64", "riscv64")])
def test_the_platform_is_called_as_go_calls_it(monkeypatch: pytest.MonkeyPatch, machine: str, name: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert version_info()["platform"] == f"linux/{name}"
