"""Compile ahead of need: ``python -m tests.kubernetes.upstream``, the control plane first, then the specs and the tests."""

from __future__ import annotations

import sys

from extapi.dev.build import programs
from extapi.dev.failure import DevFailure
from tests.kubernetes.customresources import program as customresources
from tests.kubernetes.upstream.program import agnhost, build


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command's output


if __name__ == "__main__":
    try:
        programs(_say)
        print(build(_say), agnhost(_say), customresources.build(_say))  # noqa: T201 - a command's output
    except DevFailure as failure:
        sys.exit(f"error: {failure}")
