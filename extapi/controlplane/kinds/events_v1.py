"""Events of ``events.k8s.io``: the objects of the core group's events, with other names of fields and stricter rules.

Source: ``kubernetes/pkg/apis/events/v1`` conversion.go, and ``ValidateEventCreate`` and ``ValidateEventUpdate`` in
``pkg/apis/core/validation/events.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from extapi import Column, Description, FieldError, Object, Strategy, Struct
from extapi.api.behaviour import StoredAs
from extapi.api.timestamp import parse_timestamp
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds import events as core
from extapi.controlplane.kinds.events import EventSource
from extapi.controlplane.kinds.messages import EVENTS
from extapi.controlplane.kinds.parts import Int32, ObjectReference, Reference, Text, Time, kind_of


class EventSeries(Struct):
    """The repetitions of an event."""

    count: Annotated[Int32, Description("How often it has happened.")] = 0
    last_observed_time: Annotated[Time, Description("When it happened last.")] = None


class Event(Object):
    """Something that happened to an object."""

    event_time: Annotated[Time, Description("When it happened first.")] = None
    series: EventSeries | None = None
    reporting_controller: Annotated[Text, Description("The reporter, such as example.com/cooker.")] = None
    reporting_instance: Annotated[Text, Description("The process that reports it.")] = None
    action: Annotated[Text, Description("What was done or failed.")] = None
    reason: Annotated[Text, Description("Why, in one word for programs.")] = None
    regarding: Annotated[Reference, Description("What the event is about.")] = ObjectReference()
    related: Annotated[Reference | None, Description("A second object that is involved.")] = None
    note: Annotated[Text, Description("What happened, for people.")] = None
    type: Annotated[Text, Description("Normal or Warning.")] = None
    deprecated_source: Annotated[EventSource, Description("The source of an event of the core group.")] = EventSource()
    deprecated_first_timestamp: Annotated[Time, Description("When one of the core group happened first.")] = None
    deprecated_last_timestamp: Annotated[Time, Description("When one of the core group happened last.")] = None
    deprecated_count: Annotated[Int32 | None, Description("How often one of the core group happened.")] = None


_CORE = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
"""Fields with another name in the core group."""
_ALIKE = ("reason", "type", "eventTime", "series", "action", "related", "reportingInstance")
_NAMES = {**{name: name for name in _ALIKE}, **_CORE}


def as_core(obj: Obj) -> Obj:
    """The content of an event, with the core group's names."""
    return {theirs: obj[ours] for ours, theirs in _NAMES.items() if obj.get(ours) is not None}


def from_core(obj: Obj) -> Obj:
    """The reverse. Empty texts and counts are left out."""
    return {ours: obj[theirs] for ours, theirs in _NAMES.items() if obj.get(theirs) not in (None, "", 0)}


class EventStrategy(Strategy):
    """An event is complete when it is created. Only its series and metadata can change."""

    def validate(self, obj: Event, old: Event | None) -> Iterable[FieldError]:
        """Check the core group's rules and the stricter ones. Paths in errors have the core group's names, as in Kubernetes."""
        new = msgspec.to_builtins(obj)
        legacy = msgspec.convert({**new, **as_core(new)}, core.Event)
        for error in core.EventStrategy().validate(legacy, None):
            yield replace(error, path="reportingController") if error.path == "reportingComponent" else error
        if old is None:
            yield from _series(obj)
            yield from _complete(obj)
            return
        if obj.series != old.series:
            yield from _series(obj)
        yield from _changed(as_core(new), as_core(msgspec.to_builtins(old)))


def _series(obj: Event) -> Iterator[FieldError]:
    if obj.series is None:
        return
    if obj.series.count < 2:
        yield FieldError.invalid("series.count", "", "should be at least 2")
    if obj.series.last_observed_time is None:
        yield FieldError.required("series.lastObservedTime")


def _complete(obj: Event) -> Iterator[FieldError]:
    if obj.event_time is None:
        yield FieldError.required("eventTime")
    if obj.type not in {"Normal", "Warning"}:
        yield FieldError.invalid("type", "", f"has invalid value: {obj.type or ''}")
    deprecated = {
        "firstTimestamp": obj.deprecated_first_timestamp,
        "lastTimestamp": obj.deprecated_last_timestamp,
        "count": obj.deprecated_count,
        "source": obj.deprecated_source.component or obj.deprecated_source.host,
    }
    for name, value in deprecated.items():
        if value:
            yield FieldError.invalid(name, "", "needs to be unset")


_FROZEN = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def _changed(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Errors of changed fields that are immutable."""
    for name in _FROZEN:
        one, other = new.get(name) or None, old.get(name) or None
        if name == "eventTime":
            one, other = _moment(one), _moment(other)
        if one != other:
            path = "reportingController" if name == "reportingComponent" else name
            yield FieldError.invalid(path, new.get(name), "field is immutable")


def _moment(text: str | None) -> tuple[Any, str] | None:
    """A time, to the microsecond: clients may write fewer digits than they have read."""
    if not text:
        return None
    rest = text.partition(".")[2]
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return parse_timestamp(text), digits[:6].ljust(6, "0")


def _column(column: Column) -> Column:
    """A column of the core group's events, for these."""
    made = column.cell
    if made is None:
        return column
    empty: Obj = {"involvedObject": {}}
    return replace(column, cell=lambda obj: made({**empty, **as_core(obj)}))


EVENT = kind_of(
    Event,
    status=False,
    short_names=["ev"],
    columns=[_column(column) for column in core.EVENT.columns],
    strategy=EventStrategy(),
    selectable=[
        *(
            f".regarding.{field}"
            for field in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        ),
        ".reason",
        ".reportingController",
        ".type",
    ],
    behaviour=built_in(
        EVENTS,
        qualified_finalizers=False,
        propagates=False,
        zero={"regarding": {}, "deprecatedSource": {}},
        stored_as=StoredAs(group="", kind="Event", write=as_core, read=from_core),
    ),
)
