"""Lets the disk under a server fail while it is written, and looks for what is lost, told wrongly, or does not heal.

``python -m tests.attack.disk --rounds 60``: each round is a fault of the file's disk, of random likelihood, under eight
writers and two watchers; every other one ends with SIGKILL while the fault lasts.
"""

from __future__ import annotations

import argparse
import errno
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.cluster import Cluster
from tests.attack.faultydisk import SEEN, Fault, FaultyDisk, Operation
from tests.attack.judging import Judge, reused
from tests.attack.table import exit_status, say, table
from tests.attack.watching import Event, Watcher, read
from tests.attack.writing import LINES, TARGET, UNAVAILABLE, Attempt, Ledger, Writer, mark
from tests.conformance.serving import Serving
from tests.waiting import until

WRITERS = 8
REFUSING = (
    Fault(Operation.WRITE, errno.EIO),
    Fault(Operation.WRITE, errno.ENOSPC),
    Fault(Operation.WRITE, errno.EDQUOT),
    Fault(Operation.WRITE, errno.EROFS),
    Fault(Operation.WRITE, errno.ENOSPC, mode=1),
    Fault(Operation.SYNC, errno.EIO),
    Fault(Operation.SYNC, errno.EIO, mode=5),
    Fault(Operation.SYNC, errno.ENOSPC),
)
"""Those with which no write can succeed. Locks are not among them: SQLite waits ten seconds for each before it gives up."""
BESIDE = (
    Fault(Operation.READ, errno.EIO),
    Fault(Operation.TRUNCATE, errno.EIO),
    Fault(Operation.UNLINK, errno.EIO),
    Fault(Operation.MAP, errno.ENOMEM),
    Fault(Operation.OPEN, errno.EIO),
    Fault(Operation.SYNC, delay=300),
)
"""Those with which writes may succeed: what is needed may be in memory, or open."""
AT_START = (
    Fault(Operation.OPEN, errno.EROFS),
    Fault(Operation.OPEN, errno.ENOSPC),
    Fault(Operation.READ, errno.EIO),
    Fault(Operation.WRITE, errno.ENOSPC),
    Fault(Operation.LOCK, errno.ENOLCK),
    Fault(Operation.MAP, errno.ENOMEM),
)
STORM = 25
"""More tracebacks than this of one fault are a storm, however many requests failed."""


