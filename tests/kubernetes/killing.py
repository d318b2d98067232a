"""The sudden end of a server, as of a machine that loses its power, or of one of its processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.kubernetes.second import SecondServer
from tests.waiting import until


def kill(server: SecondServer) -> None:
    """End it with SIGKILL, and wait until it has ended; it may be started again."""
    child = server._processes._children[-1].process
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    server.stop()


def processes_of(supervisor: int) -> list[int]:
    """The processes of ``--workers``, by age: the hub, if there is one, is the first of them."""
    tasks = Path(f"/proc/{supervisor}/task").glob("*/children")
    return sorted(int(pid) for task in tasks for pid in task.read_text().split())


def kill_worker(supervisor: int, processes: int) -> None:
    """End one of ``--workers`` with SIGKILL as soon as there are so many processes; returns when it is gone."""
    last = until(lambda: found if len(found := processes_of(supervisor)) == processes else [], 60)[-1]
    os.kill(last, signal.SIGKILL)
    until(lambda: last not in processes_of(supervisor))
