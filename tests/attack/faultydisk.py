"""The switch of a disk that fails when it is told to: see ``faults.c``, which is compiled when it is wanted."""

from __future__ import annotations

import importlib.util
import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("faults.c")
FIELDS = 6
SEEN, FAILED = 4, 5


class Operation(IntEnum):
    """As in ``faults.c``."""

    OPEN = 0
    READ = 1
    WRITE = 2
    SYNC = 3
    TRUNCATE = 4
    UNLINK = 5
    MAP = 6
    LOCK = 7


class Fault(NamedTuple):
    """What goes wrong with an operation: see ``struct fault`` of ``faults.c``."""

    operation: Operation
    error: int = 0
    percent: int = 100
    delay: int = 0
    mode: int = 0

    def __str__(self) -> str:
        error = f" {os.strerror(self.error)}" if self.error else ""
        rest = [f"{self.percent} %"] if self.percent < 100 else []
        rest += [f"{self.delay} ms"] if self.delay else []
        rest += [f"mode {self.mode}"] if self.mode else []
        return f"{self.operation.name.lower()}:{error}{' (' + ', '.join(rest) + ')' if rest else ''}"


def compiler() -> Sequence[str] | None:
    """The command of a C compiler, if there is one."""
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    return [sys.executable, "-m", "ziglang", "cc"] if importlib.util.find_spec("ziglang") else None


class FaultyDisk:
    """Faults for all files whose names begin with ``prefix``, in processes that get :attr:`environment`."""

    def __init__(self, directory: Path, prefix: Path) -> None:
        """Compiles; raises RuntimeError where there is no compiler."""
        command = compiler()
        if command is None:
            raise RuntimeError("faults of a disk need a C compiler: install gcc, or the Python package ziglang")
        library, switch = directory / "faults.so", directory / "faults.switch"
        subprocess.run(
            [*command, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True, timeout=120
        )
        size = struct.calcsize("q") * FIELDS * len(Operation)
        switch.write_bytes(bytes(size))
        with switch.open("r+b") as file:
            self._rows = memoryview(mmap.mmap(file.fileno(), size)).cast("q")
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAULTS_SWITCH": str(switch),
            "FAULTS_PREFIX": os.path.realpath(prefix),
        }

    def set(self, fault: Fault) -> None:
        """From now on this goes wrong."""
        row = fault.operation * FIELDS
        for offset, value in ((1, fault.percent), (2, fault.delay), (3, fault.mode), (0, fault.error)):
            self._rows[row + offset] = value

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        for operation in Operation:
            self.set(Fault(operation, percent=0))

    def count(self, operation: Operation, field: int = FAILED) -> int:
        """How many calls there were (:data:`SEEN`), or failed."""
        return self._rows[operation * FIELDS + field]
