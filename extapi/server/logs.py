"""Logs: one JSON line an event, by structlog; what Twisted and the standard library log goes the same way.

Never holds bodies or headers: those who log say what they log.
"""

from __future__ import annotations

import logging
from typing import Any, BinaryIO, cast

import msgspec
import structlog
from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogBeginner

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


def _line(event: Any, **_: Any) -> bytes:
    return _encode(event)


def _observe(event: Any) -> None:
    """An event of Twisted's log, where it is worth a line."""
    level = event.get("log_level", LogLevel.info)
    if level < LogLevel.info:
        return
    failure = event.get("log_failure")
    details = {"traceback": failure.getTraceback()} if failure is not None else {}
    name = {LogLevel.warn: "warning", LogLevel.critical: "critical"}.get(level, level.name)
    logger = structlog.get_logger()
    getattr(logger, name)(formatEvent(event), source=event.get("log_namespace", ""), **details)
