from __future__ import annotations

import re
from pathlib import Path

import pytest

from extapi.server.loading import load_api

AUTHORS_MODULE = """
from extapi.api.definition import Api, Group, Kind, Version
from extapi.api.types import Object
class Thing(Object): pass
api = Api(Group("things.example.com", Kind("Thing", storage="v1", versions={"v1": Version(Thing)})))
number = 1
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # and taken away again
    (tmp_path / "authors_module.py").write_text(AUTHORS_MODULE)
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('two\\nlines')")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_a_module_in_the_working_directory_is_found() -> None:
    assert [group.name for group in load_api("authors_module:api").groups] == ["things.example.com"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("extapi.pizza", "'extapi.pizza' is not of the form MODULE:NAME, such as extapi.pizza:api"),
        (":api", "':api' is not of the form MODULE:NAME, such as extapi.pizza:api"),
        ("module:", "'module:' is not of the form MODULE:NAME, such as extapi.pizza:api"),
        ("no_module:api", "cannot import no_module: ModuleNotFoundError: No module named 'no_module'"),
        ("broken_module:api", "cannot import broken_module: RuntimeError: two lines"),
        ("authors_module:nothing", "module authors_module has no 'nothing'"),
        ("authors_module:number", "authors_module:number is int, not an extapi.Api"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(target: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load_api(target)
