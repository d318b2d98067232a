"""A network of our own: loopback, one more address, and no way to anywhere else. Knows nothing of what runs in it.

Pods need an address that is no loopback one (EndpointSlices refuse those) and port 443. Neither is this machine's to
give, so that all of it stands in a network namespace, which Linux removes with the last process in it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # linux/sched.h


@contextmanager
def own_network(address: str) -> Iterator[None]:
    """This thread, and the processes that it starts meanwhile, are in a new network namespace that has ``address``.

    :raises OSError: the system did not allow it, or there is no program ``ip``.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        if libc.unshare(_CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise PermissionError(f"no network namespace: {reason}; be root, or root of a user namespace (unshare -r)")
        try:
            for command in (["link", "set", "lo", "up"], ["address", "add", f"{address}/32", "dev", "lo"]):
                subprocess.run(["ip", *command], check=True)
            yield
        finally:
            libc.setns(before.fileno(), _CLONE_NEWNET)
