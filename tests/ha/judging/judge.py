"""The verdict on a history. Pure, and exact as far as the log goes: revisions give the order, so that no search is needed.

- Each change in the log is that of one write: sent so, at the revision that it expected, once, and not refused.
- Each acknowledged write is in the log, as acknowledged. An uncertain one (504, or no answer) may be or not.
- The order is that of real time: what ended before something else began has the smaller revision (linearizable, over all
  keys at once). An uncertain write has no end. Reads without a resourceVersion take part; reads with resourceVersion=0 and
  events of watches only show that a revision was there.
- A list is what there was at its revision, on all its pages.
- A watcher sees each change of its selection after the revision that it began at, once, in order, whatever broke; only after
  410 it begins anew, at a list.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from tests.ha.judging.history import Bookmark, Event, Gone, History, Listed, Opened, Version, Watch, Write
from tests.ha.judging.truth import Truth


class Finding(NamedTuple):
    """Something that a correct store never does; ``rule`` is one of those below."""

    rule: str
    text: str


LOG = "the log is in order, and each revision is one change"
FOREIGN = "each change is somebody's write"
LOST = "an acknowledged write is in the log"
DOUBLED = "a write is in the log once"
REFUSED = "a refused write is not in the log"
PREDECESSOR = "a write follows the revision that it expected"
CONTENT = "the log has what was sent"
STALE = "a consistent read shows what was acknowledged or seen before it began"
ORDER = "a write follows everything that ended before it began"
PHANTOM = "what is read was written"
MIXED = "a list is of one revision"
MISSED = "a watcher sees every change"
REPEATED = "a watcher sees no change again"
EVENT = "an event says what happened"
RESUMED = "a watcher begins anew only after 410, and not further back"
SHORT = "a watcher gets to the end"


def judge(history: History) -> list[Finding]:
    """Everything that is wrong; empty for a correct history."""
    truth = Truth(history.log)
    revisions = [version.revision for version in history.log]
    findings = [] if revisions == sorted(set(revisions)) else [Finding(LOG, f"{revisions[:50]}")]
    written: dict[str, int] = {}
    findings += _writes(history, truth, written)
    findings += _reads(history, truth)
    for watch in history.watches:
        findings += _watch(watch, truth, history.ends)
    findings += _order(history, truth, written)
    return findings


def happened(history: History) -> int:
    """How many of the uncertain writes are in the log."""
    written: dict[str, int] = {}
    list(_writes(history, Truth(history.log), written))
    return sum(write.result == "uncertain" and write.id in written for write in history.writes)


# -- writes against the log


def _writes(history: History, truth: Truth, written: dict[str, int]) -> Iterator[Finding]:
    """Tell for each change which write it is, into ``written``: the revision of each write's id."""
    by_id = {write.id: write for write in history.writes}
    deletes: dict[tuple[str, int], list[Write]] = defaultdict(list)
    for write in history.writes:
        if write.verb == "delete":
            deletes[write.key, write.expected].append(write)
    for version in truth.log:
        live = truth.live(version.revision)
        if version.content is None:
            found = _deleter(deletes[version.key, live.revision if live is not None else 0])
        else:
            found = by_id.get(version.content.get("op", ""))
        if found is None:
            yield Finding(FOREIGN, f"{version}")
            continue
        if found.id in written:
            yield Finding(DOUBLED, f"{found.id}: {written[found.id]} and {version.revision}")
            continue
        written[found.id] = version.revision
        yield from _written(found, version, live)
    for write in history.writes:
        if write.result == "acknowledged" and write.id not in written:
            yield Finding(LOST, f"{write}")


def _deleter(candidates: list[Write]) -> Write | None:
    """The delete that did it: nothing in the log names it, but of one revision only one can succeed.

    Of several uncertain ones any can have been it: that which began first constrains the order least.
    """
    order = ("acknowledged", "uncertain", "refused")
    return min(candidates, key=lambda write: (order.index(write.result), write.start), default=None)


def _written(write: Write, version: Version, live: Version | None) -> Iterator[Finding]:
    """One write, the change that it is, and what was there before."""
    if write.result == "refused":
        yield Finding(REFUSED, f"{write} is at {version.revision}")
    if write.result == "acknowledged" and write.revision and write.revision != version.revision:
        yield Finding(LOST, f"{write} is at {version.revision}")
    before = live.revision if live is not None else 0
    if (write.expected < 0 and live is None) or (write.expected >= 0 and write.expected != before):
        yield Finding(PREDECESSOR, f"{write} is at {version.revision}, after {before}")
    if version.content is not None:
        old = live.content if live is not None and write.verb == "patch" else {}
        if write.key != version.key or {**(old or {}), **write.sent} != version.content:
            yield Finding(CONTENT, f"{write} became {version}")


# -- reads against the log


def _reads(history: History, truth: Truth) -> Iterator[Finding]:
    for get in history.gets:
        if get.revision:
            version = truth.at.get(get.revision)
            if version is None or version.key != get.key or version.content != get.content:
                yield Finding(PHANTOM, f"{get}; the log has {version}")
    for listed in history.lists:
        yield from _list(listed, truth, history.ends)


