"""The file in which a migration notes how far it is: one resource at a time."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.migration import MigrationPosition

_LARGEST = 1024 * 1024
"""Bytes: a continue token has a few hundred."""


def load(path: Path, server: str, resource: str) -> MigrationPosition | None:
    """The position of a run that was not finished; None if the file is of another migration, or there is none.

    Raises:
        TakeoverFailure: The file is none of ours.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST)
        found = msgspec.json.decode(data, type=MigrationPosition)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise TakeoverFailure(f"{path}: no position of a migration: {error}; name another file") from error
    is_this = (found.server, found.resource) == (server, resource)
    return found if is_this and not found.finished else None


def save(path: Path, position: MigrationPosition) -> None:
    """Replace the file, so that a kill leaves the old or the new one.

    Raises:
        TakeoverFailure: It cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("wb") as file:
            file.write(msgspec.json.encode(position))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise TakeoverFailure(f"{path}: cannot be written: {error.strerror}") from error
