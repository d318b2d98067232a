"""Events of the core group: what happened to objects, for people to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from extapi import Column, Description, FieldError, Object, Strategy, Struct
from extapi.api.names import path_segment, qualified_name
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import Int32, ObjectReference, Reference, Text, Time, kind_of


class EventSource(Struct):
    """The reporter of an event."""

    component: Annotated[Text, Description("The program.")] = None
    host: Annotated[Text, Description("Where it runs.")] = None


class EventSeries(Struct):
    """The repetitions of an event."""

    count: Annotated[Int32 | None, Description("How often it has happened.")] = None
    last_observed_time: Annotated[Time, Description("When it happened last.")] = None


class Event(Object):
    """Something that happened to an object."""

    involved_object: Annotated[Reference, Description("What the event is about.")] = ObjectReference()
    reason: Annotated[Text, Description("Why, in one word for programs.")] = None
    message: Annotated[Text, Description("What happened, for people.")] = None
    source: EventSource = EventSource()
    first_timestamp: Annotated[Time, Description("When it happened first.")] = None
    last_timestamp: Annotated[Time, Description("When it happened last.")] = None
    count: Annotated[Int32 | None, Description("How often it happened.")] = None
    type: Annotated[Text, Description("Normal or Warning; there may be more.")] = None
    event_time: Annotated[Time, Description("When it happened first, in events of events.k8s.io.")] = None
    series: EventSeries | None = None
    action: Annotated[Text, Description("What was done or failed.")] = None
    related: Annotated[Reference | None, Description("A second object that is involved.")] = None
    reporting_component: Annotated[str, Description("The reporter, such as example.com/cooker.")] = ""
    reporting_instance: Annotated[str, Description("The process that reports it.")] = ""


class EventStrategy(Strategy):
    """An event is in the namespace of its object.

    Source: ``kubernetes/pkg/apis/core/validation/events.go`` legacyValidateEvent.
    """

    def validate(self, obj: Event, old: Event | None) -> Iterable[FieldError]:
        """Check the namespace, and that events with eventTime, the newer ones, are complete."""
        del old
        namespace, about = obj.metadata.namespace, obj.involved_object.namespace or ""
        legacy = obj.event_time is None
        allowed = {"default"} if legacy else {"default", "kube-system"}
        if (not about and namespace not in allowed) or (legacy and about and about != namespace):
            yield FieldError.invalid("involvedObject.namespace", about, "does not match event.namespace")
        if legacy:
            return
        if not obj.reporting_component:
            yield FieldError.required("reportingComponent")
        for problem in qualified_name(obj.reporting_component):
            yield FieldError.invalid("reportingComponent", obj.reporting_component, problem)
        for name, value, limit in (
            ("reportingInstance", obj.reporting_instance, 128),
            ("action", obj.action or "", 128),
            ("reason", obj.reason or "", 128),
        ):
            if not value:
                yield FieldError.required(name)
            if len(value.encode()) > limit:
                yield FieldError.invalid(name, "", f"can have at most {limit} characters")
        if len((obj.message or "").encode()) > 1024:
            yield FieldError.invalid("message", "", "can have at most 1024 characters")


def _first_seen(obj: dict[str, Any]) -> str:
    return str(obj.get("firstTimestamp") or obj.get("eventTime") or "")


def _last_seen(obj: dict[str, Any]) -> str:
    series = obj.get("series")
    last = obj.get("lastTimestamp") if series is None else series.get("lastObservedTime", "")
    return _first_seen(obj) if last is None else str(last)


def _target(obj: dict[str, Any]) -> str:
    about = obj["involvedObject"]
    kind = about.get("kind", "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _source(obj: dict[str, Any]) -> str:
    source = obj.get("source", {})
    host = source.get("host") or obj.get("reportingInstance")
    component = source.get("component") or obj.get("reportingComponent", "")
    return f"{component}, {host}" if host else component


def _reporter(obj: dict[str, Any]) -> str:
    """The value of the field ``source`` (``kubernetes/pkg/registry/core/event/strategy.go`` ToSelectableFields)."""
    return (obj.get("source") or {}).get("component") or obj.get("reportingComponent") or ""


def _count(obj: dict[str, Any]) -> int:
    series = obj.get("series")
    return series.get("count", 0) if series is not None else obj.get("count") or 1


EVENT = kind_of(
    Event,
    status=False,
    short_names=["ev"],
    columns=[
        Column("Last Seen", type="date", cell=_last_seen),
        Column("Type", cell=lambda obj: obj.get("type", "")),
        Column("Reason", cell=lambda obj: obj.get("reason", "")),
        Column("Object", cell=_target),
        Column("Subobject", cell=lambda obj: obj["involvedObject"].get("fieldPath", ""), priority=1),
        Column("Source", cell=_source, priority=1),
        Column("Message", cell=lambda obj: obj.get("message", "").strip()),
        Column("First Seen", type="date", cell=_first_seen, priority=1),
        Column("Count", type="integer", cell=_count, priority=1),
        Column("Name", ".metadata.name", format="name", priority=1),
    ],
    strategy=EventStrategy(),
    selectable=[
        *(
            f".involvedObject.{field}"
            for field in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        ),
        ".reason",
        ".reportingComponent",
        ".type",
    ],
    behaviour=built_in(
        MESSAGES,
        names=path_segment,
        qualified_finalizers=False,
        propagates=False,
        computed={"source": _reporter},
        zero={"involvedObject": {}, "source": {}, "reportingComponent": "", "reportingInstance": ""},
    ),
)
