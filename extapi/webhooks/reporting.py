"""What the log is told when an author's code failed: its traceback, which no caller gets to see."""

from __future__ import annotations

from typing import Any

from twisted.logger import Logger
from twisted.python.failure import Failure

_log = Logger()


def report(text: str, error: BaseException) -> None:
    """Log a text with the traceback of an error."""
    untyped: Any = Failure
    _log.error("{text}", text=text, log_failure=untyped(error, type(error), error.__traceback__))
