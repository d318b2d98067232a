"""Ends servers and stores with SIGKILL while they write, at any moment, and looks for what is missing afterwards.

``python -m tests.attack.kill --kills 500``: two of five kills end a server (SQLite, TLS, eight writers on the same objects,
three watchers that resume), the others a process that is nothing but a store.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.attack import storekill
from tests.attack.cluster import Cluster
from tests.attack.judging import Judge, reused
from tests.attack.serve import COMMAND
from tests.attack.table import exit_status, table
from tests.attack.watching import Event, Watcher, read
from tests.attack.writing import LINES, TARGET, Ledger, Writer, mark
from tests.conformance.serving import Serving
from tests.waiting import until

WRITERS = 8
MOMENTS = ("writing", "at once", "the first write", "starting", "starting, with writers")
COMPACTION = ("0.05", "0.05", "0.5", "300")
"""Seconds between two compactions: all the time, often enough that watchers come too late, as in the product."""


class Kills:
    """One store, one server after another on it, and the clients of all of them."""

    def __init__(self, directory: Path, cluster: Cluster, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - which moment
        kubeconfig = cluster.kubeconfig(directory / "kubeconfig")
        self.serving = Serving(directory, kubeconfig, target=TARGET)
        self.ledger = Ledger(seed)
        self._start()
        first = mark(self.serving, self.ledger)
        self.ledger.attempts.clear()
        self.serving.request("DELETE", f"{LINES}/marker")
        truth: dict[int, Event] = {}
        self.watchers = [Watcher(self.serving, first + 1) for _ in range(3)]
        self.judges = [Judge(self.ledger, truth) for _ in self.watchers]
        for each in self.watchers:
            each.start()
        self.kills: Counter[str] = Counter()
        self.checked = 0

    def violations(self) -> list[str]:
        """What was found so far."""
        found = [text for judge in self.judges for text in judge.violations]
        found += [text for watcher in self.watchers for text in watcher.failures]
        return found + self.ledger.strange + reused(self.ledger)

    def round(self) -> None:
        """Write and kill, once or more often; start again, and look at what is there."""
        dice = self._dice
        for late in dice.sample(self.watchers[1:], k=dice.choice((0, 1, 1))):
            late.hold()
        self._kill(dice.choice(MOMENTS[:3]), running=True)
        while dice.random() < 0.2:
            self._kill(dice.choice(MOMENTS[3:]), running=False)
        if dice.random() < 0.1:
            self._check_file()
        self._start()
        self._judge()

    def _kill(self, moment: str, *, running: bool) -> None:
        dice, ledger = self._dice, self.ledger
        if not running:
            self._spawn()
        before, acknowledged = len(ledger.attempts), ledger.acknowledged()
        writers = [Writer(self.serving, ledger, number) for number in range(WRITERS)]
        if moment != "starting":
            for writer in writers:
                writer.start()
        if moment == "writing":
            wanted = acknowledged + dice.randint(1, 150)
            until(lambda: ledger.acknowledged() >= wanted or ledger.strange, 60)
        elif moment == "the first write":
            until(lambda: len(ledger.attempts) > before, 60)
        else:
            time.sleep(dice.uniform(0, 0.3 if running else 1.0))
        self.serving.end(signal.SIGKILL)
        for writer in writers:
            writer.end()
        for writer in writers:
            if writer.ident is not None:
                writer.join(60)
        self.kills[moment] += 1

    def _spawn(self) -> None:
        self.serving.command = (*COMMAND, self._dice.choice(COMPACTION))
        self.serving.spawn()

    def _start(self) -> None:
        self._spawn()
        self.serving.wait()

    def _judge(self) -> None:
        for each in self.watchers:
            each.go_on()
        marked = mark(self.serving, self.ledger)
        until(lambda: all(each.seen >= marked or each.failures for each in self.watchers), 60)
        listed = [read("LISTED", item) for item in self.serving.request("GET", LINES)[1]["items"]]
        for watcher, judge in zip(self.watchers, self.judges, strict=True):
            judge.judge(watcher.told, listed)

    def _check_file(self) -> None:
        """SQLite's own judgement, on a copy: opening the file would tidy up what the next server has to cope with."""
        self.checked += 1
        with tempfile.TemporaryDirectory() as directory:
            for name in ("store.db", "store.db-wal"):
                if (path := self.serving.store.with_name(name)).exists():
                    shutil.copy(path, directory)
            connection = sqlite3.connect(Path(directory) / "store.db")
            (found,) = connection.execute("PRAGMA integrity_check").fetchone()
            connection.close()
        if found != "ok":
            self.ledger.strange.append(f"integrity_check: {found}")

    def close(self) -> None:
        """End everything."""
        for each in self.watchers:
            each.end()
        self.serving.close()


def main(arguments: list[str]) -> int:
    """The long form; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.kill", description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    cluster = Cluster()
    with tempfile.TemporaryDirectory() as directory:
        kills = Kills(Path(directory), cluster, options.seed)
        try:
            while kills.kills.total() < options.kills * 2 // 5 and not kills.violations():
                kills.round()
            found = kills.violations()
        finally:
            kills.close()
            cluster.stop()
        at_server = kills.kills.total()
        store = storekill.Store(Path(directory) / "alone.db", options.seed)
        while store.kills < options.kills - at_server and not found:
            store.round()
            found = store.violations
    rows: list[tuple[str, object]] = [
        ("seed", options.seed),
        ("seconds", round(time.monotonic() - begun)),
        *[(f"kills of a server: {moment}", count) for moment, count in kills.kills.items()],
        ("kills of a server", at_server),
        ("kills of a store", store.kills),
        ("writes acknowledged by servers", kills.ledger.acknowledged()),
        ("writes refused by servers", sum(each.refused for each in kills.ledger.attempts)),
        ("writes without an answer", sum(not each.status for each in kills.ledger.attempts)),
        ("watch events judged", sum(each.events for each in kills.judges)),
        ("watches told 410, and listed again", sum(each.relists for each in kills.judges)),
        ("integrity checks", kills.checked),
        ("writes acknowledged by stores", store.acknowledged),
        ("violations", len(found)),
    ]
    table("kill -9", rows)
    return exit_status(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