class Disk:
    """One server on a disk that can fail, its writers and its watchers."""

    def __init__(self, directory: Path, cluster: Cluster, seed: int) -> None:
        kubeconfig = cluster.kubeconfig(directory / "kubeconfig")
        self.disk = FaultyDisk(directory, directory / "store.db")
        self.serving = Serving(directory, kubeconfig, target=TARGET, environment=self.disk.environment)
        self.ledger = Ledger(seed)
        self.problems: list[str] = []
        self._writers: list[Writer] = []
        self._killed = False
        self.serving.start()
        listed = self.serving.request("GET", LINES)[1]
        truth: dict[int, Event] = {}
        self.watchers = [Watcher(self.serving, int(listed["metadata"]["resourceVersion"])) for _ in range(2)]
        self.judges = [Judge(self.ledger, truth, may_be_there=self._may_be_there) for _ in self.watchers]
        self._unsure = False
        for each in self.watchers:
            each.start()
        until(lambda: all(each.watches for each in self.watchers), 30)

    def _may_be_there(self, attempt: Attempt) -> bool:
        """A commit of which the disk says, after it took the data, that it failed: a crash may bring it back."""
        return self._unsure and attempt.status in UNAVAILABLE

    def violations(self) -> list[str]:
        """What was found so far."""
        found = [text for judge in self.judges for text in judge.violations]
        found += [text for watcher in self.watchers for text in watcher.failures]
        return self.problems + found + self.ledger.strange + reused(self.ledger)

    def write(self) -> None:
        """Begin to write."""
        self._writers = [Writer(self.serving, self.ledger, number) for number in range(WRITERS)]
        for writer in self._writers:
            writer.start()

    def rest(self) -> None:
        """Write no more."""
        for writer in self._writers:
            writer.end()
        for writer in self._writers:
            writer.join(90)
        self._writers = []

    def succeed(self, further: int = 20) -> None:
        """Until so many more writes were acknowledged."""
        wanted = self.ledger.acknowledged() + further
        until(lambda: self.ledger.acknowledged() >= wanted or self.ledger.strange, 90)

    def fail(self, further: int = 50) -> None:
        """Until so many more writes were refused."""
        wanted = len(self.ledger.refused()) + further
        until(lambda: len(self.ledger.refused()) >= wanted or self.ledger.strange, 90)

    def expect(self, good: bool, *what: object) -> None:
        """Note a problem."""
        if not good:
            self.problems.append(" ".join(map(str, what)))

    def reads_go_on(self, fault: Fault, count: int = 5) -> None:
        """Reads of what is there are answered from memory; those of the past may fail cleanly."""
        for _ in range(count):
            status, answer = self.serving.request("GET", LINES)
            self.expect(status == 200, fault, "list", status, answer)
        revision = self.watchers[0].seen
        path = f"{LINES}?resourceVersion={max(1, revision - 1)}&resourceVersionMatch=Exact&limit=1"
        status, answer = self.serving.request("GET", path)
        clean = status in {200, 410, 504} or (status in UNAVAILABLE and answer.get("kind") == "Status")
        self.expect(clean, fault, "read of the past", status, answer)

    def round(self, fault: Fault, *, refusing: bool) -> None:
        """The fault comes and goes under writers, without a restart."""
        watches = sum(each.watches for each in self.watchers)
        tracebacks = self.tracebacks()
        self.write()
        self.succeed()
        self.disk.set(fault)
        if refusing:
            self.fail()
        else:
            time.sleep(0.3)
        self.reads_go_on(fault)
        if refusing:
            self.ready(500, fault)
        self.disk.clear()
        self.succeed()
        self.rest()
        if refusing:
            self.ready(200, fault)
        self.judge()
        self.expect(sum(each.watches for each in self.watchers) == watches, fault, "ended watches")
        storm = self.tracebacks() - tracebacks
        self.expect(storm <= STORM, fault, storm, "tracebacks")

    def ready(self, wanted: int, fault: Fault, seconds: float = 15) -> None:
        """/readyz says so soon."""
        try:
            until(lambda: self.serving.request("GET", "/readyz")[0] == wanted, seconds)
        except AssertionError:
            self.expect(False, fault, "readyz is not", wanted, "within", seconds, "s")

    def kill_under(self, fault: Fault, *, refusing: bool) -> None:
        """The server ends while the fault lasts; the disk is well again when the next one starts."""
        self.write()
        self.succeed()
        self.disk.set(fault)
        if refusing:
            self.fail(10)
        else:
            time.sleep(0.2)
        self.serving.end(signal.SIGKILL)
        self.rest()
        self.disk.clear()
        self.serving.start()
        self._unsure = fault.operation is Operation.SYNC
        self.judge()
        self._unsure = False

    def starts_cleanly(self, fault: Fault) -> None:
        """A server that cannot use its file says so in one line, and ends; with the disk well again, all is there."""
        self.serving.end(signal.SIGTERM)
        before = len(self.serving.log.read_text().splitlines())
        self.disk.set(fault)
        self.serving.spawn()
        ended = until(self._ended_or_ready, 60)
        status = self.serving.process.poll() if self.serving.process else None
        lines = self.serving.log.read_text().splitlines()[before:]
        if ended == "ended":
            errors = [text for text in lines if text.startswith("Error: ")]
            self.expect(status == 1 and len(errors) == 1, fault, "at the start:", status, lines[-3:])
            self.expect(not any("Traceback" in text for text in lines), fault, "at the start: a traceback", lines[-3:])
        self.disk.clear()
        if ended == "ended":
            self.serving.start()
        self.judge()

    def _ended_or_ready(self) -> str:
        try:
            return "ready" if self.serving.ready() else ""
        except RuntimeError:
            return "ended"

    def tracebacks(self) -> int:
        """How many the log has so far."""
        return self.serving.log.read_text().count("Traceback (most recent call last)")

    def judge(self) -> None:
        """Hold what the watchers were told against what the writers were."""
        marked = mark(self.serving, self.ledger)
        until(lambda: all(each.seen >= marked or each.failures for each in self.watchers), 60)
        listed = [read("LISTED", item) for item in self.serving.request("GET", LINES)[1]["items"]]
        for watcher, judge in zip(self.watchers, self.judges, strict=True):
            judge.judge(watcher.told, listed)

    def close(self) -> None:
        """End everything."""
        self.disk.clear()
        self.rest()
        for each in self.watchers:
            each.end()
        self.serving.close()


def main(arguments: list[str]) -> int:
    """The long form; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.disk", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args(arguments)
    dice = random.Random(options.seed)  # noqa: S311 - which fault
    begun, kills = time.monotonic(), 0
    cluster = Cluster()
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory), cluster, options.seed)
        try:
            for number in range(options.rounds):
                sure = dice.random() < 0.6
                fault = dice.choice(REFUSING if sure else (*REFUSING, *BESIDE))
                refusing = sure or (fault in REFUSING and dice.random() < 0.5)
                if not refusing:
                    fault = fault._replace(percent=dice.choice((5, 30, 70)))
                if number % 7 == 6:
                    disk.starts_cleanly(dice.choice(AT_START))
                elif number % 2:
                    kills += 1
                    disk.kill_under(fault, refusing=refusing)
                else:
                    disk.round(fault, refusing=refusing)
                if disk.violations():
                    say(f"round {number}: {fault}")
                    break
            found = disk.violations()
        finally:
            disk.close()
            cluster.stop()
        rows: list[tuple[str, object]] = [
            ("seed", options.seed),
            ("seconds", round(time.monotonic() - begun)),
            ("rounds", options.rounds),
            ("of them ended by SIGKILL", kills),
            *[
                (f"{each.name.lower()}: calls, failed", f"{disk.disk.count(each, SEEN):,}, {disk.disk.count(each):,}")
                for each in Operation
            ],
            ("writes acknowledged", disk.ledger.acknowledged()),
            ("writes refused by a server in trouble", len(disk.ledger.refused())),
            ("watch events judged", sum(each.events for each in disk.judges)),
            ("tracebacks in the log", disk.tracebacks()),
            ("violations", len(found)),
        ]
        table("faults of the disk", rows)
        return exit_status(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
