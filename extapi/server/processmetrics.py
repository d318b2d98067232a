"""Figures about the process and its Python, under the names that Prometheus' clients have for them.

Source: ``prometheus/client_golang/prometheus/process_collector.go``; ``prometheus_client`` for Python's own.
"""

from __future__ import annotations

import gc
import os
import platform
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extapi.server.exposition import Family

_PROC: Final = Path("/proc")


def process_families() -> Iterator[Family]:
    """What Linux says of this process; nothing on other systems."""
    try:
        # The name of the program, in parentheses, may have spaces.
        fields = (_PROC / "self/stat").read_bytes().rpartition(b")")[2].split()
        booted = next(line for line in (_PROC / "stat").read_bytes().splitlines() if line.startswith(b"btime "))
        descriptors = len(os.listdir(_PROC / "self/fd"))  # noqa: PTH208 - there may be 10,000 of them
    except (OSError, StopIteration):
        return
    ticks = os.sysconf("SC_CLK_TCK")
    cpu = (int(fields[11]) + int(fields[12])) / ticks
    started = int(fields[19]) / ticks + float(booted.split()[1])
    resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    yield _single("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", cpu)
    yield _single("process_open_fds", "gauge", "Number of open file descriptors.", descriptors)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield _single("process_max_fds", "gauge", "Maximum number of open file descriptors.", most)
    size = int(fields[20])
    yield _single("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", size)
    yield _single("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", resident)
    text = "Start time of the process since unix epoch in seconds."
    yield _single("process_start_time_seconds", "gauge", text, started)


def python_families() -> Iterator[Family]:
    """What Python says of itself."""
    major, minor, patch = platform.python_version_tuple()
    yield Family(
        "python_info",
        "gauge",
        "Python platform information",
        ("implementation", "major", "minor", "patchlevel", "version"),
        [((platform.python_implementation(), major, minor, patch, platform.python_version()), 1)],
    )
    statistics = [(str(generation), each) for generation, each in enumerate(gc.get_stats())]
    for name, key, text in (
        ("python_gc_objects_collected_total", "collected", "Objects collected during gc"),
        ("python_gc_objects_uncollectable_total", "uncollectable", "Uncollectable objects found during GC"),
        ("python_gc_collections_total", "collections", "Number of times this generation was collected"),
    ):
        yield Family(
            name, "counter", text, ("generation",), [((generation,), each[key]) for generation, each in statistics]
        )


def _single(name: str, kind: str, text: str, value: float) -> Family:
    return Family(name, kind, text, (), [((), value)])
