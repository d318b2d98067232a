"""``extapi serve`` takes more connections than the open files that it is given at first."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.conformance.serving import Serving

SPARE = 50
MORE = 100


def test_a_soft_limit_of_open_files_is_not_the_end(serving: Serving) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The server inherits it; until then it has to do for the test's own process, whatever is open there.
    first = max(int(file.name) for file in Path("/proc/self/fd").iterdir()) + SPARE
    resource.setrlimit(resource.RLIMIT_NOFILE, (first, hard))
    try:
        serving.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    connections = [serving.connect() for _ in range(first + MORE)]
    for connection in connections:
        connection.connect()  # with the handshake: the server has taken it
    assert serving.request("GET", "/readyz")[0] == 200
    for connection in connections:
        connection.close()
