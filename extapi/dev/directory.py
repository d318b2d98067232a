"""DIR, which a local control plane keeps between starts: it belongs to us, and only one control plane uses it at a time.

DIR holds keys and may be in a directory that others can write, such as /tmp. So nothing in it may belong to another user:
neither a link that would redirect a write, nor a file that they may still have open.
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
from extapi.storage.room import full, lacking

ROOM = 1024 * 1024
"""Bytes that have to be free in DIR: a first run of the built-in control plane writes a quarter of that."""


@dataclass(frozen=True)
class StateDirectory:
    """The paths in DIR. All are absolute, since children run in other working directories."""

    root: Path
    lock: int = field(default=-1, compare=False)
    """The file descriptor that holds the lock; a process that inherits it holds the lock, too."""

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
    def address(self) -> Path:
        """Host and port of the control plane that runs here now."""
        return self.root / "address"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig: what the user exports."""
        return self.root / "kubeconfig"

    @property
    def storage(self) -> Path:
        """The database of the extension server, unless another storage is asked for."""
        return self.root / "storage.sqlite"

    @property
    def served(self) -> Path:
        """What the extension server serves now."""
        return self.root / "served.json"

    def credentials(self, user: str) -> Path:
        """The kubeconfig of a component."""
        return self.root / f"{user}.kubeconfig"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[StateDirectory]:
    """Make DIR if needed, accessible to its owner only, and lock it until the context ends.

    Raises:
        DevFailure: It cannot be written, it or something in it belongs to somebody else, or another run has it.
    """
    root = path.absolute()
    _check_length(root)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(root)
        root.chmod(0o700)
        _check_content(root)  # from here on no other user can add files
        lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DevFailure(
            f"cannot write the directory {path}: {full(root, error) or error.strerror}; choose another one with --dir"
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
            raise DevFailure(f"another run (process {owner}) already uses the directory {path}") from None
        check_room(root, ROOM)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield StateDirectory(root, lock)
    finally:
        os.close(lock)


def _check_length(root: Path) -> None:
    from extapi.storage.file import LONGEST  # noqa: PLC0415 - only a run of its own needs SQLite, and start-up counts

    size = len(os.fsencode(os.path.realpath(root)))
    most = LONGEST - len("/controlplane.sqlite")
    if size > most:
        raise DevFailure(
            f"the directory {root} has a path of {size} bytes, and SQLite opens no file in one of more than {most}: "
            "name a shorter one with --dir"
        )


def check_room(root: Path, size: int) -> None:
    """Check that there are ``size`` bytes in DIR before anything is written: otherwise keys are written by half, and logs end.

    Raises:
        DevFailure: There are not.
    """
    reason = lacking(root, size)
    if reason:
        raise DevFailure(
            f"there is not enough room in the directory {root}: {reason}; at least {size // 1024**2} MiB are needed: make room, or "
            "choose another directory with --dir"
        )


def running_at(path: Path) -> tuple[str, int]:
    """The host and port of the control plane that runs in DIR right now.

    Raises:
        DevFailure: None does, or DIR belongs to somebody else.
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
        pass  # locked: a control plane runs
    else:
        raise nothing
    finally:
        os.close(lock)
    try:
        host, _, port = state.address.read_text().rpartition(":")
        return host.strip("[]"), int(port)
    except (OSError, ValueError):
        raise DevFailure(f"the control plane in the directory {path} is still starting") from None


def open_new(path: Path) -> BinaryIO:
    """A new file that only its owner can read. A file or link that had the name is unlinked, not written."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read; readers see the old or the new content, never a part."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)


def _check_own(root: Path) -> None:
    """Check that DIR, and the link to it if it is one, are ours: another owner could change everything in it later."""
    for status in (root.lstat(), root.stat()):
        _check_owner(root, status)


def _check_content(root: Path) -> None:
    """Check the same for everything in it; links are not followed."""
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