def _list(listed: Listed, truth: Truth, ends: int) -> Iterator[Finding]:
    if len(set(listed.pages)) > 1:
        yield Finding(MIXED, f"pages of revisions {listed.pages}")
    if listed.revision > ends:
        yield Finding(PHANTOM, f"a list of revision {listed.revision}; the last is {ends}")
    wanted = {
        key: (version.revision, version.content) for key, version in truth.state(listed.revision, listed.half).items()
    }
    found = {item.key: (item.revision, item.content) for item in listed.items}
    if wanted != found or len(found) != len(listed.items):
        keys = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
        detail = [(key, found.get(key), wanted.get(key)) for key in keys]
        yield Finding(MIXED, f"a list of revision {listed.revision}: key, what it has, what there was: {detail}")


# -- watches against the log


def _watch(watch: Watch, truth: Truth, ends: int) -> Iterator[Finding]:
    at = -1
    anew = True
    for entry in watch.entries:
        if isinstance(entry, Listed):
            yield from _list(entry, truth, ends)
            if not anew or entry.revision < at:
                yield Finding(RESUMED, f"{watch.name} at {at} begins anew at {entry.revision}")
            at, anew = entry.revision, False
        elif isinstance(entry, Gone):
            anew = True
        elif isinstance(entry, Opened):
            if anew or entry.revision != at:
                yield Finding(RESUMED, f"{watch.name} at {at} asks from {entry.revision} on")
        elif isinstance(entry, Event):
            yield from _event(watch, entry, at, truth)
            at = max(at, entry.revision)
        elif isinstance(entry, Bookmark):
            following = truth.next_event(at, watch.half)
            if following is not None and following.revision <= entry.revision:
                yield Finding(MISSED, f"{watch.name} at {at}: a bookmark of {entry.revision} before {following}")
            at = max(at, entry.revision)
    following = truth.next_event(at, watch.half)
    if following is not None and following.revision <= ends:
        yield Finding(SHORT, f"{watch.name} ended at {at}, before {following}")


def _event(watch: Watch, event: Event, at: int, truth: Truth) -> Iterator[Finding]:
    following = truth.next_event(at, watch.half)
    if event.revision <= at:
        yield Finding(REPEATED, f"{watch.name} at {at}: {event}")
    elif following is None or event.revision < following.revision:
        yield Finding(EVENT, f"{watch.name} at {at}: {event}, which never happened")
    elif event.revision > following.revision:
        yield Finding(MISSED, f"{watch.name} at {at}: {event} before {following}")
    elif (event.kind, event.key, event.content) != (following.kind, following.key, following.content):
        yield Finding(EVENT, f"{watch.name} at {at}: {event}, but it was {following}")


# -- the order of everything


class _Operation(NamedTuple):
    start: float
    end: float
    spans: list[tuple[int, int]]
    """The revisions at which it can have happened."""
    rule: str
    """What is broken if it happened too early; empty: it is no matter."""
    what: object


def _order(history: History, truth: Truth, written: dict[str, int]) -> Iterator[Finding]:
    """Give each operation the smallest revision that it can have after all that ended before it began.

    If that fails no other choice works either: a greater one only constrains what follows more.

    An operation that can have happened at several times happened at none that began after its end. Else a stale read of an
    object that is not there yet would pass for one of its end, much later, and everything in between would be to blame.
    """
    ended: list[tuple[float, int]] = []
    floor = -1
    present = _Present(history, written)
    for operation in sorted(_operations(history, truth, written), key=lambda each: each.start):
        while ended and ended[0][0] < operation.start:
            floor = max(floor, heapq.heappop(ended)[1])
        least = floor + 1 if operation.rule == ORDER else floor if operation.rule else -1
        newest = present.newest(operation.end)
        spans = [span for span in operation.spans if span[0] <= newest] or operation.spans
        possible = [max(low, least) for low, high in spans if max(low, least) <= high]
        if not possible:
            yield Finding(operation.rule, f"{operation.what}: {floor} was there when it began")
        heapq.heappush(ended, (operation.end, min(possible, default=-1)))


class _Present:
    """The newest revision that can have been there at a time: it is older than each write that was sent after that."""

    def __init__(self, history: History, written: dict[str, int]) -> None:
        sent = sorted((write.start, written[write.id]) for write in history.writes if write.id in written)
        self._times = [start for start, _ in sent]
        self._oldest = list(accumulate((revision for _, revision in reversed(sent)), min))[::-1]
        self._ends = history.ends

    def newest(self, time: float) -> int:
        """At ``time``."""
        index = bisect_right(self._times, time)
        return self._oldest[index] - 1 if index < len(self._oldest) else self._ends


def _operations(history: History, truth: Truth, written: dict[str, int]) -> Iterator[_Operation]:
    for write in history.writes:
        revision = written.get(write.id)
        if revision is not None and write.result != "refused":
            end = write.end if write.result == "acknowledged" else float("inf")
            yield _Operation(write.start, end, [(revision, revision)], ORDER, write)
    for get in history.gets:
        spans = truth.when(get.key, get.revision)
        if spans:
            yield _Operation(get.start, get.end, spans, STALE if get.consistent else "", get)
    watched = [entry for watch in history.watches for entry in watch.entries]
    for entry in [*history.lists, *watched]:
        if isinstance(entry, Listed):
            span = (entry.revision, entry.revision)
            yield _Operation(entry.start, entry.end, [span], STALE if entry.consistent else "", entry)
        elif isinstance(entry, Event | Bookmark):
            yield _Operation(entry.time, entry.time, [(entry.revision, entry.revision)], "", entry)
