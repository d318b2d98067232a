"""``--reload``: what an author saves is served, and what cannot be served is told, while the last good version is served."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from extapi.loading.module import load_api
from extapi.server.reloading import FAILED, INTERVAL, Reloader
from extapi.testing import InMemoryServer

KIND = """\
from extapi import Kind, Object, Struct, Version
class Spec(Struct):
    size: int = 1
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
class Refuses:
    async def validate(self, review):
        review.refuse("as it says")
api = Api(Group("fleet.example.com", CAR, VAN), admission=[Refuses()])
"""
CARS, VANS = (f"/apis/fleet.example.com/v1/namespaces/default/{name}" for name in ("cars", "vans"))


class Author:
    """Writes files of a package that a server serves, and looks at what comes of it."""

    def __init__(self, directory: Path, server: InMemoryServer) -> None:
        self.directory = directory
        self.server = server
        self.logs: list[dict[str, object]] = []

    def write(self, name: str, text: str) -> None:
        """Save a file, and let the server look at it twice."""
        new = self.directory / "new"
        new.write_text(text)
        new.replace(self.directory / f"{name}.py")
        with capture_logs() as logs:
            self.server.clock.advance(INTERVAL)
            self.server.clock.advance(INTERVAL)
            self.server.advance()
        self.logs = [dict(each) for each in logs]

    def told(self) -> str:
        """The one error of the last write."""
        (found,) = [str(each["event"]) for each in self.logs if each["log_level"] == "error"]
        return found

    def create(self, path: str, name: str, spec: dict[str, object]) -> tuple[int, object]:
        """Create an object; the code, and the spec or message."""
        kind = "Car" if path == CARS else "Van"
        body = {"apiVersion": "fleet.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        answer = self.server.request("POST", path, body=body)
        found = answer.json()
        return answer.status, found.get("spec", found.get("message"))


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Author]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    directory = tmp_path / "fleet"
    directory.mkdir()
    files = {"__init__": "", "cars": KIND, "vans": KIND.replace("Car", "Van").replace("CAR", "VAN"), "api": API}
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)
    api = load_api("fleet.api:api")
    server = InMemoryServer(api)
    server.start()
    reloader = Reloader("fleet.api:api", api, server.server.replace_api, server.clock)
    reloader.start()
    yield Author(directory, server)
    reloader.stop()
    server.stop()
    for name in [name for name in sys.modules if name.partition(".")[0] == "fleet"]:
        del sys.modules[name]


def test_what_is_saved_is_served_and_watches_of_other_modules_go_on(author: Author) -> None:
    author.create(CARS, "a", {})
    cars, vans = author.server.watch(CARS), author.server.watch(VANS)
    author.write("cars", KIND.replace("size: int = 1", "size: int = 2\n    doors: int = 4"))
    assert [each["event"] for each in author.logs] == ["reloaded fleet.api:api"]
    assert author.create(CARS, "b", {}) == (201, {"size": 2, "doors": 4})
    assert author.create(VANS, "c", {}) == (201, {"size": 1})
    author.server.advance()
    assert (cars.ended, vans.ended) == (True, False)
    assert [obj["metadata"]["name"] for _, obj in vans.events] == ["c"]
    resumed = author.server.watch(CARS, {"resourceVersion": cars.events[-1][1]["metadata"]["resourceVersion"]})
    assert [obj["metadata"]["name"] for _, obj in resumed.events] == ["b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import nowhere_to_be_found\n", "fleet/cars.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("class:\n", "fleet/cars.py:1: SyntaxError: invalid syntax"),
        (KIND.replace("size: int", "size: complex"), "fleet/cars.py:3: Spec.size: complex has no structural schema"),
        (KIND.replace('"Car", storage', '"car", storage'), "fleet/cars.py:6: kind car: the name must be in CamelCase"),
        ("raise SystemExit(3)\n", "ends the process when it is imported: sys.exit(3)"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_last_good_version_is_served(
    author: Author, text: str, problem: str
) -> None:
    stream = author.server.watch(CARS)
    author.write("cars", text)
    assert author.told().startswith(FAILED)
    assert problem in author.told()
    assert author.create(CARS, "a", {}) == (201, {"size": 1})
    author.server.clock.advance(INTERVAL)
    assert [obj["metadata"]["name"] for _, obj in stream.events] == ["a"]
    author.write("cars", KIND.replace("size: int = 1", "size: int = 3"))
    assert author.create(CARS, "b", {}) == (201, {"size": 3})


def test_a_mistake_is_told_once(author: Author) -> None:
    author.write("cars", "class:\n")
    with capture_logs() as logs:
        for _ in range(20):
            author.server.clock.advance(INTERVAL)
    assert logs == []


def test_a_version_in_which_objects_are_stored_cannot_be_dropped(author: Author) -> None:
    author.create(CARS, "a", {})
    author.write("cars", KIND.replace('"v1"', '"v2"'))
    assert "objects of Car.fleet.example.com are still being stored in v1" in author.told()
    assert author.create(CARS, "b", {}) == (201, {"size": 1})
    author.write("cars", KIND.replace('{"v1": Version(Car)}', '{"v1": Version(Car), "v2": Version(Car)}'))
    assert author.server.request("GET", CARS.replace("v1", "v2")).status == 200


def test_plugins_come_with_the_kinds(author: Author) -> None:
    author.write("api", API.replace("api = ", "_ = ") + PLUGIN)
    assert author.create(CARS, "a", {}) == (403, 'cars.fleet.example.com "a" is forbidden: as it says')
    author.write("api", API)
    assert author.create(CARS, "a", {}) == (201, {"size": 1})


def test_a_plugin_that_does_not_start_is_told_with_its_line(author: Author) -> None:
    broken = PLUGIN.replace("class Refuses:\n", "class Refuses:\n    async def start(self, context):\n        1 / 0\n")
    author.write("api", API.replace("api = ", "_ = ") + broken)
    assert "ZeroDivisionError: division by zero (File 'fleet/api.py', line 8, in Refuses.start)" in author.told()
    assert author.create(CARS, "a", {}) == (201, {"size": 1})


def test_a_plugin_that_never_starts_is_given_up(author: Author) -> None:
    waits = PLUGIN.replace(
        "class Refuses:\n", "class Refuses:\n    async def start(self, context):\n        await context.sleep(1e9)\n"
    )
    author.write("api", API.replace("api = ", "_ = ") + waits)
    assert author.logs == []
    with capture_logs() as logs:
        author.server.clock.advance(30)
    assert [each["event"] for each in logs] == [f"{FAILED}\nits plugins have not started within 30 s"]
    assert author.create(CARS, "a", {}) == (201, {"size": 1})


def test_a_file_that_is_still_being_written_is_not_read(author: Author) -> None:
    path = author.directory / "cars.py"
    with capture_logs() as logs:
        for length in range(20, 120, 20):
            path.write_text(KIND[:length])
            author.server.clock.advance(INTERVAL)
    assert logs == []
    author.write("cars", KIND.replace("size: int = 1", "size: int = 2"))
    assert author.create(CARS, "b", {}) == (201, {"size": 2})
