"""What the README and the tutorial type, typed: word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.samples import PAGES, ROOT, blocks, commands, has_console, reader


def _typed() -> list[object]:
    """The pages with something to type; marked, where the real control plane is started."""
    return [
        pytest.param(page, id=page.stem, marks=[pytest.mark.kubernetes] if _starts_kube(page) else [])
        for page in PAGES
        if has_console(page)
    ]


def _starts_kube(page: Path) -> bool:
    typed = (command for block in blocks(page) if block.language == "console" for command, _ in commands(block))
    return any("--control-plane kube" in command for command in typed)


@pytest.mark.parametrize("page", _typed())
def test_it_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    with reader(tmp_path) as someone:
        someone.follow(page)
