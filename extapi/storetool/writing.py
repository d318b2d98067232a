"""Writes a backup: beside its place first, so that a file of that name is always a whole one."""

from __future__ import annotations

import os
from pathlib import Path

from extapi.api.timestamp import format_timestamp
from extapi.console.display import Report
from extapi.console.failure import CommandFailure
from extapi.storetool.backupfile import BackupWriter, Header
from extapi.storetool.source import Source


async def write_backup(source: Source, path: Path, now: float, report: Report, *, replace: bool) -> int:
    """Write all entries of a source, readable by the owner of the file alone; they may be secrets.

    Args:
        source: What is backed up.
        path: The file.
        now: The time, in seconds since the epoch.
        report: Is told how far it is.
        replace: Whether there may be a file.

    Returns:
        The number of entries.

    Raises:
        CommandFailure: There is a file, or it cannot be written.
    """
    if not replace:
        _check_free(path)
    partial = path.with_name(f"{path.name}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            writer = BackupWriter(file, Header(source.revision, format_timestamp(now), source.name))
            async for entry in source.entries():
                writer.add(entry)
                report(writer.entries, 0)
            writer.end()
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise CommandFailure(f"{partial}: cannot be written: {error.strerror}") from error
    return writer.entries


def _check_free(path: Path) -> None:
    if path.exists():
        raise CommandFailure(f"{path} exists; name another file, or give --replace")


def _sync_directory(path: Path) -> None:
    """A new name is on the disk only when its directory is."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
