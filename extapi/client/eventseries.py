"""An event and how often it has happened, and the two forms in which servers take it: ``events.k8s.io/v1`` and the core group.

Pure. Knows neither when a series ends nor how it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extapi.api.timestamp import format_micro_timestamp, format_timestamp
from extapi.client.kube import Obj

NOTE, WORD = 1024, 128
"""Bytes in a note, and in a reason, action or instance (``pkg/apis/core/validation/events.go``)."""


@dataclass(eq=False, slots=True)
class EventSeries:
    """An event, and how often it has happened so far.

    Attributes:
        event: What both forms have in common, with the names of ``events.k8s.io/v1``.
        first: When it happened first, in seconds since the epoch.
        last: When it happened last.
        count: How often it happened.
        created: Whether the server has it.
        queued: Whether it waits to be written.
        written: When it was written last.
    """

    event: Obj
    first: float
    last: float
    count: int = 1
    created: bool = False
    queued: bool = False
    written: float = 0.0

    def new(self) -> Obj:
        """The event in ``events.k8s.io/v1``."""
        event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", **self.event}
        event["eventTime"] = format_micro_timestamp(self.first)
        if self.count > 1:
            event |= self.progress()
        return event

    def progress(self) -> Obj:
        """The fields that change while the series continues, in ``events.k8s.io/v1``."""
        return {"series": {"count": self.count, "lastObservedTime": format_micro_timestamp(self.last)}}

    def core(self) -> Obj:
        """The same event in the core group, in its older form."""
        event = dict(self.event)
        about, component, note = (event.pop(name) for name in ("regarding", "reportingController", "note"))
        return {
            "apiVersion": "v1",
            "kind": "Event",
            **event,
            "involvedObject": about,
            "message": note,
            "reportingComponent": component,
            "source": {"component": component},
            "firstTimestamp": format_timestamp(self.first),
            **self.core_progress(),
        }

    def core_progress(self) -> Obj:
        """The fields that change while the series continues, in the core group."""
        return {"count": self.count, "lastTimestamp": format_timestamp(self.last)}


def reference(obj: Mapping[str, Any]) -> dict[str, str]:
    """An ObjectReference (``client-go/tools/reference.GetReference``)."""
    metadata = obj.get("metadata") or {}
    found = {name: obj.get(name) for name in ("apiVersion", "kind")}
    found |= {name: metadata.get(name) for name in ("name", "namespace", "uid", "resourceVersion")}
    return {name: value for name, value in found.items() if value}


def identity(about: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What identifies an object. Not its resourceVersion, because a controller's own writes would end each series."""
    return tuple(item for item in about.items() if item[0] != "resourceVersion")


def cut(text: object, limit: int) -> str:
    """At most ``limit`` bytes, in characters: half of a surrogate pair, as in a file name that is not UTF-8, is replaced.

    Source: ``encoding/json`` appendString, which replaces what is not UTF-8.
    """
    text = str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode("utf-8", "ignore") + "..."
