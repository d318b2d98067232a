"""What the READMEs and the tutorial type, typed: word for word, on the control plane that they start and on the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.samples import PAGES, ROOT, has_console, reader, starts_a_control_plane
from tests.kubernetes.fixtures import planes


def cases() -> Iterator[object]:
    """Each page on every control plane; once where it starts none, or listens on a port that two could not share."""
    for page in filter(has_console, PAGES):
        name = str(page.relative_to(ROOT).with_suffix(""))
        several = starts_a_control_plane(page) and "--secure-port=8443" not in page.read_text(encoding="utf-8")
        for plane in planes() if several else planes()[:1]:
            yield pytest.param(*plane.values, page, id=f"{plane.id}-{name}", marks=plane.marks)


@pytest.mark.parametrize(("plane", "page"), list(cases()))
def test_it_prints_what_the_page_says(plane: str, page: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for package in (ROOT / "examples").glob("*/__init__.py"):
        (tmp_path / package.parent.name).symlink_to(package.parent)
    with reader(tmp_path, "" if plane == "builtin" else plane) as someone:
        someone.follow(page)
