"""What a change of a Python file costs under ``extapi dev --reload``: seconds from saving it until it is served."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

TIMES = 5
_MODULE = """\
from extapi import Api, Group, Kind, Object, Struct, Version


class Spec(Struct):
    size: int = 0


class Car(Object):
    spec: Spec


api = Api(Group("fleet.example.com", Kind("Car", storage="v1", versions={"v1": Version(Car)})))
"""


def measure(directory: Path) -> float:
    """The median of some changes of a module with one kind; ``directory`` is empty."""
    directory.mkdir(parents=True, exist_ok=True)
    module = directory / "fleet.py"
    module.write_text(_MODULE)
    command = [sys.executable, "-m", "extapi", "dev", "--reload", "fleet:api"]
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            _expect(process, "ready after")
            return statistics.median(_change(process, module, number) for number in range(1, TIMES + 1))
        finally:
            process.send_signal(signal.SIGTERM)


def _change(process: subprocess.Popen[str], module: Path, number: int) -> float:
    new = module.with_suffix(".new")
    new.write_text(_MODULE.replace("size: int = 0", f"size: int = {number}"))
    began = time.monotonic()
    new.replace(module)
    _expect(process, "reloaded fleet:api")
    return time.monotonic() - began


def _expect(process: subprocess.Popen[str], text: str) -> None:
    for line in process.stdout or ():
        if text in line:
            return
    raise RuntimeError(f"extapi dev ended without {text!r}")
