"""A network of our own: loopback, one more address, and no way to anywhere else. Knows nothing of what runs in it.

Pods need an address that is no loopback one (EndpointSlices refuse those) and port 443. Neither is this machine's to
give, so that all of it stands in a network namespace, which Linux removes with the last process in it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

_CLONE_NEWNET, _CLONE_NEWNS = 0x40000000, 0x00020000  # linux/sched.h
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18  # linux/mount.h


@contextmanager
def own_network(address: str, *, hosts: Path | None = None) -> Iterator[None]:
    """This thread, and the processes that it starts meanwhile, are in a new network namespace that has ``address``.

    ``hosts``: a file that they find as ``/etc/hosts``.

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
            with _hosts(libc, hosts) if hosts else nullcontext():
                yield
        finally:
            libc.setns(before.fileno(), _CLONE_NEWNET)


@contextmanager
def _hosts(libc: ctypes.CDLL, file: Path) -> Iterator[None]:
    """A mount namespace with that file."""
    with Path("/proc/thread-self/ns/mnt").open("rb") as before:
        if libc.unshare(_CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "no mount namespace")
        try:
            for source, target, flags in (
                (b"none", b"/", _MS_REC | _MS_PRIVATE),
                (bytes(file), b"/etc/hosts", _MS_BIND),
            ):
                if libc.mount(source, target, None, flags, None) != 0:
                    raise OSError(ctypes.get_errno(), f"mount {target!r}")
            yield
        finally:
            libc.setns(before.fileno(), _CLONE_NEWNS)
