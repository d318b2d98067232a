"""Whatever order a converter answers in, every watcher gets each event once and in order: by hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings, strategies as st

from extapi.api.selectors import parse_field_selector
from extapi.watch.encoding import ObjectEncoder
from extapi.watch.selection import Selection
from tests.unit.watch.bakery import Bakery
from tests.unit.watch.store import RecordingSink

V2 = ObjectEncoder("v2", "food.example/v2", "Pizza")
NAMES = "abc"
STEP = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(8, 10)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("tick"), st.just(""), st.just(0)),
    st.tuples(st.just("answer"), st.just(""), st.integers(0, 5)),
    st.tuples(st.just("get"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("watch"), st.sampled_from(["", "initial"]), st.integers(0, 1)),
    st.tuples(st.just("leave"), st.just(""), st.integers(0, 5)),
)


@dataclass
class Watcher:
    """A watch, and what it is to be sent."""

    sink: RecordingSink
    by_size: bool
    wanted: list[tuple[str, str, str]] = field(default_factory=list)
    left: bool = False

    def change(self, name: str, before: int | None, after: int | None) -> None:
        """A change is to be sent as the selection sees it (behaviour F12)."""
        was = before is not None and (not self.by_size or before == 9)
        now = after is not None and (not self.by_size or after == 9)
        if now:
            self.wanted.append(("MODIFIED" if was else "ADDED", name, str(after)))
        elif was:
            self.wanted.append(("DELETED", name, str(before)))


class Model:
    """The bakery beside what it should do."""

    def __init__(self) -> None:
        self.bakery = Bakery(objects=2, calls=2)
        self.sizes: dict[str, int] = {}
        self.watchers: list[Watcher] = []

    def put(self, name: str, size: int) -> None:
        self.bakery.put(name, size=size)
        self._tell(name, self.sizes.get(name), size)
        self.sizes[name] = size

    def remove(self, name: str, _: int) -> None:
        if name in self.sizes:
            self.bakery.remove(name)
            self._tell(name, self.sizes.pop(name), None)

    def _tell(self, name: str, before: int | None, after: int | None) -> None:
        for watcher in self.watchers:
            watcher.change(name, before, after)

    def tick(self, _: str, __: int) -> None:
        self.bakery.tick()

    def answer(self, _: str, number: int) -> None:
        waiting = self.bakery.projector.open
        if waiting:
            waiting[number % len(waiting)].finish()

    def get(self, name: str, _: int) -> None:
        self.bakery.ask(name)

    def watch(self, initial: str, by_size: int) -> None:
        text = "spec.size=9" if by_size else ""
        selection = Selection(fields=parse_field_selector(text), version="v2")
        sink, _ = self.bakery.watch(selection, key="v2", encoder=V2, initial=bool(initial))
        watcher = Watcher(sink, bool(by_size))
        self.watchers.append(watcher)
        if initial:
            for name in sorted(self.sizes):
                watcher.change(name, None, self.sizes[name])

    def leave(self, _: str, number: int) -> None:
        if self.watchers:
            watcher = self.watchers[number % len(self.watchers)]
            watcher.left = True
            watcher.sink.close()

    def check(self) -> None:
        """All that waits comes."""
        self.bakery.tick()
        self.bakery.answer()
        for watcher in self.watchers:
            sent: list[Any] = [
                (event["type"], event["object"]["metadata"]["name"], event["object"]["spec"]["size"])
                for event in watcher.sink.take()
            ]
            assert sent == (watcher.wanted[: len(sent)] if watcher.left else watcher.wanted)
            watcher.sink.close()
        assert self.bakery.cache._broadcaster._streams == {}
        self.bakery.close()


@given(st.lists(STEP, max_size=40))
@settings(max_examples=300, deadline=None)
def test_every_watcher_gets_each_event_once_and_in_order(steps: list[tuple[str, str, int]]) -> None:
    model = Model()
    for action, name, number in steps:
        getattr(model, action)(name, number)
    model.check()
