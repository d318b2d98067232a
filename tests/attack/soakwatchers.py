"""The watchers of :mod:`tests.attack.soak`: many in one process, on one selector, each on a TLS connection of its own.

They note revision and type of every event, in order; what that should have been is judged elsewhere.
"""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import ssl
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

HEADERS = "Host: localhost\r\nX-Remote-User: watcher\r\nX-Remote-Group: system:masters\r\n"
GROUP = "/apis/restaurant.programming-kubernetes.info"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
KINDS = ("ADDED", "MODIFIED", "DELETED")
HANG_UP = 0.002
"""How likely a watcher that may hang up does so at one event."""


def code(revision: int, kind: str) -> int:
    """One event in one number."""
    return revision * len(KINDS) + KINDS.index(kind)


class Event(NamedTuple):
    """What the story has."""

    kind: str
    name: str
    namespace: str
    revision: int
    step: int
    batch: str


class Selection(NamedTuple):
    """What a watcher wants to be told of; empty: all."""

    namespace: str = ""
    batch: str = ""
    name: str = ""
    version: str = "v1beta1"
    form: str = "application/json"

    def matches(self, event: Event) -> bool:
        """Whether the object, as it is after the event, is selected."""
        return (
            (not self.namespace or event.namespace == self.namespace)
            and (not self.batch or event.batch == self.batch)
            and (not self.name or event.name == self.name)
        )

    def path(self) -> str:
        """Of the collection, with the selectors."""
        within = f"namespaces/{self.namespace}/" if self.namespace else ""
        selectors_ = f"&labelSelector=batch%3D{self.batch}" if self.batch else ""
        selectors_ += f"&fieldSelector=metadata.name%3D{self.name}" if self.name else ""
        return f"{GROUP}/{self.version}/{within}pizzas?allowWatchBookmarks=true{selectors_}"


@dataclass
class Part:
    """What was told after one revision, up to another."""

    after: int
    seen: int
    codes: array[int] = field(default_factory=lambda: array("Q"))


@dataclass
class Report:
    """All that one watcher was told. ``events``: of the story only."""

    selection: Selection
    story: bool = False
    parts: list[Part] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    watches: int = 0
    bookmarks: int = 0

    @property
    def seen(self) -> int:
        """The last revision."""
        return self.parts[-1].seen


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's name
    labels: dict[str, str] = {}


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Row(msgspec.Struct):
    object: _Object


