"""What the READMEs and the tutorial type, typed: word for word, on the control plane that they start and on the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.samples import PAGES, ROOT, has_console, reader
from tests.kubernetes.fixtures import planes


@pytest.mark.parametrize(
    "page", [page for page in PAGES if has_console(page)], ids=lambda page: str(page.relative_to(ROOT).with_suffix(""))
)
@pytest.mark.parametrize("plane", planes())
def test_it_prints_what_the_page_says(plane: str, page: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for package in (ROOT / "examples").glob("*/__init__.py"):
        (tmp_path / package.parent.name).symlink_to(package.parent)
    with reader(tmp_path, "" if plane == "builtin" else plane) as someone:
        someone.follow(page)
