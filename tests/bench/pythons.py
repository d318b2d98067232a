"""How fast which interpreters are: ``scripts/bench --pythons [PYTHON ...] [--quick]``, some two minutes for each.

Each interpreter gets an environment with what extapi needs to run, and runs the server; the load is the same. They take
turns, so that a slow minute of the machine meets all of them, and each figure is the median.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from zlib import crc32

from tests.bench.load import PIZZAS, pizza, request, run, seed, watch
from tests.bench.origin import described
from tests.bench.server import Server
from tests.bench.table import table

ROOT = Path(__file__).parents[2]
ROUNDS = 3
NEWEST = 19
"""The newest Python 3 that is looked for."""
_FACTS = """
import json, platform, sys, sysconfig
options = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
json.dump([platform.python_version(), sys.base_prefix, options], sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python on this machine. ``options``: the arguments of its ``configure``."""

    path: Path
    version: str
    prefix: str
    options: str

    @property
    def environment(self) -> Path:
        """Where its packages are."""
        return ROOT / f".venv-bench-{self.version}-{crc32(self.prefix.encode()):08x}"


def main(say: Callable[[str], None], directory: Path, paths: Sequence[str], *, quick: bool) -> None:
    """Measure and print a table.

    Args:
        say: Prints a line.
        directory: For stores, empty.
        paths: Interpreters; if empty, those on PATH and of pyenv, from Python 3.11 on.
        quick: One round, with a tenth of the load.

    Raises:
        ValueError: A path is no Python, or an older one.
    """
    interpreters = [_named(path) for path in paths] or found()
    for each in interpreters:
        say(f"{each.version}: {each.path}, {described(each.options)}")
        _prepare(each, say)
    rounds: dict[Interpreter, list[Mapping[str, float]]] = {each: [] for each in interpreters}
    for turn in range(1 if quick else ROUNDS):
        say(f"round {turn + 1}")
        for index, each in enumerate(interpreters):
            home = directory / f"{turn}-{index}"
            home.mkdir()
            rounds[each].append(_measured(each, home, 10 if quick else 1))
    columns = [{name: median(each[name] for each in rows) for name in rows[0]} for rows in rounds.values()]
    say("")
    titles = [f"{each.version} ({each.prefix})" for each in interpreters]
    for line in table("CPU us per request", titles, columns):
        say(line)


def found() -> list[Interpreter]:
    """Every Python from 3.11 on: the one that runs this, then those on PATH, in /usr/bin, and of pyenv."""
    names = [f"python3.{minor}" for minor in range(11, NEWEST + 1)]
    candidates = [sys.executable, *filter(None, map(shutil.which, names)), *(f"/usr/bin/{name}" for name in names)]
    candidates += sorted(str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    distinct: dict[str, Interpreter] = {}
    for candidate in candidates:
        interpreter = _looked_at(candidate)
        if interpreter is not None:
            distinct.setdefault(interpreter.prefix, interpreter)
    return sorted(distinct.values(), key=lambda each: [int(part) for part in each.version.split(".")[:2]])


def _named(path: str) -> Interpreter:
    interpreter = _looked_at(path)
    if interpreter is None:
        raise ValueError(f"{path} is no Python from 3.11 on")
    return interpreter


def _looked_at(path: str) -> Interpreter | None:
    """What the interpreter says of itself; None if it does not run (a shim of pyenv may not), or is too old."""
    try:
        said = subprocess.run([path, "-c", _FACTS], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    version, prefix, options = json.loads(said)
    if tuple(int(part) for part in version.split(".")[:2]) < (3, 11):
        return None
    return Interpreter(Path(path), version, prefix, options)


def _prepare(interpreter: Interpreter, say: Callable[[str], None]) -> None:
    """Make its environment, unless there is one for today's lock file."""
    home = interpreter.environment
    stamp, wanted = home / "extapi-stamp", str(crc32((ROOT / "requirements-run.lock").read_bytes()))
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"making {home.name}")
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([interpreter.path, "-m", "venv", "--without-pip", home], check=True)
    ours = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    install = [*ours, "--python", str(home / "bin" / "python"), "install"]
    subprocess.run([*install, "--no-deps", "--require-hashes", "-r", str(ROOT / "requirements-run.lock")], check=True)
    # The server runs from the checkout. This is for the version that it shows.
    subprocess.run([*ours, "wheel", "--no-deps", "--no-build-isolation", "-w", str(home), str(ROOT)], check=True)
    subprocess.run([*install, "--no-deps", *map(str, home.glob("extapi-*.whl"))], check=True)
    stamp.write_text(wanted)


def _measured(interpreter: Interpreter, directory: Path, scale: int) -> dict[str, float]:
    """All figures, once."""

    def get(n: int) -> bytes:
        return request("GET", f"{PIZZAS}/p-{n % 400}")

    def patch(n: int) -> bytes:
        body = {"metadata": {"labels": {"turn": str(n)}}}
        return request("PATCH", f"{PIZZAS}/p-{n % 400}", body, "application/merge-patch+json")

    def create(first: int) -> Callable[[int], bytes]:
        return lambda n: request("POST", PIZZAS, pizza(f"p-{first + n}", n))

    server = Server(directory, python=interpreter.environment / "bin" / "python")
    try:
        found = {"RSS idle, MB": server.rss()}
        seed(server)
        run(server, "seed", create(0), count=500, connections=4, status=201)
        for make in (get, patch):  # until the interpreter has seen what is hot
            run(server, "warm", make, count=400)
        listed = request("GET", PIZZAS)
        found |= {
            "GET": run(server, "GET", get, count=8_000 // scale, connections=4).micros,
            "LIST of 500": run(server, "LIST", lambda _: listed, count=800 // scale, connections=2).micros,
            "merge PATCH": run(server, "PATCH", patch, count=3_000 // scale, connections=8).micros,
            "watch delivery, 100 watches": watch(server, 100, 500 // scale).micros,
            "CREATE": run(server, "CREATE", create(500), count=2_000 // scale, connections=8, status=201).micros,
        }
        return found
    finally:
        server.stop()
