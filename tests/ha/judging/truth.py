"""The log as the judge asks it: what an object was, what a list had to be, which event comes next. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.ha.judging.history import Content, Event, Version

FOREVER = 2**62


def matches(content: Content | None, half: str) -> bool:
    """Whether an object is there, and in the chosen half; an empty ``half`` chooses all."""
    return content is not None and (not half or content.get("half") == half)


class Truth:
    """An index of the log, which has to be in order."""

    def __init__(self, log: Iterable[Version]) -> None:
        self.log = sorted(log, key=lambda version: version.revision)
        self.at = {version.revision: version for version in self.log}
        self.before: dict[int, Version | None] = {}
        """The version of the same object before each revision of the log; None before its first."""
        self._versions: dict[str, list[Version]] = defaultdict(list)
        for version in self.log:
            versions = self._versions[version.key]
            self.before[version.revision] = versions[-1] if versions else None
            versions.append(version)
        self._absences: dict[str, list[tuple[int, int]]] = {}
        self._events: dict[str, list[Event]] = {}
        self._revisions: dict[str, list[int]] = {}

    def live(self, revision: int) -> Version | None:
        """What the object was just before a revision of the log; None if it was not there."""
        before = self.before[revision]
        return before if before is not None and before.content is not None else None

    def state(self, revision: int, half: str = "") -> Mapping[str, Version]:
        """All objects as they were at a revision."""
        found = {}
        for key, versions in self._versions.items():
            index = bisect_right(versions, revision, key=lambda version: version.revision) - 1
            if index >= 0 and matches(versions[index].content, half):
                found[key] = versions[index]
        return found

    def when(self, key: str, revision: int) -> list[tuple[int, int]]:
        """From which revision to which an object was as a read saw it; revision 0: from when to when it was not there."""
        versions = self._versions.get(key, [])
        if revision == 0:
            if key not in self._absences:
                self._absences[key] = list(_absences(versions))
            return self._absences[key]
        index = bisect_left(versions, revision, key=lambda version: version.revision)
        if index == len(versions) or versions[index].revision != revision:
            return []
        return [(revision, _end(versions, index))]

    def next_event(self, after: int, half: str) -> Event | None:
        """The first event after a revision that a watch of ``half`` has to show; None if there is none."""
        if half not in self._events:
            self._events[half] = list(self._shown(half))
            self._revisions[half] = [event.revision for event in self._events[half]]
        index = bisect_right(self._revisions[half], after)
        return self._events[half][index] if index < len(self._events[half]) else None

    def _shown(self, half: str) -> Iterable[Event]:
        """Objects that leave the half are deleted to its watchers (``k8s.io/apiserver/pkg/storage/cacher`` cacheWatcher)."""
        for version in self.log:
            before = self.before[version.revision]
            old = before.content if before is not None else None
            was, is_now = matches(old, half), matches(version.content, half)
            if was or is_now:
                kind = "MODIFIED" if was and is_now else "ADDED" if is_now else "DELETED"
                content = version.content if is_now else old
                yield Event(0, kind, version.key, version.revision, content or {})


def _end(versions: Sequence[Version], index: int) -> int:
    """The last revision at which an object was as one of its versions is."""
    return versions[index + 1].revision - 1 if index + 1 < len(versions) else FOREVER


def _absences(versions: Sequence[Version]) -> Iterator[tuple[int, int]]:
    yield 0, versions[0].revision - 1 if versions else FOREVER
    for index, version in enumerate(versions):
        if version.content is None:
            yield version.revision, _end(versions, index)
