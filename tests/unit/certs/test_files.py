from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from extapi.certs.failure import CertsFailure
from extapi.certs.files import beside, locked, replace, replace_pair, write_new
from tests.docs.samples import ROOT


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_a_key_is_never_readable_by_others_even_in_place_of_one_that_was(tmp_path: Path) -> None:
    path = tmp_path / "tls.key"
    path.write_bytes(b"old")
    assert path.stat().st_mode & 0o077
    replace(path, b"new", mode=0o600)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_a_new_file_is_not_written_over_another(tmp_path: Path) -> None:
    write_new(tmp_path / "a", b"1")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_what_an_interrupted_run_left_is_no_obstacle(tmp_path: Path) -> None:
    for name in ("tls.crt", "tls.key"):
        beside(tmp_path / name).write_bytes(b"half")
    replace_pair(tmp_path / "tls.crt", b"certificate", tmp_path / "tls.key", b"key")
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {"tls.crt": b"certificate", "tls.key": b"key"}


def test_a_reader_keeps_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(b"old and whole")
    with path.open("rb") as reader:
        replace(path, b"new", mode=0o644)
        assert reader.read() == b"old and whole"


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "next-ca.key", "tls.crt", "tls.key"])
def test_git_is_shown_neither_files_nor_what_is_unfinished(name: str) -> None:
    patterns = (ROOT / ".gitignore").read_text().splitlines()
    for path in (Path(name), beside(Path(name))):
        assert any(path.match(pattern) for pattern in patterns if "/" not in pattern), path


def test_two_do_not_work_in_one_directory(tmp_path: Path) -> None:
    other = (
        "import sys; from pathlib import Path; from extapi.certs.files import locked\n"
        "with locked(Path(sys.argv[1])): print('mine', flush=True); sys.stdin.read()"
    )
    directory = tmp_path / "new" / "certs"
    command = [sys.executable, "-c", other, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        with pytest.raises(CertsFailure, match=f"{directory}: another extapi certs is running here"), locked(directory):
            pass
        process.communicate()
    with locked(directory):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
