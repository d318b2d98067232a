"""Where figures come from: the commit, the interpreter and how it was built, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sysconfig
from pathlib import Path


def heading() -> str:
    """The line above a table."""
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    return f"commit {commit()}, {interpreter} ({build()}), {machine()}"


def commit() -> str:
    """The commit of the working tree; ``-dirty`` if it differs."""
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def build() -> str:
    """How this interpreter was built: one without optimisations needs up to a quarter more CPU."""
    return described(str(sysconfig.get_config_var("CONFIG_ARGS") or ""))


def described(arguments: str) -> str:
    """How an interpreter was built, by the arguments of its ``configure``."""
    # Debian optimises in its own way, and CONFIG_ARGS do not say so.
    if "--with-wheel-pkg-dir=/usr/share/python-wheels" in arguments:
        return "Debian's, with optimisations"
    return f"configured {'with' if '--enable-optimizations' in arguments else 'without'} --enable-optimizations"


def machine() -> str:
    """The processor's name, and how many cores there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    return f"{next(names, platform.machine())}, {os.cpu_count()} cores"
