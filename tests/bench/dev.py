"""What ``extapi dev`` costs with its built-in control plane: seconds to ready, and memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SETTLE = 4.0
"""Seconds after ready until memory is read: informers and probes have had their first turn then."""


@dataclass(frozen=True)
class Memory:
    """Of one process, in MB. ``shared_fairly`` (PSS) counts a page that N processes share as an Nth for each of them."""

    resident: float
    shared_fairly: float


@dataclass(frozen=True)
class Dev:
    """``cold``: seconds from the command to ready with an empty DIR; ``warm``: with one that has been used."""

    cold: float
    warm: float
    servers: list[Memory]
    supervisor: Memory


def measure(directory: Path) -> Dev:
    """Start it twice in ``directory``, which is empty."""
    cold, _, _ = _run(directory, settle=0.0)
    warm, servers, supervisor = _run(directory, settle=SETTLE)
    return Dev(cold, warm, servers, supervisor)


def _run(directory: Path, *, settle: float) -> tuple[float, list[Memory], Memory]:
    began = time.monotonic()
    command = [sys.executable, "-m", "extapi", "dev", "extapi.pizza:api", "--dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                if line.startswith("ready"):
                    break
            else:
                raise RuntimeError("extapi dev ended before it was ready")
            seconds = time.monotonic() - began
            time.sleep(settle)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            servers = [_memory(int(child)) for child in children]
            return seconds, servers, _memory(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


def _memory(pid: int) -> Memory:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    found = {name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in lines[1:])}
    return Memory(found["Rss"], found["Pss"])
