"""A definition is taken over by an extension server while eight writers write: the story, short in a test and long on demand.

``python -m tests.kubernetes.takeover --objects 10000`` runs the long form on a control plane of its own, and prints what
``extapi import`` said, and how long writers had to wait.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.dev import ports, registration
from tests.kubernetes import golang, moving
from tests.kubernetes.calling import MERGE, Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, add_extension_server, running
from tests.kubernetes.following import GoInformer
from tests.kubernetes.moving import DEFINITION, DEFINITIONS, GROUP, NAME, PLURAL, VERSIONS, crate, crates
from tests.kubernetes.moving_writers import Writers
from tests.kubernetes.portering import KopfPorter
from tests.waiting import until

ROOT = Path(__file__).parents[2]
WRITERS = 8
MAKERS = 8
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


@dataclass
class Ground:
    """Where it happens: a control plane, a namespace, and the store of the server to come."""

    control_plane: ControlPlane
    admin: Caller
    namespace: str
    directory: Path

    def __post_init__(self) -> None:
        self.port = ports.choose(0, "--serve-port")
        self.store = self.directory / "crates.sqlite"
        self.manifest = self.directory / "crates.json"
        self.manifest.write_text(json.dumps(DEFINITION))

    @property
    def storage(self) -> str:
        """The URL of the store."""
        return f"sqlite:///{self.store}"

    def ok(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """The answer's object; it has to be a success."""
        answer = self.admin(method, path, body, content_type=content_type)
        assert answer.status in {200, 201}, f"{method} {path}: {answer.status} {answer.body!r}"
        return answer.json

    def define(self) -> None:
        """Create the definition, and wait until it is served."""
        self.ok("POST", DEFINITIONS, DEFINITION)
        until(lambda: self.admin("GET", crates(self.namespace)).status == 200, 30)

    def make(self, number: int) -> None:
        """Create objects, with all that metadata can say, from several threads."""

        def some(first: int) -> None:
            for each in range(first, number, MAKERS):
                extra: dict[str, Any] = {"finalizers": [f"{GROUP}/keep"]} if each % 50 == 0 else {}
                made = crate(f"old-{each:05d}", each, **extra, labels={"number": str(each)})
                self.ok("POST", crates(self.namespace), made)
                if each % 10 == 0:
                    path = f"{crates(self.namespace, made['metadata']['name'])}/status"
                    self.ok("PATCH", path, {"status": {"weighed": each}}, MERGE)

        makers = [threading.Thread(target=some, args=(first,)) for first in range(MAKERS)]
        for each in makers:
            each.start()
        for each in makers:
            each.join()

    def objects(self, version: str = VERSIONS[0]) -> dict[str, dict[str, Any]]:
        """All objects by name, as they are read, page by page."""
        found: dict[str, dict[str, Any]] = {}
        token = ""
        while True:
            query = f"?limit=500&continue={token}" if token else "?limit=500"
            page = self.ok("GET", crates(self.namespace, version=version) + query)
            found |= {item["metadata"]["name"]: item for item in page["items"]}
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def command(self, *words: str) -> list[str]:
        """An ``extapi`` command line."""
        return [sys.executable, "-m", "extapi", *words, f"--kubeconfig={self.control_plane.kubeconfig}"]

    def import_command(self, *words: str) -> list[str]:
        """``extapi import`` of the definition."""
        return self.command("import", f"--crd={NAME}", f"--storage={self.storage}", *words)

    def start_words(self) -> list[str]:
        """The command that starts the server in the background."""
        server = moving.serve_command(self.control_plane, self.manifest, self.storage, self.port)
        return [sys.executable, "-m", "tests.kubernetes.moving", str(self.directory), *server]

    def switch_words(self) -> list[str]:
        """The flags of a switch."""
        service = f"{registration.NAMESPACE}/{registration.SERVICE}:{self.port}"
        ca = self.control_plane.certificates.certificate("serving-ca")
        return ["--switch", f"--start={shlex.join(self.start_words())}", f"--service={service}", f"--ca={ca}"]

    def clear(self) -> None:
        """Leave nothing behind."""
        for version in VERSIONS:
            self.control_plane.client.delete(f"{APISERVICES}/{version}.{GROUP}")
        moving.stop(self.directory)
        for kind in (POLICIES, BINDINGS):
            self.control_plane.client.delete(f"{kind}/extapi-takeover.{NAME}")
        if self.admin("GET", f"{DEFINITIONS}/{NAME}").status == 404:
            return
        until(self._freed, 60)
        self.control_plane.client.delete(f"{DEFINITIONS}/{NAME}")
        until(lambda: self.admin("GET", f"{DEFINITIONS}/{NAME}").status == 404, 60)

    def _freed(self) -> bool:
        """Take the finalizers of all objects away; False if their server, which may just have changed, does not take that yet."""
        answer = self.admin("GET", f"/apis/{GROUP}/{VERSIONS[0]}/{PLURAL}")
        if answer.status != 200:
            return False
        held = [item["metadata"] for item in answer.json["items"] if item["metadata"].get("finalizers")]
        none = {"metadata": {"finalizers": None}}
        paths = [crates(each["namespace"], each["name"]) for each in held]
        return all(self.admin("PATCH", path, none, content_type=MERGE).status in {200, 404} for path in paths)


