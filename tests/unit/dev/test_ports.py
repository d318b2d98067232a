from __future__ import annotations

import errno
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from extapi.dev.failure import DevFailure
from extapi.dev.ports import check_localhost, choose, loopback


def test_zero_is_any_port_that_can_be_bound() -> None:
    port = choose(0, "--port")
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_any_port_of_ipv6() -> None:
    port = choose(0, "--port", host="::1")
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        message = f"port {port} on ::1 is already in use (choose another one with --port)"
        with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"):
            choose(port, "--port", host="::1")


def test_a_machine_has_the_loopback_address_of_ipv4_or_else_that_of_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that an interface lacks cannot be bound: EADDRNOTAVAIL, bind(2)."""
    assert loopback() == "127.0.0.1"
    usual = socket.socket.bind

    def without(*families: int) -> None:
        def bind(sock: socket.socket, address: Any) -> None:
            if sock.family in families:
                raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
            usual(sock, address)

        monkeypatch.setattr(socket.socket, "bind", bind)

    without(socket.AF_INET)
    assert loopback() == "::1"
    with pytest.raises(DevFailure, match=r"^no free port on 127\.0\.0\.1: Cannot assign .* \(name one with --port\)$"):
        choose(0, "--port")
    without(socket.AF_INET, socket.AF_INET6)
    message = (
        "there is no loopback address to listen on (127.0.0.1: Cannot assign requested address; ::1: Cannot assign "
        "requested address): bring the interface up with ip link set lo up"
    )
    with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"):
        loopback()


DOWN = """
from extapi.dev.failure import DevFailure
from extapi.dev.ports import loopback
try:
    loopback()
except DevFailure as failure:
    print(failure)
"""


def test_a_loopback_interface_that_is_down_is_told() -> None:
    """As it is in a new network namespace (network_namespaces(7))."""
    command = ["unshare", "--map-root-user", "--net", sys.executable, "-c", DOWN]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert re.fullmatch(
        r"there is no loopback address to listen on \(127\.0\.0\.1: Network is unreachable; ::1: .+\): bring the interface up "
        "with ip link set lo up\n",
        told,
    )


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("127.0.0.1 localhost\n::1\tlocalhost ip6-localhost\n", True),
        ("::1 ip6-localhost localhost # here\n", True),
        ("127.0.0.1 localhost\n::1 ip6-localhost # localhost\n", False),
        ("#::1 localhost\n", False),
    ],
)
def test_the_name_by_which_kube_apiserver_finds_the_server(tmp_path: Path, lines: str, found: bool) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(lines)
    check_localhost("127.0.0.1", tmp_path / "none")
    if found:
        check_localhost("::1", hosts)
    else:
        with pytest.raises(DevFailure, match=rf"^localhost is not ::1 in {hosts}, .*: add the line ::1 localhost$"):
            check_localhost("::1", hosts)
    with pytest.raises(DevFailure, match="add the line"):
        check_localhost("::1", tmp_path / "none")


def test_a_wanted_port_is_taken_if_it_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert choose(port, "--port") == port


def test_a_port_in_use_is_named_with_the_option_that_changes_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        message = f"port {port} on 127.0.0.1 is already in use (choose another one with --serve-port)"
        with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"):
            choose(port, "--serve-port")


def test_one_port_is_not_given_twice() -> None:
    port = choose(0, "--port")
    with pytest.raises(DevFailure, match=f"port {port} is requested twice"):
        choose(port, "--serve-port", taken=[port])
    assert choose(0, "--serve-port", taken=[port]) != port


def test_a_free_port_that_another_server_will_have_is_passed_over() -> None:
    class First(list[int]):
        """Holds whatever is looked for first, as the system may give a port again that nobody has bound yet."""

        def __contains__(self, port: object) -> bool:
            self.append(port)  # type: ignore[arg-type]  # list's own method takes any object
            return len(self) == 1

    taken = First()
    assert choose(0, "--serve-port", taken=taken) == taken[1]
