"""A definition's objects move to an extension server and back, on the real kube-apiserver, while others write and watch."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.samples import blocks, commands, reader, write_files
from tests.kubernetes import golang, moving
from tests.kubernetes.calling import MERGE, Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.moving import DEFINITION, DEFINITIONS, GROUP, NAME, VERSIONS, crate, crates
from tests.kubernetes.portering import KopfPorter
from tests.kubernetes.takeover import APISERVICES, BINDINGS, POLICIES, ROOT, Command, Ground, kept, take_over
from tests.waiting import until

pytestmark = [pytest.mark.kubernetes, pytest.mark.needs("crd")]

PAGES = ROOT / "docs" / "howto"
OBJECTS = 300
WRITES = 60
LISTS = 2
"""How often a client lists at most: kube-apiserver ends its watches when it drains, and once more when reads have moved.

It lists once if the reads have moved by the time that it is admitted again: the watch cache that kube-apiserver builds anew
refuses watches with 429 until it is ready, and client-go tries again up to ten times after ``Retry-After``, then after 0.8 to
30 seconds. (``apiserver/pkg/storage/cacher/cacher.go`` Watch, ``client-go/rest/request.go``, ``tools/cache/reflector.go``.)"""


@pytest.fixture
def ground(
    control_plane: ControlPlane, extension_server: ExtensionServer, admin: Caller, namespace: str, tmp_path: Path
) -> Iterator[Ground]:
    """Where it happens; the first extension server has made the Service."""
    made = Ground(control_plane, admin, namespace, tmp_path)
    yield made
    made.clear()


def test_no_acknowledged_write_is_lost(ground: Ground) -> None:
    result = take_over(ground, golang.informer(), objects=OBJECTS, writes=WRITES)
    print(result)  # noqa: T201 - shown with -s
    assert 1 <= result.listings <= LISTS
    assert 1 <= result.porter_listings <= LISTS


def ended(words: list[str], status: int = 0) -> str:
    """What a command said, which ends with that status."""
    command = Command(words)
    command.wait(status)
    return "\n".join(line for _, line in command.lines)


def test_there_and_back(ground: Ground) -> None:
    ground.define()
    ground.make(30)
    before = ground.objects()
    said = ended(ground.import_command(*ground.switch_words(), "--settle=0", "--keep-freeze"))
    assert "writes were refused for" in said
    # Once more: what is done is found to be done.
    again = ended(ground.import_command(*ground.switch_words(), "--settle=0"))
    assert "copied" not in again
    assert "reads come from the new server" in again
    refused = ended(ground.import_command("--once"), 1)
    assert "an extension server serves it already" in refused
    # The definition's own objects cannot be reached, and what is written is written elsewhere.
    names = sorted(before)
    ground.ok("PATCH", crates(ground.namespace, names[1]), {"spec": {"step": 1000}}, MERGE)
    ground.ok("PATCH", f"{crates(ground.namespace, names[1])}/status", {"status": {"weighed": 5}}, MERGE)
    ground.ok("DELETE", crates(ground.namespace, names[2]))
    ground.ok("POST", crates(ground.namespace), crate("new", 1))
    there = ground.objects()
    refused = ended(ground.import_command("--abort"), 1)
    assert "writes have reached the new server, and would be lost; extapi export takes them back" in refused
    words = ground.command("export", f"--crd={NAME}", f"--storage={ground.storage}")
    refused = ended(words, 1)
    assert "another process has it open" in refused
    moving.stop(ground.directory)
    said = ended(words)
    assert f"{NAME}: 1 updated, 1 created, 1 deleted, 28 as they were" in said
    assert "1 objects have a new uid" in said
    back = ground.objects()
    assert back.keys() == there.keys()
    for name, obj in there.items():
        own = ["resourceVersion", "generation"] + (["uid", "creationTimestamp", "annotations"] if name == "new" else [])
        for each in (obj, back[name]):
            for key in own:
                each["metadata"].pop(key, None)
        assert back[name] == obj
    assert ground.admin("GET", f"{POLICIES}/extapi-takeover.{NAME}").status == 404
    route = ground.ok("GET", f"{APISERVICES}/v1.{GROUP}")
    assert route["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    ground.ok("PATCH", crates(ground.namespace, names[1]), {"spec": {"step": 1001}}, MERGE)


def test_a_switch_that_fails_is_undone_or_goes_on(ground: Ground) -> None:
    ground.define()
    ground.make(10)
    before = ground.objects()
    flags = ["--switch", "--service=default/nobody", "--settle=0"]
    said = ended(ground.import_command(*flags, "--start=exit 3"), 1)
    assert "the command of --start ended with 3: exit 3. Writes are still refused." in said
    patch = ground.admin("PATCH", crates(ground.namespace, "old-00001"), {"spec": {"step": 5}}, content_type=MERGE)
    assert (patch.status, patch.json["reason"]) == (403, "Forbidden")
    assert patch.message.endswith(
        f"denied request: {NAME} is moving to another server, and takes no writes meanwhile: try again in some seconds"
    )
    assert ground.objects() == before  # reads go on
    assert "aborted" in ended(ground.import_command("--abort"))
    ground.ok("PATCH", crates(ground.namespace, "old-00001"), {"spec": {"step": 5}}, MERGE)
    # Another attempt copies what was written since; without a command it waits for the operator to start the server.
    said = ended(ground.import_command(*flags))
    assert "now start the server on sqlite:///" in said
    subprocess.run(ground.start_words(), cwd=ROOT, check=True, timeout=60)
    said = ended(ground.import_command(*ground.switch_words(), "--settle=0"))
    assert "copied" not in said
    assert "started" not in said
    assert ground.objects()["old-00001"]["spec"]["step"] == 5
    # Nothing was written there yet: the way back needs no export.
    assert "aborted" in ended(ground.import_command("--abort"))
    ground.ok("PATCH", crates(ground.namespace, "old-00001"), {"spec": {"step": 6}}, MERGE)


@pytest.fixture
def porter(ground: Ground) -> Iterator[KopfPorter]:
    """An operator that is started before the definition is there, as kopf allows."""
    made = KopfPorter(ground.control_plane.kubeconfig, ground.admin, ground.namespace, ground.directory)
    yield made
    made.end()


def test_the_definition_can_go(ground: Ground, porter: KopfPorter) -> None:
    """Its own objects go with it; those of the server stay, and who follows them goes on."""
    ground.define()
    ground.ok("POST", crates(ground.namespace), crate("one", 1))
    until(lambda: "one" in porter.view(), 30)
    before = ground.objects()
    ended(ground.import_command(*ground.switch_words(), "--settle=0"))
    ground.control_plane.client.delete(f"{DEFINITIONS}/{NAME}")
    until(lambda: ground.admin("GET", f"{DEFINITIONS}/{NAME}").status == 404, 60)
    after = ground.objects()
    kept(before["one"], after["one"])
    ground.ok("PATCH", crates(ground.namespace, "one"), {"spec": {"step": 2}}, MERGE)
    until(lambda: porter.view().get("one") == 2, 30)
    porter.meet()


def test_kinds_that_share_a_version_move_together(ground: Ground) -> None:
    ground.define()
    other = copy.deepcopy(DEFINITION)
    other["metadata"]["name"] = f"boxes.{GROUP}"
    other["spec"]["names"] = {"plural": "boxes", "kind": "Box"}
    other["spec"]["versions"] = other["spec"]["versions"][:1]
    ground.ok("POST", DEFINITIONS, other)
    try:
        said = ended(ground.import_command("--once"), 1)
        assert f"these would move, too: boxes.{GROUP} (v1). Give a --crd for each of them" in said
        until(lambda: ended_well(ground, f"--crd=boxes.{GROUP}"), 60)
    finally:
        ground.control_plane.client.delete(f"{DEFINITIONS}/boxes.{GROUP}")


def ended_well(ground: Ground, *words: str) -> bool:
    """Whether both can be copied; the other one may not be established yet."""
    command = Command(ground.import_command("--once", *words))
    command.process.wait(60)
    return command.process.returncode == 0


def test_stored_versions_are_migrated(ground: Ground) -> None:
    ground.define()
    ground.make(20)
    versions = copy.deepcopy(DEFINITION["spec"]["versions"])
    for each in versions:
        each["storage"] = each["name"] == VERSIONS[1]
    ground.ok("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": versions}}, MERGE)
    assert ground.ok("GET", f"{DEFINITIONS}/{NAME}")["status"]["storedVersions"] == list(VERSIONS)
    before = ground.objects()
    until(lambda: ground.ok("GET", f"{crates(ground.namespace)}?limit=1")["items"], 10)
    said = ended(ground.command("migrate", "--rate=1000", f"--progress={ground.directory / 'position'}", NAME))
    assert f"{NAME}: 20 objects stored anew, 0 as they were, 0 changed by others" in said
    assert f"status.storedVersions is {VERSIONS[1]}, without {VERSIONS[0]}" in said
    assert ground.ok("GET", f"{DEFINITIONS}/{NAME}")["status"]["storedVersions"] == [VERSIONS[1]]
    assert json.loads((ground.directory / "position").read_bytes())["finished"]
    after = ground.objects()
    for name, obj in after.items():
        assert obj["metadata"].pop("resourceVersion") != before[name]["metadata"].pop("resourceVersion")
    assert after == before
    said = ended(ground.command("migrate", "--rate=1000", NAME))
    assert "0 objects stored anew, 20 as they were" in said


def test_the_page_can_be_typed(control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path) -> None:
    page = PAGES / "take-over-a-crd.md"
    (tmp_path / ".extapi").mkdir()
    (tmp_path / ".extapi" / "dev").symlink_to(control_plane.state.root)
    write_files(page, tmp_path)
    client = control_plane.client
    try:
        with reader(tmp_path) as someone:
            someone.environment["KUBECONFIG"] = str(control_plane.kubeconfig)
            for block in filter(lambda each: each.for_cluster, blocks(page)):
                for command, expected in commands(block):
                    someone._type("", command, expected)
    finally:
        client.delete(f"{APISERVICES}/v1.stable.example.com")
        if (tmp_path / "server.pid").exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int((tmp_path / "server.pid").read_text()), signal.SIGTERM)
        for kind in (POLICIES, BINDINGS):
            client.delete(f"{kind}/extapi-takeover.crontabs.stable.example.com")
        client.delete(f"{DEFINITIONS}/crontabs.stable.example.com")
