"""Fixtures for all tests, and their order; those around the real control plane stand in ``tests/kubernetes/fixtures.py``."""

from __future__ import annotations

import gc
import signal

import pytest

pytest_plugins = ["tests.kubernetes.fixtures"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A background job of a shell script ignores it, and so would the programs that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # after what shuffles, and what brings tests on one control plane together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first and the unit tests, many short files, last: of two processes none waits long for the other."""
    items.sort(key=lambda item: _turn(item.nodeid))


def pytest_collection_finish() -> None:
    """Let the collections of garbage that tests ask for leave out the million objects that importing all tests has made."""
    gc.collect()
    gc.freeze()


def _turn(nodeid: str) -> int:
    if nodeid.startswith("tests/unit/test_worst_cases.py"):
        return 0  # one test of minutes
    return 2 if nodeid.startswith("tests/unit/") else 1
