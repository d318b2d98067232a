"""How long extension servers behind Debian's proxies take to obey a new webhook, and to obey it no more.

``python -m tests.network.debian [--trials N] [haproxy squid dante tinyproxy none]``, as root: installs the proxies that
are missing, and starts each of them on loopback between a real kube-apiserver and an extension server of its own. N times, a
ValidatingWebhookConfiguration with failurePolicy Fail whose webhook cannot be called is made and deleted again, at random moments,
half of which are near those when a proxy closes what is idle; each server is asked for a write with dry run every 50 ms meanwhile.
Then all proxies freeze, for 100 s, and until other processes take over. Prints tables; a bit more than a minute per trial.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from extapi.dev import ports, registration
from tests.attack.table import say
from tests.kubernetes import control_plane as planes
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.letters import GROUP, api
from tests.network.debian import programs
from tests.network.debian.programs import DANTE, HAPROXY, SQUID, TINYPROXY, Package, Process
from tests.network.debian.server import ProxiedServer

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
LONGEST_PAUSE = 70.0
"""Seconds without a change, at most: longer than a watch, and than the idle time of a proxy that closes one."""
CLOSING = (30.0, 35.0, 50.0)
"""Seconds without a change after which some of the proxies close a watch."""
QUIET = 240.0
"""Seconds without a change, at least, before some of them: a client that waits longer after each watch that is closed is found only then."""
PATIENCE = 180.0
"""Seconds after which a server will not obey any more."""
REVIEWS = 8
"""Requests that a server has just sent when a proxy freezes: as many idle connections freeze with it."""
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"],
    "rules": [
        {"level": "Metadata", "verbs": ["list", "watch"], "userGroups": ["system:serviceaccounts:extapi-dev"]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Way:
    """A way to kube-apiserver. ``choice``: how the command names it; ``idle``: after which time a silent connection is closed."""

    choice: str
    idle: str
    package: Package | None = None
    configuration: Callable[[int, int], str] | None = None


WAYS = (
    Way("none", ""),
    Way("haproxy", "35 s, kubeadm's", HAPROXY, programs.haproxy(35)),
    Way("haproxy", "50 s, Debian's", HAPROXY, programs.haproxy(50)),
    Way("squid", "15 min, Debian's", SQUID, programs.squid()),
    Way("squid", "30 s", SQUID, programs.squid("read_timeout 30 seconds")),
    Way("dante", "never, Debian's", DANTE, programs.dante()),
    Way("dante", "30 s", DANTE, programs.dante("timeout.io: 30")),
    Way("tinyproxy", "10 min, Debian's", TINYPROXY, programs.tinyproxy(600)),
    Way("tinyproxy", "30 s", TINYPROXY, programs.tinyproxy(30)),
)


@dataclass
class Measured:
    """A way that is used, and what was seen of it. ``process``: the proxy."""

    way: Way
    version: str
    server: ProxiedServer
    process: Process | None
    obeyed: list[float] = field(default_factory=list)
    forgotten: list[float] = field(default_factory=list)

    @property
    def title(self) -> list[str]:
        """Its first columns."""
        return [self.way.choice, self.version, self.way.idle]


@dataclass(frozen=True)
class Frost:
    """Proxies that stand still for ``seconds``. ``end``: ends it; ``concerns``: which of them have it."""

    seconds: float
    title: str
    end: Callable[[Process], None]
    concerns: Callable[[Process], bool] = lambda _: True


def restart(process: Process) -> None:
    """Let another process take over: the kernel resets the connections of the one that is frozen."""
    process.kill()
    process.start()


FROSTS = (
    Frost(100, "frozen, then going on", lambda process: process.send(signal.SIGCONT)),
    Frost(30, "frozen, then killed, and another process listens", restart),
    Frost(
        30,
        "frozen, then another process listens, and what was connected stays silent",
        Process.start,
        lambda process: process.package.inherits,
    ),
)


class Measurement:
    """All ways at once, so that each of them sees the same changes."""

    def __init__(self, control_plane: ControlPlane, ways: Sequence[Measured], audit: Path, dice: random.Random) -> None:
        self.ways = ways
        self._control_plane = control_plane
        self._audit = audit
        self._dice = dice
        self._closed = ports.choose(0, "--port")
        """Nothing listens there."""
        self._pool = ThreadPoolExecutor(len(ways))

    def each(self, work: Callable[[Measured], Any], ways: Sequence[Measured]) -> list[Any]:
        """What ``work`` returns for each of them, at the same time."""
        return list(self._pool.map(work, ways))

    def make(self) -> float:
        """Make the configuration; the moment when kube-apiserver has answered."""
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["*"]}
        hook = {
            "name": "closed.webhook.test",
            "rules": [rule],
            "clientConfig": {"url": f"https://{ports.LOOPBACK}:{self._closed}/"},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        made = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "closed"},
            "webhooks": [hook],
        }
        self._control_plane.client.request("POST", CONFIGURATIONS, made)
        return time.monotonic()

    def delete(self) -> float:
        """Delete the configuration; the moment when kube-apiserver has answered."""
        self._control_plane.client.request("DELETE", f"{CONFIGURATIONS}/closed")
        return time.monotonic()

    def delays(self, since: float, ways: Sequence[Measured], *, refused: bool) -> list[float]:
        """Of each way, until it obeys."""
        return self.each(lambda way: way.server.delay(refused=refused, since=since, patience=PATIENCE), ways)

    def pause(self) -> None:
        """Let some time pass: any, or as much as brings a proxy to close watches about now."""
        near = self._dice.choice(CLOSING) + self._dice.uniform(-1, 3)
        time.sleep(self._dice.choice([near, self._dice.uniform(0, LONGEST_PAUSE)]))

    def trial(self, *, quiet: bool) -> None:
        """One new configuration, and its end.

        Args:
            quiet: Whether some minutes pass before it.
        """
        if quiet:
            time.sleep(self._dice.uniform(QUIET, 1.5 * QUIET))
        self.pause()
        for way, seconds in zip(self.ways, self.delays(self.make(), self.ways, refused=True), strict=True):
            way.obeyed.append(seconds)
        self.pause()
        for way, seconds in zip(self.ways, self.delays(self.delete(), self.ways, refused=False), strict=True):
            way.forgotten.append(seconds)

    def requests(self) -> Counter[tuple[str, str]]:
        """How many lists and watches kube-apiserver has got so far, by verb and by name of the way."""
        found: Counter[tuple[str, str]] = Counter()
        for line in self._audit.read_text().splitlines():
            event = json.loads(line)
            found.update((event["verb"], group) for group in event["user"]["groups"])
        return found

    def freeze(self, frost: Frost) -> list[list[str]]:
        """Freeze all proxies, make a configuration meanwhile, and end the frost; what came of it, a row for each way."""
        ways = [way for way in self.ways if way.process is not None and frost.concerns(way.process)]
        processes = [way.process for way in ways if way.process is not None]
        self.each(lambda way: way.server.review(REVIEWS), ways)
        begun = time.monotonic()
        for process in processes:
            process.send(signal.SIGSTOP)
        time.sleep(frost.seconds / 2)
        self.make()
        time.sleep(max(0.0, begun + frost.seconds - time.monotonic()))
        blind = [not refused for refused in self.each(lambda way: way.server.refuses(), ways)]
        came = self.each(partial(self._after, frost), ways)
        forgotten = self.delays(self.delete(), ways, refused=False)
        rows = []
        for number, way in enumerate(ways):
            obeyed, ready = came[number]
            failed = [fail for fail, _ in way.server.unready_since(begun)]
            row = [
                f"{failed[0]:.0f} s" if failed else "never",
                _seconds(obeyed) if blind[number] else "at once",
            ]
            rows.append([*way.title, *row, _seconds(ready), _seconds(forgotten[number])])
        return rows

    def _after(self, frost: Frost, way: Measured) -> tuple[float, float]:
        """Seconds after the end of a frost until a way obeys, and until it is ready."""
        assert way.process is not None
        frost.end(way.process)
        ended = time.monotonic()
        obeyed = way.server.delay(refused=True, since=ended, patience=PATIENCE)
        return obeyed, self._ready(ended, way)

    @staticmethod
    def _ready(since: float, way: Measured) -> float:
        """Seconds after ``since`` until it is ready."""
        deadline = time.monotonic() + PATIENCE
        while way.server.unready and way.server.unready[-1][1] == math.inf:
            if time.monotonic() > deadline:
                return math.inf
            time.sleep(0.1)
        return max([0.0, *(again for _, again in way.server.unready_since(since))])

    def close(self) -> None:
        """End its threads."""
        self._pool.shutdown()


def _seconds(seconds: float) -> str:
    return "not at all" if seconds == math.inf else f"{seconds:.2f} s"


@contextmanager
def running(choices: Sequence[str], directory: Path, dice: random.Random) -> Iterator[Measurement]:
    """Everything, started and ended."""
    ways = [way for way in WAYS if way.choice in choices]
    packages = {way.package for way in ways if way.package is not None}
    programs.install(packages)
    versions = {package: package.installed_version() for package in packages}
    policy, audit = directory / "policy.json", directory / "audit.log"
    policy.write_text(json.dumps(AUDIT))
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={audit}"]
    with ExitStack() as stack:
        plane = stack.enter_context(planes.running(directory / "plane", "kube", flags=flags))
        registration.authorize(plane.client, api.needs)
        measured = []
        for number, way in enumerate(ways):
            own = directory / f"{number}-{way.choice}"
            own.mkdir()
            process, cluster = None, {"server": f"https://{ports.LOOPBACK}:{plane.cluster.port}"}
            version = versions[way.package] if way.package is not None else ""
            if way.package is not None and way.configuration is not None:
                process = Process(way.package, way.configuration, plane.cluster.port, own)
                stack.callback(process.close)
                process.start()
                if way.package.scheme:
                    cluster["proxy-url"] = f"{way.package.scheme}://{ports.LOOPBACK}:{process.port}"
                else:
                    cluster["server"] = f"https://{ports.LOOPBACK}:{process.port}"
            server = ProxiedServer(plane, own.name, own, cluster)
            stack.callback(server.stop)
            server.start()
            measured.append(Measured(way, version, server, process))
        made = Measurement(plane, measured, audit, dice)
        stack.callback(made.close)
        for each in measured:
            each.server.look()
        yield made


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print one."""
    say("\n" + "\n".join(f"| {' | '.join(map(str, row))} |" for row in (columns, ["---"] * len(columns), *rows)))