class _Told(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    rows: list[_Row] = []
    code: int = 0


class _Line(msgspec.Struct):
    type: str
    object: _Told


_decode = msgspec.json.Decoder(_Line).decode


class _Watcher:
    """One of them."""

    def __init__(self, crowd: _Crowd, report: Report, *, hangs_up: bool) -> None:
        self.report = report
        self._crowd = crowd
        self._hangs_up = hangs_up
        self._socket: ssl.SSLSocket | None = None
        self._raw = b""
        self._head = True
        self._rest = b""

    def open(self) -> None:
        """Begin, or go on after what was seen."""
        part, selection = self.report.parts[-1], self.report.selection
        self._raw, self._rest, self._head = b"", b"", True
        self._socket = made = self._crowd.connect()
        head = f"GET {selection.path()}&watch=true&resourceVersion={part.seen} HTTP/1.1\r\n{HEADERS}Accept: {selection.form}\r\n\r\n"
        made.sendall(head.encode())
        made.setblocking(False)
        self.report.watches += 1
        self._crowd.selector.register(made, selectors.EVENT_READ, self)

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._crowd.selector.unregister(self._socket)
            self._socket.close()
            self._socket = None

    def ready(self) -> None:
        """Something came."""
        data = b""
        over = False
        open_ = self._socket
        assert open_ is not None
        try:
            while True:
                piece = open_.recv(65536)
                if not piece:
                    over = True
                    break
                data += piece
        except (ssl.SSLWantReadError, BlockingIOError):
            pass
        except OSError:
            over = True
        self._raw += data
        self._unframe()
        if over and self._socket is open_:
            self.close()
            self.open()

    def _unframe(self) -> None:
        if self._head:
            head, found, rest = self._raw.partition(b"\r\n\r\n")
            if not found:
                return
            self._head, self._raw = False, rest
            if head[9:12] != b"200":
                self._wrong(f"watch: {head[:200]!r}")
                return
        while self._socket is not None:
            size, found, rest = self._raw.partition(b"\r\n")
            if not found or len(rest) < (length := int(size, 16)) + 2:
                return
            chunk, self._raw = rest[:length], rest[length + 2 :]
            if not length:
                self.close()
                self.open()
                return
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for text in lines:
                if self._take(text):
                    return

    def _take(self, text: bytes) -> bool:
        """An event; whether the watch is another one now."""
        event = _decode(text)
        told, part = event.object, self.report.parts[-1]
        metadata = told.rows[0].object.metadata if told.rows else told.metadata
        if event.type == "ERROR":
            self.close()
            if told.code == 410:
                self._again()
            else:
                self._wrong(f"{text[:300]!r}")
            return True
        revision = int(metadata.resourceVersion or told.metadata.resourceVersion)
        if event.type == "BOOKMARK":
            self.report.bookmarks += 1
            if revision < part.seen:
                self._wrong(f"a bookmark at {revision} after {part.seen}")
            part.seen = max(part.seen, revision)
            return False
        if revision <= part.seen:
            self._wrong(f"{event.type} at {revision} after {part.seen}")
        part.seen = revision
        part.codes.append(code(revision, event.type))
        if self.report.story:
            labels = metadata.labels
            step, batch = int(labels.get("step", 0)), labels.get("batch", "")
            self.report.events.append(Event(event.type, metadata.name, metadata.namespace, revision, step, batch))
        if self._hangs_up and self._crowd.dice.random() < HANG_UP:
            self.close()
            self._crowd.later(self)
            return True
        return False

    def _again(self) -> None:
        """Too late to resume: go on from what is there now."""
        revision = self._crowd.revision(self.report.selection)
        self.report.parts.append(Part(revision, revision))
        self.open()

    def _wrong(self, text: str) -> None:
        self.report.problems.append(f"{self.report.selection}: {text}")


class _Crowd:
    """All watchers of this process."""

    def __init__(self, directory: Path, port: int, seed: int) -> None:
        self.selector = selectors.DefaultSelector()
        self.dice = random.Random(seed)  # noqa: S311 - who hangs up, and how long
        self._port = port
        self._context = ssl.create_default_context(cafile=str(directory / "serving-ca.pem"))
        self._context.load_cert_chain(directory / "proxy.crt", directory / "proxy.key")
        self._late: list[tuple[float, _Watcher]] = []

    def connect(self) -> ssl.SSLSocket:
        """A connection as the front proxy."""
        plain = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        return self._context.wrap_socket(plain, server_hostname="localhost")

    def revision(self, selection: Selection) -> int:
        """Where the collection is."""
        with self.connect() as connection:
            target = f"{GROUP}/{selection.version}/pizzas?limit=1"
            connection.sendall(f"GET {target} HTTP/1.1\r\n{HEADERS}Connection: close\r\n\r\n".encode())
            data = b""
            while piece := connection.recv(65536):
                data += piece
        return int(msgspec.json.decode(data.partition(b"\r\n\r\n")[2], type=_Told).metadata.resourceVersion)

    def later(self, watcher: _Watcher) -> None:
        """It comes back: mostly soon, sometimes too late to resume."""
        pause = self.dice.choice((0.0, 0.2, 1.0, 5.0, 150.0))
        self._late.append((time.monotonic() + pause, watcher))

    def run(self, ended: float) -> None:
        """Until then."""
        while (now := time.time()) < ended:
            for key, _ in self.selector.select(min(0.2, ended - now)):
                key.data.ready()
            due = [each for each in self._late if each[0] <= time.monotonic()]
            for each in due:
                self._late.remove(each)
                each[1].open()


def choose(dice: random.Random) -> Selection:
    """What one of many wants."""
    selection = Selection(version=dice.choice(("v1beta1", "v1beta1", "v1alpha1")))
    selection = selection._replace(form=dice.choice(("application/json", "application/json", TABLE, PARTIAL)))
    kind = dice.random()
    if kind < 0.1:
        return selection
    if kind < 0.4:
        return selection._replace(namespace=dice.choice(("one", "two", "three")))
    if kind < 0.8:
        namespace = dice.choice(("", "", "one"))
        return selection._replace(batch=str(dice.randrange(10)), namespace=namespace)
    return selection._replace(name=f"p-{dice.randrange(2)}-{dice.randrange(60)}")


def follow(
    directory: str, port: int, revision: int, ended: float, count: int, seed: int, *, story: bool
) -> list[Report]:
    """Watch until ``ended``, by ``count`` watchers; with ``story`` the first one follows all, without a break."""
    crowd = _Crowd(Path(directory), port, seed)
    watchers = []
    for number in range(count):
        told_all = story and number == 0
        selection = Selection() if told_all else choose(crowd.dice)
        report = Report(selection, story=told_all, parts=[Part(revision, revision)])
        watcher = _Watcher(crowd, report, hangs_up=not told_all and crowd.dice.random() < 0.5)
        watcher.open()
        watchers.append(watcher)
    # The story has to be the longest: what others see after its end could not be judged.
    crowd.run(ended if not story else ended + 1)
    for watcher in watchers:
        with contextlib.suppress(OSError):
            watcher.close()
    return [watcher.report for watcher in watchers]
