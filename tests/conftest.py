"""Fixtures for all tests; those around the real control plane stand in ``tests/kubernetes/fixtures.py``."""

from __future__ import annotations

pytest_plugins = ["tests.kubernetes.fixtures"]