class Command:
    """A running command whose lines are kept with the moment when each came."""

    def __init__(self, words: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[tuple[float, str]] = []
        self._began = time.monotonic()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.append((time.monotonic() - self._began, line.rstrip("\n")))

    @property
    def text(self) -> str:
        """All that was said."""
        return "\n".join(f"{moment:7.2f} s  {line}" for moment, line in self.lines)

    def said(self, text: str) -> bool:
        """Whether a line has this text; while the command runs, or has ended well."""
        assert self.process.poll() in {None, 0}, self.text
        return any(text in line for _, line in self.lines)

    def wait(self, status: int = 0, seconds: float = 300) -> None:
        """Wait until it ends with that status."""
        assert self.process.wait(seconds) == status, self.text
        self._reader.join()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        self.wait()


def kept(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Assert that an object is the same, but for its resourceVersion."""
    for each in (before, after):
        each["metadata"].pop("resourceVersion")
    assert after == before


@dataclass
class Result:
    """What came of it."""

    log: str
    gap: float
    """The longest time without an acknowledged write, in seconds."""
    written: int
    refused: dict[int, int]
    listings: int
    """How often the informer listed after the switch had begun."""
    porter_listings: int
    """How often kopf did."""
    requests: list[str]
    """What both have asked for since, with the codes of the answers."""

    def __str__(self) -> str:
        return (
            f"{self.log}\nwrites acknowledged: {self.written}; refused and tried again: {self.refused}\n"
            f"longest time without an acknowledged write: {self.gap:.2f} s\n"
            f"lists since: {self.listings} of the informer, {self.porter_listings} of kopf\n" + "\n".join(self.requests)
        )


def take_over(ground: Ground, informer: Path, *, objects: int, writes: int) -> Result:
    """The whole story; ``writes``: before, between the steps, and after."""
    ground.define()
    ground.make(objects)
    before = ground.objects()
    assert len(before) == objects
    writers = Writers()
    following = GoInformer(
        informer,
        ground.control_plane.kubeconfig,
        ground.namespace,
        ground.directory / "informer.jsonl",
        resource=(GROUP, VERSIONS[0], PLURAL),
    )
    porter = KopfPorter(ground.control_plane.kubeconfig, ground.admin, ground.namespace, ground.directory)
    try:
        following.wait_synced()
        porter.make()
        writers.start(WRITERS, ground.admin, ground.namespace)
        # An import is killed in the middle, another one goes on, and is stopped while it follows.
        killed = Command(ground.import_command())
        until(ground.store.exists, 60)
        writers.more(writes // 4)
        killed.kill()
        first = Command(ground.import_command())
        until(lambda: first.said("following"), 300)
        writers.more(writes)
        first.interrupt()
        writers.more(writes // 4)
        listed, porter_listed = len(following.queries()), len(porter.queries())
        switch = Command(ground.import_command(*ground.switch_words()))
        switch.wait()
        writers.more(writes)
        porter.check()
        writers.end()
        check(ground, writers, before, following, porter)
        informers, kopfs = following.queries()[listed:], porter.queries()[porter_listed:]
        return Result(
            f"{first.text}\n{switch.text}",
            writers.longest_gap(),
            writers.written,
            writers.refused,
            lists_of(informers),
            lists_of(kopfs),
            [
                f"{who}: {code} {query}"
                for who, asked in (("informer", informers), ("kopf", kopfs))
                for query, code in asked
            ],
        )
    finally:
        for each in writers.all:
            each._ended.set()
        following.end()
        porter.end()


def check(ground: Ground, writers: Writers, before: dict[str, Any], following: GoInformer, porter: KopfPorter) -> None:
    """Nothing is lost: neither what was there, nor what was acknowledged, nor what a client sees."""
    after = ground.objects()
    there = {name: obj["spec"]["step"] for name, obj in after.items() if name.startswith("writer-")}
    assert there == writers.there
    for name, obj in before.items():
        kept(obj, after[name])
    assert after.keys() == before.keys() | there.keys()
    beta = ground.objects(VERSIONS[1])
    assert beta.keys() == after.keys()
    wanted = {name: obj["spec"]["step"] for name, obj in after.items()}
    until(lambda: following.view() == wanted, 60)
    until(lambda: wanted.items() <= porter.view().items(), 60)
    # Of an old resourceVersion: conflict for who writes, a new list for who watches.
    old = next(each for writer in writers.all for each in writer.log if each.version)
    name = next(iter(before))
    stale = {**crate(name, 1), "metadata": {"name": name, "resourceVersion": str(old.version)}}
    refused = ground.admin("PUT", crates(ground.namespace, name), stale)
    assert (refused.status, refused.json["reason"]) == (409, "Conflict"), refused.body
    late = ground.admin("GET", f"{crates(ground.namespace)}?watch=1&timeoutSeconds=2&resourceVersion={old.version}")
    assert is_expired(late), late.body
    definition = ground.ok("GET", f"{DEFINITIONS}/{NAME}")
    assert definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] == "A crate."
    assert ground.admin("GET", f"{POLICIES}/extapi-takeover.{NAME}").status == 404


def is_expired(answer: Answer) -> bool:
    """Whether a watch was told to list again."""
    status = answer.json
    return (answer.status, status.get("object", status).get("code")) in {(200, 410), (410, 410)}


def lists_of(queries: Iterable[tuple[str, int]]) -> int:
    """How many of these requests ask for all that is there, from the first page on, and were answered."""
    return sum(
        code == 200 and "continue=" not in query and ("watch=true" not in query or "sendInitialEvents" in query)
        for query, code in queries
    )


def administrator(control_plane: ControlPlane, directory: Path) -> Caller:
    """Somebody who may do everything."""
    keys = control_plane.certificates
    signed = user_certificate(authority(keys, "cluster-ca"), "root", "system:masters")
    return Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))


def main(arguments: Iterable[str]) -> None:
    """The long form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--writes", type=int, default=2_000)
    chosen = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), "kube") as control_plane:
        directory = Path(scratch) / "moving"
        directory.mkdir()
        add_extension_server(control_plane, "extapi.pizza:api")  # for its Service and its rights
        ground = Ground(control_plane, administrator(control_plane, directory), "default", directory)
        try:
            result = take_over(ground, golang.informer(), objects=chosen.objects, writes=chosen.writes)
            sys.stdout.write(f"{result}\n")
        finally:
            ground.clear()


if __name__ == "__main__":
    main(sys.argv[1:])
