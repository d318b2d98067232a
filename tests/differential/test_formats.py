"""The short form of :mod:`tests.differential.formats`, and what is enforced at all."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from extapi.schema.formats import FORMATS
from tests.differential import formats
from tests.kubernetes import golang

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def program() -> Path:
    """Kubernetes' own code for formats; compiled ahead where all tests run."""
    return golang.formats()


@pytest.mark.parametrize("name", formats.SEEDS)
def test_strings_are_judged_alike(program: Path, name: str) -> None:
    texts = list(formats.strings(name, 2000, Random(name)))  # noqa: S311 - the same each time
    assert formats.different(program, name, texts) == []
    accepted = {formats.verdict(name, text) for text in texts}
    assert accepted == ({"y"} if name == "password" else {"y", "n"})


def test_the_same_formats_are_enforced(program: Path) -> None:
    assert {name.replace("-", "") for name in formats.SEEDS} == FORMATS.keys()
    names = (*formats.SEEDS, "datetime", "k8sshortname", *formats.NOT_ENFORCED)
    assert [name for name in names if formats.different(program, name, ["x"])] == []
