"""What the README and the tutorial type, typed: word for word, against the real control plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.samples import PAGES, ROOT, has_console, reader


@pytest.mark.kubernetes
@pytest.mark.parametrize("page", [page for page in PAGES if has_console(page)], ids=lambda page: page.stem)
def test_it_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    with reader(tmp_path) as someone:
        someone.follow(page)
