"""The ``hpack`` package, an extra of ours that only etcd's protocol needs: whether it is installed."""

from __future__ import annotations

import importlib.util

from extapi.storage.base import UnusableStore


def require_hpack() -> None:
    """Check that the package is installed; to be called before what needs it is imported.

    Raises:
        UnusableStore: It is not.
    """
    if importlib.util.find_spec("hpack") is None:
        raise UnusableStore(
            "storage etcd: needs the Python package 'hpack', which is not installed: pip install 'extapi[etcd]'"
        )
