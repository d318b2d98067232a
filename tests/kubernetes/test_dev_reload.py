"""``extapi dev --reload``: an author saves files, and kubectl and the terminal say what comes of it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.fixtures import planes
from tests.pseudoterminal import Terminal
from tests.waiting import until

CAR = """\
from extapi import Kind, Object, Struct, Version


class Spec(Struct):
    doors: int = 2


class Car(Object):
    spec: Spec


CAR = Kind("Car", storage="v1", versions={"v1": Version(Car)})
"""
API = """\
from extapi import Api, Group

from fleet.cars import CAR
from fleet.vans import VAN

api = Api(Group("fleet.example.com", CAR, VAN))
"""
PLUGIN = """

class OnlyRed:
    async def validate(self, review):
        review.refuse("only red ones")


api = Api(Group("fleet.example.com", CAR, VAN), admission=[OnlyRed()])
"""


class Author:
    """Writes the package ``fleet``, runs ``extapi dev --reload`` with it, and types kubectl."""

    def __init__(self, directory: Path, plane: str) -> None:
        self._package = directory / "fleet"
        self._package.mkdir()
        van = CAR.replace("Car", "Van").replace("CAR", "VAN")
        for name, text in {"__init__": "", "cars": CAR, "vans": van, "api": API}.items():
            self.save(name, text)
        program = [sys.executable, "-m", "extapi", "dev", "--reload", "fleet.api:api", f"--control-plane={plane}"]
        self.terminal = Terminal(program, directory, NO_COLOR="1")
        self.kubectl = Kubectl(directory / ".extapi/dev/kubeconfig", directory / "kubectl")

    def save(self, name: str, text: str) -> None:
        """Replace a file, as editors do."""
        new = self._package / "new"
        new.write_text(text)
        new.replace(self._package / f"{name}.py")

    def create(self, kind: str, name: str, version: str = "v1") -> str:
        """Create an object without a word about its spec; what kubectl prints of that."""
        obj = {"apiVersion": f"fleet.example.com/{version}", "kind": kind, "metadata": {"name": name}, "spec": {}}
        return self.kubectl("create", "-f", "-", "-o", "jsonpath={.spec}", stdin=json.dumps(obj))

    @contextlib.contextmanager
    def watching(self, kind: str) -> Iterator[subprocess.Popen[str]]:
        """kubectl, which prints names as they come until its watch ends."""
        command = self.kubectl.command("get", kind, "--watch", "-o", "name")
        with subprocess.Popen(command, env=self.kubectl.environment(), stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture(params=planes())
def author(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Author]:
    made = Author(tmp_path, request.param)
    try:
        made.terminal.expect("ready after")
        yield made
    finally:
        made.terminal.close()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_what_an_author_saves_is_served(author: Author) -> None:
    reloaded = "extension-server | reloaded fleet.api:api"
    assert author.create("Car", "first") == '{"doors":2}'
    author.create("Van", "first")
    with author.watching("vans") as vans, author.watching("cars") as cars:
        assert (line(vans), line(cars)) == ("van.fleet.example.com/first", "car.fleet.example.com/first")

        author.save("cars", CAR.replace("doors: int = 2", "doors: int = 4\n    color: str = 'red'"))
        author.terminal.expect(reloaded)
        assert author.create("Car", "second") == '{"color":"red","doors":4}'
        assert line(cars) == ""  # its watch has ended, as that of a definition that changes

        author.save("cars", "clas Car:\n")
        author.terminal.expect("error: the changed code is not served; the last good version is")
        author.terminal.expect("cannot import fleet.api: fleet/cars.py:1: SyntaxError: invalid syntax")
        assert author.create("Car", "third") == '{"color":"red","doors":4}'

        author.save("cars", CAR.replace("doors: int", "doors: complex"))
        author.terminal.expect("fleet/cars.py:5: Spec.doors: complex has no structural schema")

        author.save("cars", CAR.replace('"v1": Version(Car)', '"v1": Version(Car), "v2": Version(Car)'))
        author.terminal.expect("registering v2.fleet.example.com")
        until(lambda: author.kubectl.run("get", "cars.v2.fleet.example.com").returncode == 0, seconds=30)
        until(lambda: "color" not in author.kubectl("explain", "cars.spec"), seconds=30)

        author.save("api", f"{API.partition('api =')[0]}{PLUGIN}")
        forbidden = 'cars.fleet.example.com "first" is forbidden: only red ones'
        until(lambda: forbidden in author.kubectl.run("delete", "car", "first", "--dry-run=server").stderr, seconds=30)

        author.save("cars", CAR)
        author.save("api", API)
        author.terminal.expect("removing v2.fleet.example.com")
        author.create("Van", "second")
        assert line(vans) == "van.fleet.example.com/second"
        assert vans.poll() is None
