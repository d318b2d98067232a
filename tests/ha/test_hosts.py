"""The network between the checker's hosts loses what it is told to lose, in one direction alone."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.ha.hosts import Network, network
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

ECHO = """
import socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind((sys.argv[1], 7))
while True:
    data, sender = here.recvfrom(100)
    print(data.decode(), flush=True)
    here.sendto(data, sender)
"""


@pytest.fixture
def two() -> Iterator[Network]:
    with network(["a", "b"]) as made:
        yield made


def test_what_one_host_sends_to_another_vanishes_and_nothing_else(two: Network) -> None:
    a, b = two.hosts["a"], two.hosts["b"]
    heard = subprocess.Popen(b.command(sys.executable, "-c", ECHO, b.address), stdout=subprocess.PIPE, text=True)
    asks = (
        "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(float(sys.argv[3])); "
    )
    asks += "s.sendto(sys.argv[2].encode(), (sys.argv[1], 7)); print(s.recv(100).decode())"

    def echoed(word: str, seconds: float = 2) -> bool:
        command = a.command(sys.executable, "-c", asks, b.address, word, str(seconds))
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout == f"{word}\n"

    try:
        assert heard.stdout is not None
        until(lambda: echoed("both", 0.2))
        two.cut("b", "a")
        assert not echoed("heard", 0.2)
        two.heal()
        two.cut("a", "b")
        assert not echoed("unheard", 0.2)
        two.heal()
        assert echoed("healed")
        # b has heard what a sent while only the way back was cut.
        words = []
        while "healed" not in words:
            words.append(heard.stdout.readline().strip())
        assert "heard" in words
        assert "unheard" not in words
        # This process is on the network as well.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
            ours.settimeout(5)
            ours.sendto(b"ours", (b.address, 7))
            assert ours.recv(100) == b"ours"
    finally:
        heard.kill()
        heard.wait()
        if heard.stdout is not None:
            heard.stdout.close()
