"""Plays plans on a fleet, and holds every answer, list and watch against the model."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from tests.attack.machine.api import ALL, robots
from tests.attack.machine.calls import NAMESPACES, Call, Key, request_of
from tests.attack.machine.fleet import Answer, Fleet, Watching
from tests.attack.machine.mirror import Mirror, Scope, Told, listed
from tests.attack.machine.model import History, State, outcome, read
from tests.attack.machine.plans import Turn, call_of, steps_in
from tests.attack.watching import Relist

MARKER: Final = Key(NAMESPACES[0], "marker")
"""Whoever has seen a write of this has seen all writes before."""
_WATCHERS: Final = 4


class Seen(NamedTuple):
    """A watcher, and what it must see."""

    watching: Watching
    mirror: Mirror


class Simulation:
    """One fleet and its clients; plan after plan."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._steps = itertools.count(1)
        self.done: deque[str] = deque(maxlen=30)
        """What was done last, for whoever looks for a fault."""
        self.counts: Counter[str] = Counter()
        self._applied: dict[tuple[str, Key], Call] = {}
        self.history = History(0, {})
        self._watchers: list[Seen] = []
        self._begin(self._list({}))

    @property
    def steps(self) -> int:
        """How many things were done."""
        return self.counts["steps"]

    # -- a plan

    def play(self, plan: Sequence[Turn], *, kill: bool = False, restart: bool = False) -> None:
        """All of a plan; then every watcher has to know what is there.

        Args:
            plan: What to do.
            kill: End the server with SIGKILL under the first calls.
            restart: End it in order before the last turn.

        Raises:
            AssertionError: Something was wrong.
        """
        try:
            for turn in plan:
                if restart and turn is plan[-1]:
                    self._converge()
                    self.fleet.restart()
                    self._step("restart")
                if turn.action == "calls" and kill:
                    kill = False
                    self._calls(turn, kill=True)
                else:
                    self._turn(turn)
            self._converge()
            self._begin(self._checked_list())
        except AssertionError as error:
            raise AssertionError("\n".join([*self.done, str(error)])) from error

    def close(self) -> None:
        """End all watchers, and the fleet."""
        self.fleet.close()

    def _begin(self, found: Mapping[str, Any]) -> None:
        """A new history, of what is there."""
        for each in self._watchers:
            self._end(each)
        uids = self.history.uids
        revision = int(found["metadata"]["resourceVersion"])
        self.history = History(revision, listed(found))
        self.history.uids |= uids
        self._watchers = []
        self._recorder = self._watch(Scope(), revision)

    def _step(self, text: str) -> None:
        self.counts["steps"] += 1
        self.done.append(text)

    def _turn(self, turn: Turn) -> None:
        if turn.action == "calls":
            self._calls(turn, kill=False)
            return
        self._step(f"{turn.action} {turn.number}")
        others = self._watchers[1:]  # the recorder stays
        chosen = others[turn.number % len(others)] if others else None
        if turn.action == "list":
            self._checked_list()
        elif turn.action == "watch":
            self._start_watch(turn.number)
        elif turn.action == "age":
            self.fleet.age()
        elif turn.action == "converge":
            self._converge()
        elif chosen is not None:
            if turn.action == "hold":
                chosen.watching.hold()
            else:
                chosen.watching.go_on()

    # -- calls

    def _calls(self, turn: Turn, *, kill: bool) -> None:
        calls = [self._call(wish) for wish in turn.wishes]
        if len(calls) > 1 or kill:  # the same step twice says nothing about which call it came from
            calls = list({call.step: call for call in calls}.values())
            calls = [
                call for call in calls if all(call.step not in steps_in(each) for each in self.history.objects.values())
            ]
        requests = [request_of(call) for call in calls]
        for call in calls:
            self._step(f"{'kill ' if kill else ''}{call}")
        if kill:
            answers = self.fleet.kill(requests, turn.number % (len(requests) + 1), turn.number % 100 / 20_000)
            self._check_after_kill(calls, answers)
        else:
            answers = self.fleet.send(requests)
        for call, answer in zip(calls, answers, strict=True):
            self.counts[f"{call.verb} {answer.status}"] += 1
            if call.verb == "apply" and answer.status < 300:
                self._applied[call.client, call.key] = call
        if len(calls) == 1 and not kill:
            self._settle(calls[0], answers[0])
        else:
            self._settle_together(calls, answers)

    def _call(self, wish: Any) -> Call:
        last = self._applied.get((wish.client, wish.key))
        return call_of(wish, next(self._steps), self.history.objects.get(wish.key), last)

    def _settle(self, call: Call, answer: Answer) -> None:
        """The answer to a call while there was no other."""
        before = self.history.objects.get(call.key)
        expected = outcome(call, before)
        assert answer.status == expected.status, f"{call}\nover {before}\ngot {answer}\ninstead of {expected.status}"
        if answer.status >= 400:
            return
        if expected.after is None:
            assert before is not None
            assert answer.body["details"]["uid"] == before.uid, (answer, before)
            self.history.add(call.key, None, 0)
            return
        found = answer.body["metadata"]
        after = replace(expected.after, uid=found["uid"], revision=int(found["resourceVersion"]))
        self._check_answer(call, answer, after)
        if before is None or expected.after != before:
            self.history.add(call.key, after, after.revision)
        else:
            assert after == before, f"{call} changed nothing, and {before} became {after}"

    @staticmethod
    def _check_answer(call: Call, answer: Answer, after: State) -> None:
        if call.verb in {"scale", "rescale"}:
            assert answer.body["spec"]["replicas"] == call.step, f"{call} got {answer}"
        else:
            shown = read(answer.body)
            assert shown == after, f"{call}\ngot {shown}\ninstead of {after}"

    def _settle_together(self, calls: Sequence[Call], answers: Sequence[Answer]) -> None:
        """The answers to calls that were under way together: the recorder says in which order they came."""
        marker = Call("merge", "alice", MARKER, next(self._steps), {})
        marker = replace(marker, content={"metadata": {}, "spec": {"step": marker.step}})
        if MARKER not in self.history.objects:
            marker = replace(marker, verb="create")
        (marked,) = self.fleet.send([request_of(marker)])
        assert marked.status in {200, 201}, f"the marker got {marked}"
        until = int(marked.body["metadata"]["resourceVersion"])
        watching, mirror = self._recorder
        came = self.fleet.await_(lambda: bool(watching.failures or mirror.violations) or _newest(watching) >= until)
        self._check(self._recorder)
        assert came, f"the recorder does not see {until}"
        if any(isinstance(each, Relist) for each in watching.told):
            self.counts["gaps"] += 1  # it was away for so long that nobody knows the order
            self._begin(self._list({}))
            return
        open_ = dict(zip(calls, answers, strict=True))
        states: dict[Key, list[State | None]] = {call.key: [self.history.objects.get(call.key)] for call in calls}
        for event in mirror.left():
            if event.revision < until:
                self._attribute(event, open_)
                states[event.state.key].append(self.history.objects.get(event.state.key))
        for call, answer in open_.items():
            if answer.status == 0:
                self.counts["in doubt, and did not happen"] += 1
                continue
            assert answer.status >= 400, f"lost: {call} got {answer}"
            could = [outcome(call, state).status for state in states[call.key]]
            assert answer.status in could, f"{call} got {answer}, and could get {could}"
        self._settle(marker, marked)

    def _attribute(self, event: Told, open_: dict[Call, Answer]) -> None:
        """An event comes from one of the calls, and is what that call makes of what was there."""
        key, before = event.state.key, self.history.objects.get(event.state.key)
        if event.kind == "DELETED":
            assert before is not None, f"{event}, and nothing was there"
            assert before == replace(event.state, revision=before.revision), f"{event} over {before}"
            found = [
                call
                for call in open_
                if call.verb == "delete" and call.key == key and outcome(call, before).status == 200
            ]
            found = [call for call in found if open_[call].status in {0, 200}]
            # Of those without an answer, any could be it.
            found.sort(
                key=lambda call: open_[call].status == 200 and open_[call].body["details"]["uid"] == before.uid,
                reverse=True,
            )
            assert found, f"nobody deleted {event}"
            self._take(found[0], open_)
            self.history.add(key, None, event.revision)
            return
        news = steps_in(event.state) - steps_in(before)
        found = [call for call in open_ if call.key == key and call.step in news]
        assert len(found) == 1, f"{event}\nover {before}\ncomes from {found}"
        expected = outcome(found[0], before)
        assert expected.status < 300, f"{found[0]}\nover {before}\nwas done, and must get {expected.status}"
        assert expected.after is not None
        after = replace(expected.after, uid=expected.after.uid or event.state.uid, revision=event.revision)
        kind = "ADDED" if before is None else "MODIFIED"
        assert event == Told(kind, after), f"{event}\ninstead of {kind} {after}\nfor {found[0]}"
        answer = self._take(found[0], open_)
        if answer.status:
            assert answer.status == expected.status, f"{found[0]} got {answer}, and {event}"
            assert answer.body["metadata"]["resourceVersion"] == str(event.revision), (answer, event)
            self._check_answer(found[0], answer, after)
        self.history.add(key, after, event.revision)

    def _take(self, call: Call, open_: dict[Call, Answer]) -> Answer:
        answer = open_.pop(call)
        if not answer.status:
            self.counts["in doubt, and happened"] += 1
        return answer

    def _check_after_kill(self, calls: Sequence[Call], answers: Sequence[Answer]) -> None:
        """Nothing that was acknowledged is gone: the list is not older."""
        revision = int(self._list({})["metadata"]["resourceVersion"])
        told = [self.history.newest]
        for call, answer in zip(calls, answers, strict=True):
            if answer.status in {200, 201} and call.verb != "delete":
                told.append(int(answer.body["metadata"]["resourceVersion"]))
        assert revision >= max(told), f"the store is at {revision}, and {max(told)} was acknowledged"

    # -- reads

    def _list(self, query: Mapping[str, str], path: str = ALL) -> Mapping[str, Any]:
        answer = self.fleet.ask(path, query)
        assert answer.status == 200, f"a list got {answer}"
        found: Mapping[str, Any] = answer.body
        return found

    def _checked_list(self) -> Mapping[str, Any]:
        found = self._list({})
        assert listed(found) == self.history.objects, f"listed {listed(found)}\ninstead of {self.history.objects}"
        revision = int(found["metadata"]["resourceVersion"])
        assert revision >= self.history.newest, f"a list of {revision}, after {self.history.newest}"
        return found

    def _start_watch(self, number: int) -> None:
        """From the present or from somewhere in the past; of everything, of a namespace, or of a label."""
        if len(self._watchers) > _WATCHERS:
            oldest = self._watchers.pop(1)
            oldest.watching.go_on()
            self._await([oldest])
            self._end(oldest)
        known = [self.history.begin, *(each.revision for each in self.history.changes if each.revision)]
        scope = (Scope(), Scope("a"), Scope("", "red"), Scope("b", "blue"))[number % 4]
        self._watch(scope, known[-1 - number // 4 % len(known)])

    def _watch(self, scope: Scope, revision: int) -> Seen:
        path = robots(scope.namespace) if scope.namespace else ALL
        query = {"labelSelector": f"team={scope.team}"} if scope.team else {}
        watching = self.fleet.follow(path, query, revision)
        made = Seen(watching, Mirror(self.history, scope, watching.told, revision))
        self._watchers.append(made)
        self.counts["watches"] += 1
        return made

    def _converge(self) -> None:
        """Every watcher comes back, and has to know what is there."""
        for each in self._watchers:
            each.watching.go_on()
        self._await(self._watchers)

    def _await(self, watchers: Sequence[Seen]) -> None:
        self.fleet.await_(lambda: not any(each.mirror.missing() and not _failed(each) for each in watchers))
        for each in watchers:
            self._check(each)
            missing = each.mirror.missing()
            assert not missing, f"never told to {each.mirror}: {missing}"

    @staticmethod
    def _check(seen: Seen) -> None:
        seen.mirror.judge()
        assert not _failed(seen), "\n".join([*seen.mirror.violations, *seen.watching.failures])

    def _end(self, seen: Seen) -> None:
        seen.watching.end()
        self._check(seen)
        left = seen.mirror.left()
        assert not left, f"told, and it did not happen: {left}"
        self.counts["events"] += seen.mirror.events
        self.counts["relists"] += seen.mirror.relists


def _failed(seen: Seen) -> bool:
    return bool(seen.mirror.violations or seen.watching.failures)


def _newest(watching: Watching) -> int:
    return watching.told[-1].revision if watching.told else 0
