"""The sudden end of a server, as of a machine that loses its power."""

from __future__ import annotations

import os
import signal

from tests.kubernetes.second import SecondServer


def kill(server: SecondServer) -> None:
    """End it with SIGKILL, and wait until it has ended; it may be started again."""
    child = server._processes._children[-1].process
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    server.stop()
