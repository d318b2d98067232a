"""Logs: one JSON line an event, by structlog; what Twisted and the standard library log goes the same way.

Never holds bodies or headers: those who log say what they log.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

import msgspec
import structlog
from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogBeginner

from extapi.listener.call import Call

LONGEST = 2048
"""Characters of a text that a client has chosen, such as a URI; a request may have a million of them."""
LONGEST_EVENT = 16 * 1024
"""Characters of the text of any other event, and of its traceback."""

_LEVELS = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
    (0, "debug"),
)
"""From which number of :mod:`logging` on an event is called so: there may be others between."""

_encode_in_order = msgspec.json.Encoder(enc_hook=str).encode
_encode = msgspec.json.Encoder(enc_hook=str, order="deterministic").encode


def configure_logs(stream: BinaryIO) -> None:
    """Write to ``stream`` from now on. Called once a process, by the command."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.BytesLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    globalLogBeginner.beginLoggingTo([cast("ILogObserver", _observe)], redirectStandardIO=False, discardBuffer=True)
    root = logging.getLogger()
    if not root.handlers:  # an author who has chosen handlers wants those
        root.addHandler(_StandardLibrary())


class AccessLog:
    """One line a request, on the hot path of every one: encoded in one go, without the processors of other events.

    Neither headers nor bodies: they may hold secrets. ``clock``: seconds since the epoch.
    """

    def __init__(self, stream: BinaryIO, clock: Callable[[], float]) -> None:
        self._write = structlog.BytesLogger(stream).msg
        self._clock = clock
        self._second = -1
        self._prefix = ""

    def __call__(self, call: Call, status: int, size: int, seconds: float) -> None:
        """``status`` 0: the peer left before there was an answer; ``size``: bytes of the body that were sent."""
        now = self._clock()
        whole = int(now)
        if whole != self._second:
            self._second = whole
            self._prefix = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        line = {
            "event": "request",
            "level": "info",
            "timestamp": f"{self._prefix}.{int((now - whole) * 1e6):06d}Z",
            "method": call.method,
            "uri": _cut(call.target),
            "verb": call.info.verb,
            "status": status,
            "bytes": size,
            "ms": round(seconds * 1000, 3),
            "user": _cut(call.user.name) if call.user else "",
            "audit": _cut(call.audit_id),
        }
        if call.original_user is not None:
            line["impersonator"] = _cut(call.original_user.name)
        for name, value in call.log.items():
            line[name] = _cut(value) if isinstance(value, str) else value
        self._write(_encode_in_order(line))


def _cut(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning with how long it was."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


def _line(event: Any, **_: Any) -> bytes:
    return _encode(event)


def _observe(event: Any) -> None:
    """An event of Twisted's log, where it is worth a line."""
    level = event.get("log_level", LogLevel.info)
    if level < LogLevel.info:
        return
    failure = event.get("log_failure")
    details = {}
    if failure is not None:
        details["traceback"] = _traceback(failure.value, failure.getTracebackObject())
    if "component" in event:
        details["component"] = str(event["component"])
    name = {LogLevel.warn: "warning", LogLevel.critical: "critical"}.get(level, level.name)
    logger = structlog.get_logger()
    getattr(logger, name)(_cut(formatEvent(event), LONGEST_EVENT), source=event.get("log_namespace", ""), **details)


class _StandardLibrary(logging.Handler):
    """Takes what :mod:`logging` is told, by an author's code or a library."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it as an event of our own."""
        try:
            text = record.getMessage()
        except Exception as mismatch:  # noqa: BLE001 - a text that does not fit its arguments is no reason to fail elsewhere
            text = f"{record.msg!r} ({type(mismatch).__name__}: {mismatch})"
        error = record.exc_info[1] if record.exc_info else None
        details = {"traceback": _traceback(error, error.__traceback__)} if error is not None else {}
        level = next(name for least, name in _LEVELS if record.levelno >= least)
        getattr(structlog.get_logger(), level)(_cut(text, LONGEST_EVENT), source=record.name, **details)


def _traceback(error: BaseException, frames: Any) -> str:
    """As Python prints it, with the causes, which Twisted leaves out. If it is too long, its ends tell most."""
    text = "".join(traceback.format_exception(type(error), error, frames))
    if len(text) <= LONGEST_EVENT:
        return text
    half = LONGEST_EVENT // 2
    return f"{text[:half]}\n... ({len(text)} characters)\n{text[-half:]}"
