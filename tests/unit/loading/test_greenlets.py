"""Modules that replace the standard library's threads, in processes of their own.

The libraries are stood in for by what they set: ``gevent.monkey.patch_all`` and ``eventlet.monkey_patch`` give functions and classes
of their own modules to ``os``, ``select``, ``socket`` and ``_thread``, as seen of gevent 26.9.0 and eventlet 0.41.3.
``python -m tests.environments`` installs both and tries all commands.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from extapi.loading.greenlets import replaced_by

PROGRAM = """
import sys
from extapi.loading.module import LoadingError, load_api
try:
    load_api("mine:api")
except LoadingError as error:
    print(error)
"""
PATCH = """
import {where}
def replacement(*arguments): return original(*arguments)
original, replacement.__module__ = {where}.{name}, "{owner}"
{where}.{name} = replacement
from extapi.pizza import api
"""


def test_the_standard_library_is_as_it_is() -> None:
    assert replaced_by() is None


def told(where: str, name: str, owner: str, place: Path) -> str:
    (place / "mine.py").write_text(PATCH.format(where=where, name=name, owner=owner))
    command = [sys.executable, "-B", "-c", PROGRAM]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(
    ("where", "name", "owner", "library", "part", "call"),
    [
        ("_thread", "start_new_thread", "gevent.thread", "gevent", "thread", "gevent.monkey.patch_all()"),
        ("os", "fork", "gevent.os", "gevent", "os", "gevent.monkey.patch_all()"),
        ("select", "select", "eventlet.green.select", "eventlet", "select", "eventlet.monkey_patch()"),
        ("socket", "socket", "gevent._socket3", "gevent", "socket", "gevent.monkey.patch_all()"),
    ],
)
def test_green_threads_are_refused(
    where: str, name: str, owner: str, library: str, part: str, call: str, tmp_path: Path
) -> None:
    assert told(where, name, owner, tmp_path) == (
        f"mine cannot be served: {library} has replaced parts of the standard library ({part}), and extapi needs them as they are; "
        f"remove the call of {call}, or let what needs it run in another process\n"
    )


@pytest.mark.parametrize("owner", ["_pydev_bundle.pydev_monkey", "geventually"])
def test_a_debugger_may_replace_them(owner: str, tmp_path: Path) -> None:
    """``pydevd`` follows forks so."""
    assert told("os", "fork", owner, tmp_path) == ""
