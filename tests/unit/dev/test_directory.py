from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from extapi.dev.directory import open_new, opened, running_at, write_secret
from extapi.dev.failure import DevFailure
from extapi.storage.file import LONGEST, StoreFile

NOBODY = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what belongs to others")


def test_it_is_made_for_its_owner_alone_with_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(Path("a/b")) as state:
        assert stat.S_IMODE((tmp_path / "a/b").stat().st_mode) == 0o700
        assert state.kubeconfig == tmp_path / "a/b/kubeconfig"


def test_a_second_run_is_refused_and_a_later_one_is_not(tmp_path: Path) -> None:
    with opened(tmp_path) as first:
        message = f"another run (process {os.getpid()}) already uses the directory {tmp_path}"
        with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"), opened(tmp_path):
            pass
    with opened(tmp_path) as second:
        assert second == first


def test_a_directory_in_which_sqlite_opens_nothing_is_refused_before_it_is_made(tmp_path: Path) -> None:
    room = LONGEST - len(f"{tmp_path}/a//controlplane.sqlite")
    names = ("x/" * room)[: room - 1] + "x"
    with opened(tmp_path / "a" / names) as state:
        StoreFile(state.objects).close()
    too_long = tmp_path / "ab" / names
    message = r"has a path of 485 bytes, .* more than 484: name a shorter one with --dir"
    with pytest.raises(DevFailure, match=message), opened(too_long):
        pass
    assert not (tmp_path / "ab").exists()


def test_a_run_that_has_not_said_who_it_is_is_named_so(tmp_path: Path) -> None:
    with opened(tmp_path):
        (tmp_path / "lock").write_text("")
        with pytest.raises(DevFailure, match=r"^another run \(process unknown\)"), opened(tmp_path):
            pass


def test_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "dir"):
        with pytest.raises(
            DevFailure,
            match=f"^cannot write the directory {path}: (File exists|Not a directory); choose another one with --dir$",
        ):
            opened(path).__enter__()


def test_a_secret_is_for_its_owner_alone_also_when_it_was_not_before(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    (tmp_path / "kubeconfig.unfinished").touch()
    write_secret(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["kubeconfig"]


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They could put their certificates where ours are looked for, and read the keys that are written there."""
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    message = rf"^{tmp_path}: it belongs to user {uid}, not to you \({uid + 1}\): remove it, or choose another directory with --dir$"
    with pytest.raises(DevFailure, match=message):
        opened(tmp_path).__enter__()
    with pytest.raises(DevFailure, match=message):
        running_at(tmp_path)


@pytest.mark.parametrize(
    ("text", "address"), [("127.0.0.1:6443\n", ("127.0.0.1", 6443)), ("[::1]:6443\n", ("::1", 6443))]
)
def test_the_address_of_a_run_that_has_ended_is_none(tmp_path: Path, text: str, address: tuple[str, int]) -> None:
    with opened(tmp_path) as state:
        state.address.write_text(text)
        assert running_at(tmp_path) == address
    with pytest.raises(DevFailure, match="no control plane runs in the directory"):
        running_at(tmp_path)


@only_root
@pytest.mark.parametrize(
    "what", ["log/extension-server.log", "kubeconfig", "lock", "storage.sqlite", "certificates", "etcd/data"]
)
def test_a_link_that_somebody_else_has_planted_is_refused(tmp_path: Path, what: str) -> None:
    """Made while DIR was open to all: what is written through it would overwrite a file of ours, or show them a key."""
    root, target = tmp_path / "dir", tmp_path / "precious"
    target.write_text("precious")
    link = root / what
    link.parent.mkdir(parents=True)
    root.chmod(0o777)
    link.symlink_to(target)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(DevFailure, match=rf"^{link}: a symbolic link belongs to user {NOBODY}, "):
        opened(root).__enter__()
    assert target.read_text() == "precious"
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


@only_root
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """They may have it open, and read what is written into it."""
    (tmp_path / "kubeconfig").touch()
    os.chown(tmp_path / "kubeconfig", NOBODY, NOBODY)
    with pytest.raises(DevFailure, match=r"kubeconfig: it belongs to user 65534, "):
        opened(tmp_path).__enter__()


@only_root
def test_a_link_of_somebody_else_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "mine")
    with opened(link):
        pass  # a link of our own is our own affair
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(DevFailure, match=r"link: a symbolic link belongs to user 65534, "):
        opened(link).__enter__()


def test_the_lock_is_never_a_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DevFailure, match="Too many levels of symbolic links"):
        opened(tmp_path).__enter__()
    assert not (tmp_path / "elsewhere").exists()


def test_a_new_file_leaves_alone_what_had_its_name(tmp_path: Path) -> None:
    precious, link, hard = tmp_path / "precious", tmp_path / "link", tmp_path / "hard"
    precious.write_text("precious")
    link.symlink_to(precious)
    hard.hardlink_to(precious)
    for path in (link, hard):
        with open_new(path) as file:
            file.write(b"log")
        assert path.read_text() == "log"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert precious.read_text() == "precious"
