"""Writing files that others must not read, and that nobody may see in part.

Knows bytes, modes and names. A replacement is written beside the file, made durable, and renamed: readers, and a
machine after a power cut, have the old content or the new one. Unfinished files keep the suffix by which
``.gitignore`` keeps keys out of a repository.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from extapi.certs.failure import CertsFailure

KEY_MODE = 0o600
CERTIFICATE_MODE = 0o644


def write_new(path: Path, content: bytes, *, mode: int = KEY_MODE, durable: bool = False) -> None:
    """Write a new file, created with its mode; ``durable``: it is on the disk when this returns.

    Raises:
        OSError: The file exists already, or cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(descriptor)


def replace(path: Path, content: bytes, *, mode: int) -> None:
    """Replace the content of a file atomically.

    Raises:
        OSError: It cannot be written; the old content is still there.
    """
    _write_beside(path, content, mode)
    beside(path).replace(path)
    _make_durable(path.parent)


def replace_pair(certificate: Path, certificate_pem: bytes, key: Path, key_pem: bytes) -> None:
    """Write a certificate and its key anew.

    Two names cannot be changed in one step. Both new files are complete before the first of them, the key, takes its
    place; :func:`finish_pair` finishes an interrupted replacement. A server that reads in between sees a pair that does
    not match and keeps its last good one (``listener/tls.py``).

    Raises:
        OSError: They cannot be written.
    """
    # The certificate first: without its key, nobody can use it.
    _write_beside(certificate, certificate_pem, CERTIFICATE_MODE)
    _write_beside(key, key_pem, KEY_MODE)
    _make_durable(key.parent)
    beside(key).replace(key)
    _make_durable(key.parent)
    finish_pair(certificate)


def finish_pair(certificate: Path) -> None:
    """The second step of :func:`replace_pair`, whose first is done.

    Raises:
        OSError: It cannot be done.
    """
    beside(certificate).replace(certificate)
    _make_durable(certificate.parent)


def take_place_of(path: Path, other: Path) -> None:
    """Rename durably; a file called ``other`` is replaced.

    Raises:
        OSError: It cannot be done.
    """
    path.replace(other)
    _make_durable(other.parent)


def discard(path: Path) -> None:
    """Remove the unfinished replacement of ``path``. If there is none, the file system may be read-only.

    Raises:
        OSError: It cannot be removed.
    """
    if os.path.lexists(beside(path)):
        beside(path).unlink()


def beside(path: Path) -> Path:
    """The path of an unfinished replacement: ``tls.unfinished.crt`` for ``tls.crt``."""
    return path.with_name(f"{path.stem}.unfinished{path.suffix}")


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Make the directory if needed, and lock it until the context ends.

    Raises:
        CertsFailure: Another process has locked it.
        OSError: It cannot be made or read.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CertsFailure(
                f"{directory}: another extapi certs is running here; try again when it has ended"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _write_beside(path: Path, content: bytes, mode: int) -> None:
    discard(path)
    write_new(beside(path), content, mode=mode, durable=True)


def _make_durable(directory: Path) -> None:
    """Flush the directory: a rename is on the disk only then."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
