"""What an answer may be. Everything else is a finding.

The tables say what kube-apiserver's documentation and ``docs/reference/errors.md`` allow; nothing is asked of our code.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from tests.attack.fuzz.answers import Answer
from tests.attack.fuzz.api import EXPLODED
from tests.attack.fuzz.protobuf import status_of
from tests.attack.fuzz.requests import Request
from tests.attack.fuzz.spellings import APPLY

CPU = 1.0
"""Seconds of CPU that a request may take."""

REASONS: Mapping[int, tuple[str | None, ...]] = {
    400: ("BadRequest",),
    401: ("Unauthorized",),
    403: ("Forbidden",),
    404: ("NotFound",),
    405: ("MethodNotAllowed",),
    406: ("NotAcceptable",),
    408: ("", None),  # of a body that comes too slowly (RFC 9110, 15.5.9): Kubernetes has no reason for it
    409: ("AlreadyExists", "Conflict"),
    410: ("Expired", "Gone"),
    413: ("RequestEntityTooLarge",),
    415: ("UnsupportedMediaType",),
    422: ("Invalid",),
    429: ("TooManyRequests",),
    504: ("Timeout",),
}

_REFUSALS = frozenset({400, 401, 403, 404, 405, 406, 429, 504})
_WRITES = _REFUSALS | {408, 409, 413, 415, 422}

STATUSES: Mapping[str, frozenset[int]] = {
    "GET": _REFUSALS | {200, 304, 410, 422},
    "HEAD": _REFUSALS | {200, 304, 410, 422},
    "POST": _WRITES | {200, 201},
    "PUT": _WRITES | {200},
    "PATCH": _WRITES | {200},
    "APPLY": _WRITES | {200, 201},
    "DELETE": _WRITES | {200, 202, 410},
}
"""For each method, and for a PATCH that applies; others are refused."""

_FRAMING = frozenset({400, 405, 413, 417, 431, 501, 505})
"""Said by the listener, in plain text."""

_NEVER = (
    "Traceback",
    "panic",
    "object at 0x",
    "<class ",
    "extapi/",
    '.py"',
    "line 1, column",
    "msgspec",
    "NoneType",
    "KeyError",
    "TypeError",
)
"""Signs that something of the machinery shows."""

DESIGNED = (
    'message":"strconv.ParseUint: parsing',  # a resourceVersion in a body that is no number: kube-apiserver says the same
    '"message": "strconv.ParseUint: parsing',
    "message: 'strconv.ParseUint: parsing",
    'strconv.ParseUint: parsing "',  # in protobuf
    "resourceVersion should not be set on objects to be created",  # likewise
    "failed to create typed patch object (",  # an applied field that the schema does not have (behaviour E65)
    "conversion of Hubbed failed",  # the author's from_hub raises on purpose
)
"""Texts of answers with 500 that are meant."""


def _allowed(method: str, about: str) -> frozenset[int]:
    """The codes of a method; a path with ``watch/`` is a watch whatever the method (requestinfo.go, customresource_handler.go)."""
    allowed = STATUSES.get(method, _REFUSALS | {501})
    return allowed | STATUSES["GET"] if "/watch" in about else allowed


@dataclass(frozen=True)
class Finding:
    """Something that must not be. ``what`` groups findings; ``detail`` shows this one."""

    what: str
    detail: str


class _Bad(ValueError):
    pass


def strict_json(data: bytes) -> Any:
    """The value, if every JSON parser, and Go's into int64 and float64, takes it as the same. Raises ValueError."""
    return json.loads(
        data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Bad("a key occurs twice")
    for key in found:
        if max(key, default="") >= "\ud800" and any("\ud800" <= char <= "\udfff" for char in key):
            raise _Bad("a lone surrogate")
    return found


def _constant(text: str) -> NoReturn:
    raise _Bad(f"{text} is no JSON")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Bad(f"{text[:40]} is beyond float64")
    return value


def _int(text: str) -> float:
    """Go reads what an int64 does not hold as a float64."""
    if len(text) <= len("-9223372036854775808") and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    return _float(text)


def loaded(data: bytes) -> Any:
    """YAML as data."""
    return _as_go_reads(yaml.load(data, Loader=yaml.CSafeLoader))


def _as_go_reads(value: Any) -> Any:
    """Integers beyond int64 are floats."""
    if isinstance(value, dict):
        return {key: _as_go_reads(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_go_reads(item) for item in value]
    return float(value) if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value


class Judge:
    """Judges answers, one request at a time, and keeps what it finds."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.statuses: dict[int, int] = {}

    def add(self, what: str, detail: str) -> None:
        """Something is not as it must be."""
        self.findings.append(Finding(what, detail))

    def answers(self, request: Request, answers: list[Answer], *, complete: bool) -> None:
        """All answers to one request, or to bytes that hold any number of them."""
        for answer in answers:
            self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        if request.mangled is not None:
            for answer in answers:
                self.answer("HEAD" if request.method == "HEAD" else "", answer, request.short())
            return
        streams = len(answers) == 1 and answers[0].chunked and answers[0].status == 200
        if len(answers) != 1 or not (complete or streams):
            self.add(
                "no answer" if not answers else "not one answer",
                f"{[answer.status for answer in answers]} {request.short()}",
            )
            return
        applies = request.method == "PATCH" and ("Content-Type", APPLY) in request.headers
        self.answer("APPLY" if applies else request.method, answers[0], request.short())

    def answer(self, method: str, answer: Answer, about: str) -> Any:
        """One answer; its body as data, where it has one. ``method`` is empty where it is not known."""
        status = answer.status
        try:
            content = self._content(answer, head=method == "HEAD")
        except (ValueError, OSError, EOFError, yaml.YAMLError, RecursionError) as error:
            self.add("a body that cannot be read", f"{error} in {status} {answer.body[:200]!r} to {about}")
            return None
        text = answer.body[:20_000].decode("utf-8", "replace") if status >= 400 else ""
        signs = [sign for sign in _NEVER if sign in text and sign not in about]
        if status >= 500 and any(designed in text for designed in DESIGNED):
            signs = []
        if signs:
            self.add("machinery shows", f"{signs} in {status} {text[:300]} to {about}")
        if status in _FRAMING and answer.media == "text/plain":
            if not text.strip() and method != "HEAD":
                self.add("an empty refusal", f"{status} to {about}")
            return None
        if status in {429, 101}:
            return None
        if status in {400, 403} and not answer.media and not answer.body:
            return None  # a WebSocket's handshake is refused without a body, as by kube-apiserver
        if status >= 500 and status not in (501, 504):
            self._internal(status, text, content, about)
        elif method and status not in _allowed(method, about):
            self.add("an unexpected code", f"{status} {text[:300]} to {about}")
        elif status >= 400 and method != "HEAD":
            self._refusal(status, content, text, about)
        return content

    def _content(self, answer: Answer, *, head: bool) -> Any:
        if head or answer.status in (101, 204, 304) or not answer.body:
            return None
        body = gzip.decompress(answer.body) if answer.header("content-encoding") == "gzip" else answer.body
        if answer.media == "application/json":
            if answer.status == 200 and answer.streamed:
                return [strict_json(line) for line in body.split(b"\n")[:-1]]
            return strict_json(body)
        if answer.media == "application/yaml":
            return loaded(body)
        if answer.media == "application/vnd.kubernetes.protobuf" and answer.status >= 400:
            return status_of(body)
        return None

    def _internal(self, status: int, text: str, content: Any, about: str) -> None:
        """Some 500s are meant."""
        if any(designed in text for designed in DESIGNED):
            return
        if (status == 500 and "readyz" in about) or "livez" in about or "healthz" in about:
            return
        self.add("an answer of 5xx", f"{status} {text[:400]} to {about}")
        del content

    def _refusal(self, status: int, content: Any, text: str, about: str) -> None:
        if status == 404 and isinstance(content, dict) and "paths" in content:
            return
        if status == 504 and isinstance(content, dict) and content.get("reason") == "Timeout":
            return
        if (
            status == 404
            and content is None
            and ("healthz" in about or "livez" in about or "readyz" in about or "openapi" in about)
        ):
            return
        problems = []
        if not isinstance(content, dict):
            problems.append("is no object")
            content = {}
        else:
            if (
                content.get("kind") != "Status"
                or content.get("apiVersion") != "v1"
                or content.get("status") != "Failure"
            ):
                problems.append("is no Status")
            if content.get("code") != status:
                problems.append("has another code")
            if content.get("reason") not in REASONS.get(status, ()):
                problems.append(f"has the reason {content.get('reason')!r}")
            if not content.get("message"):
                problems.append("has no message")
        if problems:
            self.add("a refusal that is no good Status", f"{problems} {status} {text[:300]} to {about}")

    def cpu(self, seconds: float, about: str) -> None:
        """What a request took."""
        if seconds > CPU:
            self.add("more than a second of CPU", f"{seconds:.2f} s for {about}")

    def logged(self, events: list[str]) -> None:
        """Failures in the log, as text."""
        for event in events:
            if EXPLODED not in event:
                self.add("a failure in the log", event[-1500:])
