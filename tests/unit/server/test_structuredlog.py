"""structlog without rich."""

from __future__ import annotations

import subprocess
import sys


def _imported(code: str) -> list[str]:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_a_server_does_without_rich() -> None:
    assert _imported("import sys, extapi.server.process; print('structlog' in sys.modules, 'rich' in sys.modules)") == [
        "True",
        "False",
    ]


def test_rich_can_be_imported_all_the_same() -> None:
    after = "import extapi.server.structuredlog, rich.console; print(rich.console.Console.__name__)"
    assert _imported(after) == ["Console"]
    before = "import rich, extapi.server.structuredlog, structlog.dev; print(structlog.dev.rich is rich)"
    assert _imported(before) == ["True"]
