"""``docs/howto/three-replicas.md``, typed: three replicas on one etcd, on one machine, one of which is killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs import samples
from tests.docs.samples import ROOT, blocks, reader, write_files
from tests.etcds import Etcd, etcd
from tests.lastingport import lasting_port
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

PAGE = ROOT / "docs" / "howto" / "three-replicas.md"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Etcd]:
    """The reader's etcd."""
    (tmp_path / "etcd").mkdir()
    with etcd(tmp_path / "etcd") as running:
        yield running


def test_the_page(tmp_path: Path, member: Etcd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SECONDS", 300)  # of a busy machine
    write_files(PAGE, tmp_path)
    ports = {f"844{n}": str(lasting_port()) for n in (1, 2, 3)}
    with reader(tmp_path) as someone, _ended(tmp_path):
        someone.environment["ETCD"] = member.url
        for block in blocks(PAGE):
            if block.for_etcd:
                text = block.text.replace(
                    "--secure-port=844$n", f"--secure-port=$(echo {' '.join(ports.values())} | cut -d' ' -f$n)"
                )
                text = text.replace("127.0.0.1:844$n", f"127.0.0.1:$(echo {' '.join(ports.values())} | cut -d' ' -f$n)")
                for port, free in ports.items():
                    text = text.replace(port, free)
                someone.type(replace(block, text=text))


@contextlib.contextmanager
def _ended(directory: Path) -> Iterator[None]:
    """Whatever of it still runs in the end is ended."""
    try:
        yield
    finally:
        for file in directory.glob("*.pid"):
            pid = int(file.read_text())
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        for file in directory.glob("*.pid"):
            until(lambda file=file: not Path(f"/proc/{int(file.read_text())}").exists(), 40)  # type: ignore[misc]  # bound at once
