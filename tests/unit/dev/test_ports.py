from __future__ import annotations

import re
import socket

import pytest

from extapi.dev.failure import DevFailure
from extapi.dev.ports import choose


def test_zero_is_any_port_that_can_be_bound() -> None:
    port = choose(0, "--port")
    with socket.create_server(("127.0.0.1", port)):
        pass


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