def rows_of_trials(measurement: Measurement, before: Mapping[tuple[str, str], int], begun: float) -> list[list[object]]:
    """One for each way."""
    after = measurement.requests()
    rows: list[list[object]] = []
    for way in measurement.ways:
        row: list[object] = [*way.title, len(way.obeyed)]
        for delays in (way.obeyed, way.forgotten):
            row += [_seconds(statistics.median(delays)), _seconds(max(delays))]
        row += [after[verb, way.server.name] - before[verb, way.server.name] for verb in ("list", "watch")]
        failed = way.server.unready_since(begun)
        row.append(", ".join(f"not from {fail:.0f} s to {again:.0f} s" for fail, again in failed) or "always")
        rows.append(row)
    return rows


def main(arguments: Sequence[str]) -> int:
    """The command; the exit status."""
    choices = list(dict.fromkeys(way.choice for way in WAYS))
    parser = argparse.ArgumentParser(prog="python -m tests.network.debian", description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the random moments"
    )
    parser.add_argument(
        "--quiet", type=int, default=1, help="how many of the trials follow some minutes without a change"
    )
    parser.add_argument("--frosts", default="1,2,3", help="the numbers of those that happen, as 1,3; 0 for none")
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"{' '.join(choices)}; all by default")
    options = parser.parse_args(arguments)
    if unknown := set(options.ways) - set(choices):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(choices)}")
    dice = random.Random(options.seed)  # noqa: S311 - when changes are made
    say(f"seed {options.seed}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # proxies that changed their user do not die with us
    way = ["proxy", "version", "idle time"]
    with (
        tempfile.TemporaryDirectory() as directory,
        running(options.ways or choices, Path(directory), dice) as measurement,
    ):
        before, begun = measurement.requests(), time.monotonic()
        for number in range(options.trials):
            measurement.trial(quiet=number < options.quiet)
        if options.trials:
            columns = ["trials", "obeyed: median", "worst", "deleted: median", "worst", "lists", "watches", "ready"]
            table([*way, *columns], rows_of_trials(measurement, before, begun))
            say(f"{time.monotonic() - begun:.0f} s")
        columns = ["/readyz fails after", "obeyed again after", "ready again after", "deletion obeyed after"]
        for number, frost in enumerate(FROSTS, 1):
            if str(number) in options.frosts.split(",") and (rows := measurement.freeze(frost)):
                say(f"\n{number}: {frost.seconds:.0f} s {frost.title}")
                table([*way, *columns], rows)
        worst = [seconds for each in measurement.ways for seconds in (*each.obeyed, *each.forgotten)]
        return 1 if math.inf in worst else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
