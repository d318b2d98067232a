"""Requests to kube-apiserver as the operator: bounded, and with what came told in one form.

The calls block and may be made in several threads. Knows what a request is; knows nothing of what is asked.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from extapi.client.operatorclient import NoAnswer, Operator, TooLate, UnusableKubeconfig, operator
from extapi.doctor.facts import Reading

TOTAL = 12
"""How many times the bound of one request the whole run may take: a minute, unless ``--timeout`` says otherwise."""
LIMIT = 64 * 1024 * 1024
"""Bytes of an answer: the merged OpenAPI v2 of a large cluster has some ten."""
TEXT_LIMIT = 500
"""Characters of a message."""


class CannotAsk(Exception):
    """kube-apiserver cannot be asked. The text says what was tried and what to do."""


class ClusterReader:
    """kube-apiserver, as whoever the kubeconfig says.

    Args:
        operator: Its client.
        seconds: Bound of one request.
        total: Seconds from now until nothing more is asked.
        clock: This machine's time.
        timer: Seconds from any beginning.
    """

    def __init__(
        self,
        operator: Operator,
        *,
        seconds: float,
        total: float = math.inf,
        clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = operator.server
        self._operator = operator
        self._seconds = seconds
        self._clock = clock
        self._timer = timer
        self._end = timer() + total

    def left(self) -> float:
        """Seconds until the whole run is over, also for connections that are not to kube-apiserver."""
        return max(0.0, self._end - self._timer())

    def stop(self) -> None:
        """Let the whole run be over now: what is under way may end, nothing more is asked."""
        self._end = self._timer()

    def get(
        self, path: str, right: str, *, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> Reading:
        """What is at ``path``."""
        return self._send("GET", path + (f"?{urlencode(query)}" if query else ""), right, accept, None)

    def post(self, path: str, right: str, obj: dict[str, Any]) -> Reading:
        """The answer to a review; nothing that is kept is ever sent."""
        return self._send("POST", path, right, "application/json", json.dumps(obj).encode())

    def dry_run(self, method: str, path: str, right: str, obj: dict[str, Any], content_type: str) -> Reading:
        """The answer to a write that kube-apiserver does not keep (``dryRun=All``)."""
        query = urlencode({"dryRun": "All", "fieldManager": "extapi-doctor"})
        return self._send(method, f"{path}?{query}", right, "application/json", json.dumps(obj).encode(), content_type)

    def _send(
        self, method: str, path: str, right: str, accept: str, body: bytes | None, content: str = "application/json"
    ) -> Reading:
        headers = {"Accept": accept, "User-Agent": "extapi-doctor"}
        if body is not None:
            headers["Content-Type"] = content
        began = self._timer()
        seconds = min(self._seconds, self.left())
        if seconds <= 0:
            return Reading(right, over=True)
        try:
            answer = self._operator.request(method, path, headers, body, seconds=seconds)
            here = self._clock()
            data, complete = answer.read(LIMIT, lambda: self._timer() > began + seconds)
        except TooLate:
            return self._none(right, f"nothing within {self._seconds:g} seconds", began)
        except NoAnswer as error:
            return self._none(right, str(error), began)
        if complete and 200 <= answer.status < 300 and not _is_object(data):
            return self._none(right, f"the answer is not what was asked for, but says {_message(data)[:60]!r}", began)
        return Reading(
            right,
            status=answer.status,
            data=data,
            text="" if 200 <= answer.status < 300 else _message(data),
            seconds=self._timer() - began,
            date=_date(answer.headers.get("Date")),
            here=here,
            cut=not complete,
        )

    def _none(self, right: str, why: str, began: float) -> Reading:
        return Reading(right, text=why, seconds=self._timer() - began, over=self.left() <= 0)


def connect(kubeconfig: Path | None, context: str, *, seconds: float) -> ClusterReader:
    """The cluster that kubectl would talk to.

    Raises:
        CannotAsk: There is none.
    """
    try:
        return ClusterReader(operator(kubeconfig, context), seconds=seconds, total=TOTAL * seconds)
    except UnusableKubeconfig as error:
        raise CannotAsk(str(error)) from error


def _is_object(data: bytes) -> bool:
    """Whether it may be one that was asked for: a proxy may answer in kube-apiserver's place, with a page or a Status."""
    begin = data[:200].lstrip()
    return begin.startswith(b"{") and b'"kind":"Status"' not in begin.replace(b" ", b"")


def _message(data: bytes) -> str:
    """The message of a Status, or the beginning of whatever came instead."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        found = None
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return str(found["message"])[:TEXT_LIMIT]
    return data[: 4 * TEXT_LIMIT].decode("utf-8", "replace").strip()[:TEXT_LIMIT]


def _date(header: str | None) -> dt.datetime | None:
    try:
        found = parsedate_to_datetime(header) if header else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=dt.UTC)
