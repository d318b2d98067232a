"""Room on real file systems: small tmpfs in mount namespaces, by processes of their own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from extapi.storage.room import full, lacking

MOUNT = 'mount -t tmpfs -o "$1" small "$2" && shift 2 && exec "$@"'
ASK = "import sys; from pathlib import Path; from extapi.storage.room import lacking; {before}print(lacking(Path(sys.argv[1]), {size}))"


def asked(options: str, size: int, place: Path, before: str = "") -> str:
    """What is said of a file system with these options."""
    unshare = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", options, str(place)]
    command = [*unshare, sys.executable, "-c", ASK.format(size=size, before=before), str(place)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("options", "size", "said"),
    [
        ("size=128k", 128 * 1024, ""),
        ("size=128k", 128 * 1024 + 1, "No space left on device"),
        ("size=128k,nr_inodes=2", 1, ""),
        ("size=128k,nr_inodes=1", 1, "No space left on device (all inodes are in use)"),
        ("ro", 1, ""),
    ],
)
def test_what_fits_into_a_file_system(options: str, size: int, said: str, tmp_path: Path) -> None:
    """nr_inodes counts the directory itself (tmpfs(5)). That nothing can be written at all is for others to say."""
    assert asked(options, size, tmp_path) == said


def test_it_is_the_same_where_room_cannot_be_reserved(tmp_path: Path) -> None:
    before = "import os; del os.posix_fallocate; "
    assert asked("size=128k", 128 * 1024, tmp_path, before) == ""
    assert asked("size=128k", 128 * 1024 + 1, tmp_path, before) == "No space left on device"


def test_what_is_tried_leaves_nothing_behind(tmp_path: Path) -> None:
    assert lacking(tmp_path, 65536) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EDQUOT, "Disk quota exceeded"),
        (errno.ENOSPC, "No space left on device"),
        (errno.EACCES, ""),
        (errno.EROFS, ""),
    ],
)
def test_a_quota_is_as_a_full_disk(number: int, said: str, tmp_path: Path) -> None:
    assert full(tmp_path, OSError(number, os.strerror(number))) == said
