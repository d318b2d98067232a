"""Which backend a URL names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend, UnusableStore
from extapi.storage.etcd.endpoints import EtcdOptions
from extapi.storage.file import UnusableFile
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend
from extapi.storage.url import check_url, open_backend
from tests.unit.storage.etcd.test_channel import Member, right


def test_servers_begin_with_different_members_of_etcd() -> None:
    """So that one member has not the watches of all servers. Forty times the same would be very bad luck."""

    async def ask(reactor: Any) -> None:
        members = [Member(reactor, right) for _ in range(2)]
        for _ in range(40):
            store = open_backend(
                "etcd:", reactor, EtcdOptions(servers=tuple(member.url for member in members), prefix="/x")
            )
            await store.revision()
            await store.close()
        assert all(member.calls for member in members)

    with private_reactor() as reactor:
        drive(reactor, ask(reactor))


def test_memory() -> None:
    with private_reactor() as reactor:
        assert isinstance(open_backend("memory:", reactor), MemoryBackend)


def test_a_path_is_relative_with_three_slashes_and_absolute_with_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with private_reactor() as reactor:

        async def write(store: Backend, revision: int) -> None:
            assert isinstance(store, SqliteBackend)
            assert await store.commit(b"/a", b"%d" % revision, expected=revision - 1 if revision > 2 else 0) == revision
            await store.close()

        drive(reactor, write(open_backend("sqlite:///one%20 two.db", reactor), 2))
        assert (tmp_path / "one%20 two.db").is_file()
        drive(reactor, write(open_backend(f"sqlite:///{tmp_path}/one%20 two.db", reactor), 3))
        # A name that SQLite would take for a store in memory.
        drive(reactor, write(open_backend("sqlite:///:memory:", reactor), 2))
        assert (tmp_path / ":memory:").is_file()
        (tmp_path / "a?b#c:d").mkdir()
        drive(reactor, write(open_backend("sqlite:///a?b#c:d/one.db", reactor), 2))
        assert (tmp_path / "a?b#c:d" / "one.db").is_file()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "memory://",
        "memory:x",
        "sqlite:",
        "sqlite:///",
        "sqlite:////",
        "sqlite://host/path",
        "sqlite:path",
        "sqlite:///dir/",
        "sqlite:///a.db?mode=ro",
        "sqlite:///a.db#x",
        "sqlite:///a#b/a.db?x",
        "sqlite:///a\0b",
        "etcd://localhost:2379",
        "/var/lib/store.db",
        "SQLITE:///a.db",
    ],
)
def test_anything_else_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        private_reactor() as reactor,
        pytest.raises(ValueError, match=r"expected memory: or sqlite:///PATH") as refused,
    ):
        open_backend(url, reactor)
    assert repr(url) in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    with private_reactor() as reactor, pytest.raises(UnusableFile, match="there is no directory"):
        open_backend(f"sqlite:///{tmp_path}/missing/store.db", reactor)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a package with entry points, as pip does: a module, and metadata beside it."""
    site = tmp_path / "site"
    metadata = site / "lastingstore-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lastingstore\nVersion: 1.0\n")
    (site / "lastingstore.py").write_text(
        "from extapi.storage.memory import MemoryBackend\n"
        "def opened(url, reactor):\n"
        "    if url != 'lasting://here':\n"
        "        raise ValueError('expected lasting://here')\n"
        "    return MemoryBackend(reactor)\n"
        "def nothing(url, reactor):\n"
        "    return url\n"
    )
    monkeypatch.syspath_prepend(site)

    def install(lines: str) -> None:
        (metadata / "entry_points.txt").write_text(f"[extapi.storage]\n{lines}\n")

    return install


def test_a_package_brings_a_store(installed: Callable[[str], None]) -> None:
    installed("lasting = lastingstore:opened")
    check_url("lasting://anywhere")
    with private_reactor() as reactor:
        assert isinstance(open_backend("lasting://here", reactor), MemoryBackend)
        with pytest.raises(UnusableStore, match="storage 'lasting://there': expected lasting://here"):
            open_backend("lasting://there", reactor)


def test_a_package_takes_no_name_of_extapi(installed: Callable[[str], None]) -> None:
    installed("memory = lastingstore:nothing\nsqlite = lastingstore:nothing")
    with private_reactor() as reactor:
        assert isinstance(open_backend("memory:", reactor), MemoryBackend)
        with pytest.raises(ValueError, match="expected memory: or sqlite"):
            open_backend("sqlite:x", reactor)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("lastingstore:missing", "lastingstore:missing cannot be imported"),
        ("lastingstores:opened", "lastingstores:opened cannot be imported"),
        ("lastingstore:nothing", "returned a str, which is no extapi.storage.base.Backend"),
    ],
)
def test_a_package_that_brings_no_store_says_so(installed: Callable[[str], None], value: str, why: str) -> None:
    installed(f"lasting = {value}")
    with private_reactor() as reactor, pytest.raises(UnusableStore, match=why):
        open_backend("lasting:", reactor)


def test_two_packages_that_bring_the_same_are_refused(installed: Callable[[str], None], tmp_path: Path) -> None:
    installed("lasting = lastingstore:opened")
    other = tmp_path / "site" / "otherstore-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: otherstore\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[extapi.storage]\nlasting = otherstore:opened\n")
    with pytest.raises(ValueError, match=r"several packages bring it: .*otherstore:opened"):
        check_url("lasting:")


def test_a_name_that_nobody_brings_is_refused(installed: Callable[[str], None]) -> None:
    installed("lasting = lastingstore:opened")
    with pytest.raises(ValueError, match="expected memory: or sqlite"):
        check_url("other:x")
