"""Logs: one JSON object per line, written by structlog. Events of Twisted and the standard library go there, too.

Logs never contain bodies or headers, which may be secret.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, BinaryIO, cast

import msgspec
from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogBeginner

from extapi.http.request import Request
from extapi.server.structuredlog import structlog

LONGEST = 2048
"""Characters of a text that a client chose, such as a URI, which may have a million of them."""
LONGEST_EVENT = 16 * 1024
"""Characters of the text of other events, and of a traceback."""

_LEVELS = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
    (0, "debug"),
)
"""Names of levels, each with the least number of :mod:`logging` that has it; there may be numbers between."""

_encode_in_order = msgspec.json.Encoder(enc_hook=str).encode
_encode = msgspec.json.Encoder(enc_hook=str, order="deterministic").encode


def configure_logs(stream: BinaryIO, fields: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write all logs to ``stream`` from now on, with ``fields`` in each line. Called once per process."""
    configure_events(stream, fields)
    globalLogBeginner.beginLoggingTo([cast("ILogObserver", _observe)], redirectStandardIO=False, discardBuffer=True)
    root = logging.getLogger()
    if not root.handlers:  # handlers that an author chose stay alone
        root.addHandler(_StandardLibrary())


def configure_events(stream: BinaryIO, fields: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write what is logged with structlog to ``stream``; enough for a process that forks others and has no reactor."""

    def add_fields(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.update(fields)
        return event

    structlog.configure(
        processors=[
            *([add_fields] if fields else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.BytesLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )


class AccessLog:
    """Writes one line per request. As this happens for every request, structlog's processors are not used.

    Args:
        stream: Where to write.
        clock: Returns the seconds since the epoch.
        fields: What each line has besides.
    """

    def __init__(
        self, stream: BinaryIO, clock: Callable[[], float], fields: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self._fields = fields
        self._write = stream.write
        self._flush = stream.flush
        self._clock = clock
        self._second = -1
        self._prefix = ""

    def __call__(self, request: Request, status: int, size: int, seconds: float) -> None:
        """Write the line of a request.

        Args:
            request: The request.
            status: The status of the response; 0 if the client left before.
            size: Bytes of the body that were sent.
            seconds: How long it took.
        """
        now = self._clock()
        whole = int(now)
        if whole != self._second:
            self._second = whole
            self._prefix = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        line = {
            "event": "request",
            "level": "info",
            "timestamp": f"{self._prefix}.{int((now - whole) * 1e6):06d}Z",
            "method": request.method,
            "uri": request.target,
            "verb": request.info.verb,
            "status": status,
            "bytes": size,
            "ms": round(seconds * 1e6) / 1000,  # round() with a number of digits takes ten times as long
            "user": request.user.name if request.user else "",
            "audit": request.audit_id,
        }
        if request.original_user is not None:
            line["impersonator"] = request.original_user.name
        if request.audit_annotations:
            line["annotations"] = request.audit_annotations
        line |= request.log
        if self._fields:
            line |= self._fields
        data = _encode_in_order(line)
        if len(data) > LONGEST:
            if request.audit_annotations:
                line["annotations"] = {key: _cut(each, 128) for key, each in request.audit_annotations.items()}
            data = _encode_in_order(
                {name: _cut(each) if isinstance(each, str) else each for name, each in line.items()}
            )
        # Lines of structlog stay whole: each is one write.
        self._write(data + b"\n")
        self._flush()


def _cut(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning and its length."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


def _line(event: Any, **_: Any) -> bytes:
    return _encode(event)


def _observe(event: Any) -> None:
    """Log an event of Twisted's log, from the level info on; of what Twisted itself says, warnings and worse.

    That a factory starts, or that its main loop ends, tells an operator nothing.
    """
    level = event.get("log_level", LogLevel.info)
    namespace = str(event.get("log_namespace", ""))
    if level < (LogLevel.warn if namespace.startswith("twisted.") else LogLevel.info):
        return
    failure = event.get("log_failure")
    details = {}
    if failure is not None:
        details["traceback"] = _traceback(failure.value, failure.getTracebackObject())
    if "component" in event:
        details["component"] = str(event["component"])
    name = {LogLevel.warn: "warning", LogLevel.critical: "critical"}.get(level, level.name)
    logger = structlog.get_logger()
    getattr(logger, name)(_cut(formatEvent(event), LONGEST_EVENT), source=namespace, **details)


class _StandardLibrary(logging.Handler):
    """Receives events of :mod:`logging`, from authors' code and libraries."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record with structlog."""
        try:
            text = record.getMessage()
        except Exception as mismatch:  # noqa: BLE001 - a text that does not fit its arguments must not fail its caller
            text = f"{record.msg!r} ({type(mismatch).__name__}: {mismatch})"
        error = record.exc_info[1] if record.exc_info else None
        details = {"traceback": _traceback(error, error.__traceback__)} if error is not None else {}
        level = next(name for least, name in _LEVELS if record.levelno >= least)
        getattr(structlog.get_logger(), level)(_cut(text, LONGEST_EVENT), source=record.name, **details)


def _traceback(error: BaseException, frames: Any) -> str:
    """A traceback as Python prints it, with causes, which Twisted omits. A long one loses its middle."""
    text = "".join(traceback.format_exception(type(error), error, frames))
    if len(text) <= LONGEST_EVENT:
        return text
    half = LONGEST_EVENT // 2
    return f"{text[:half]}\n... ({len(text)} characters)\n{text[-half:]}"
