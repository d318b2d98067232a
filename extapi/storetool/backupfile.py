"""The file of a backup: all keys and values of a store at one revision, with a checksum over them.

A line that says what it is; then frames, each a length of four bytes (big-endian) and so many bytes of msgpack: a header, the entries in the
order of their keys, and at the end a trailer with their count and the SHA-256 of all bytes before it. Knows no stores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from extapi.console.failure import CommandFailure
from extapi.storage.base import KeyValue

MAGIC: Final = b"extapi backup 1\n"
LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a frame; a store takes no value that is nearly as long."""


class Header(msgspec.Struct, frozen=True):
    """What a backup is of."""

    revision: int
    """The revision of the store that was read; all entries are as old or older."""
    time: str
    """When, as in metadata (RFC 3339, UTC)."""
    source: str
    """The URL of the store."""


class _Trailer(msgspec.Struct, frozen=True):
    entries: int
    sha256: bytes


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    key: bytes
    value: bytes
    revision: int


_encode = msgspec.msgpack.Encoder().encode
_read_header = msgspec.msgpack.Decoder(Header).decode
_read_entry = msgspec.msgpack.Decoder(_Entry).decode
_read_trailer = msgspec.msgpack.Decoder(_Trailer).decode


class BackupWriter:
    """Writes a backup.

    Args:
        file: Where to; at its beginning.
        header: What the backup is of.
    """

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.entries = 0
        self._write(MAGIC)
        self._frame(_encode(header))

    def add(self, entry: KeyValue) -> None:
        """Write an entry; entries come in the order of their keys."""
        self._frame(_encode(_Entry(*entry)))
        self.entries += 1

    def end(self) -> None:
        """Write the trailer. Without it the file is no backup."""
        self._frame(_encode(_Trailer(self.entries, self._hash.digest())))

    def _frame(self, data: bytes) -> None:
        self._write(len(data).to_bytes(4, "big"))
        self._write(data)

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._hash.update(data)


class BackupReader:
    """A backup that is whole: all of it has been read once, and its checksum compared.

    Args:
        path: The file.

    Raises:
        CommandFailure: It is no backup, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self.header = Header(0, "", "")
        self.entries = 0
        try:
            with path.open("rb") as file:
                self._verify(file)
        except OSError as error:
            raise CommandFailure(f"{path}: cannot be read: {error.strerror}") from error

    def __iter__(self) -> Iterator[KeyValue]:
        """All entries, in the order of their keys."""
        with self._path.open("rb") as file:
            file.seek(len(MAGIC))
            self._frame(file)
            for _ in range(self.entries):
                entry = _read_entry(self._frame(file))
                yield KeyValue(entry.key, entry.value, entry.revision)

    def _verify(self, file: BinaryIO) -> None:
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            raise CommandFailure(f"{self._path}: this is no backup of this version of extapi")
        self._hash.update(magic)
        try:
            self.header = _read_header(self._hashed(file))
            last = b""
            while True:
                digest = self._hash.digest()
                frame = self._hashed(file)
                if frame[:1] != b"\x93":  # an array of three
                    break
                entry = _read_entry(frame)
                if entry.key <= last:
                    raise self._damaged()
                last = entry.key
                self.entries += 1
            trailer = _read_trailer(frame)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self._damaged() from None
        if trailer.sha256 != digest or trailer.entries != self.entries or file.read(1):
            raise self._damaged()

    def _hashed(self, file: BinaryIO) -> bytes:
        data = self._frame(file)
        self._hash.update(len(data).to_bytes(4, "big"))
        self._hash.update(data)
        return data

    def _frame(self, file: BinaryIO) -> bytes:
        prefix = file.read(4)
        length = int.from_bytes(prefix, "big")
        if len(prefix) < 4 or length > LONGEST:
            raise self._damaged()
        data = file.read(length)
        if len(data) < length:
            raise self._damaged()
        return data

    def _damaged(self) -> CommandFailure:
        return CommandFailure(f"{self._path}: the backup is damaged or incomplete; nothing was restored from it")
