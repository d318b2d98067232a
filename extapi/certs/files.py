"""Writing files that others must not read, and of which nobody may see a part.

Knows bytes, modes and names. A file that is replaced is written beside, made durable, and renamed: a reader, and a
machine that loses its power, has the old content or the new one. Names of what is unfinished keep their ending, by
which ``.gitignore`` keeps keys out of a repository.
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
    """A new file that has its mode from the beginning; ``durable``: on the disk when this returns.

    :raises OSError: it exists already, or cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(descriptor)


def replace(path: Path, content: bytes, *, mode: int) -> None:
    """Write the file anew, as one step.

    :raises OSError: it cannot be written; the old one is still there.
    """
    _write_beside(path, content, mode)
    beside(path).replace(path)
    _make_durable(path.parent)


def replace_pair(certificate: Path, certificate_pem: bytes, key: Path, key_pem: bytes) -> None:
    """Write a certificate and its key anew.

    Two names cannot be changed in one step. Both new files are complete before the first of them takes its place, the
    key: what ends in between is finished by :func:`finish_pair`. A server that looks in between sees a pair that does
    not match, and keeps its last good one (``listener/tls.py``).

    :raises OSError: they cannot be written.
    """
    # The certificate first: one that lies there without its key in place is of no use to anybody.
    _write_beside(certificate, certificate_pem, CERTIFICATE_MODE)
    _write_beside(key, key_pem, KEY_MODE)
    _make_durable(key.parent)
    beside(key).replace(key)
    _make_durable(key.parent)
    finish_pair(certificate)


def finish_pair(certificate: Path) -> None:
    """The second step of :func:`replace_pair`, whose first is done.

    :raises OSError: it cannot be done.
    """
    beside(certificate).replace(certificate)
    _make_durable(certificate.parent)


def take_place_of(path: Path, other: Path) -> None:
    """Rename, durably; what was called ``other`` is gone.

    :raises OSError: it cannot be done.
    """
    path.replace(other)
    _make_durable(other.parent)


def discard(path: Path) -> None:
    """Remove what is unfinished of ``path``. Where there is nothing, a file system that is read-only will do.

    :raises OSError: it cannot be removed.
    """
    if os.path.lexists(beside(path)):
        beside(path).unlink()


def beside(path: Path) -> Path:
    """Where a file is written until it is complete: ``tls.unfinished.crt`` for ``tls.crt``."""
    return path.with_name(f"{path.stem}.unfinished{path.suffix}")


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """The directory, made if needed and for nobody else until the end.

    :raises CertsFailure: another process has it.
    :raises OSError: it cannot be made or read.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CertsFailure(f"{directory}: another extapi certs is at work here; run this again after it") from None
        yield
    finally:
        os.close(descriptor)


def _write_beside(path: Path, content: bytes, mode: int) -> None:
    discard(path)
    write_new(beside(path), content, mode=mode, durable=True)


def _make_durable(directory: Path) -> None:
    """A rename is on the disk once its directory is."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
