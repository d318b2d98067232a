"""DIR: what a local control plane keeps between two starts, that it is ours, and that only one runs on it at a time.

DIR may lie where others write, such as /tmp, and keys lie in it: nothing in it may be somebody else's, be it a link that
leads what is written elsewhere, or a file that they still have open.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from extapi.dev.failure import DevFailure


@dataclass(frozen=True)
class StateDirectory:
    """The paths in DIR. All are absolute, since the children have working directories of their own."""

    root: Path
    lock: int = field(default=-1, compare=False)
    """The file descriptor that keeps others out; whoever inherits it keeps them out as well."""

    @property
    def certificates(self) -> Path:
        """All keys and certificates."""
        return self.root / "certificates"

    @property
    def logs(self) -> Path:
        """The output of each child."""
        return self.root / "log"

    @property
    def etcd(self) -> Path:
        """The data of etcd and its sockets."""
        return self.root / "etcd"

    @property
    def objects(self) -> Path:
        """The database of the built-in control plane."""
        return self.root / "controlplane.sqlite"

    @property
    def port(self) -> Path:
        """Which port the control plane has that runs here now."""
        return self.root / "port"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig: what the user exports."""
        return self.root / "kubeconfig"

    @property
    def storage(self) -> Path:
        """The database of the extension server, unless another storage is asked for."""
        return self.root / "storage.sqlite"

    def credentials(self, user: str) -> Path:
        """The kubeconfig of a component."""
        return self.root / f"{user}.kubeconfig"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[StateDirectory]:
    """DIR, made if needed (for its owner alone) and ours until the end.

    :raises DevFailure: it cannot be written, it or something in it belongs to somebody else, or another run has it.
    """
    root = path.absolute()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(root)
        root.chmod(0o700)
        _check_content(root)  # from here on nobody can add to it
        lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DevFailure(f"cannot write the directory {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
            raise DevFailure(f"another run (process {owner}) already uses the directory {path}") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield StateDirectory(root, lock)
    finally:
        os.close(lock)


def running_port(path: Path) -> int:
    """The port of the control plane that runs in DIR right now.

    :raises DevFailure: none does, or DIR belongs to somebody else.
    """
    state = StateDirectory(path.absolute())
    if state.root.exists():
        _check_own(state.root)
    nothing = DevFailure(f"no control plane runs in the directory {path}: start one with extapi dev --dir {path}")
    try:
        lock = os.open(state.root / "lock", os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        raise nothing from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # somebody has it
    else:
        raise nothing
    finally:
        os.close(lock)
    try:
        return int(state.port.read_text())
    except (OSError, ValueError):
        raise DevFailure(f"the control plane in the directory {path} is still starting") from None


def open_new(path: Path) -> BinaryIO:
    """A file only its owner can read, made anew: whatever had the name, also a link to something else, is left alone."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")


def write_secret(path: Path, text: str) -> None:
    """Write a file only its owner can read; a reader sees the old or the new content, never a part."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)


def _check_own(root: Path) -> None:
    """That DIR, and the link to it if it is one, are ours: their owner could change everything in it later."""
    for status in (root.lstat(), root.stat()):
        _check_owner(root, status)


def _check_content(root: Path) -> None:
    """The same of all that is in it; links are not followed."""
    for directory, directories, files in os.walk(root, onerror=_raise):
        for name in (*directories, *files):
            entry = Path(directory, name)
            _check_owner(entry, entry.lstat())


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "it"
        raise DevFailure(
            f"{path}: {what} belongs to user {status.st_uid}, not to you ({os.geteuid()}): remove it, or choose another "
            "directory with --dir"
        )


def _raise(error: OSError) -> None:
    raise error
