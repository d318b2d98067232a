"""Every command where only what it declares is installed: no extra, and each of them alone.

An environment is a directory of links to what pip would install, and its Python looks nowhere else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from extapi.cli import COMMANDS
from extapi.privatereactor import drive, private_reactor
from extapi.storage.sqlite import SqliteBackend

ROOT = Path(__file__).parents[2]
EXTRAS = ("", "etcd", "kubeconfig")
CONFIG = """\
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
"""


def requirements(extra: str) -> set[str]:
    """The distributions that pip installs for ``extapi[EXTRA]``, without extapi itself."""
    found: dict[str, set[str]] = {}

    def add(name: str, extras: set[str]) -> None:
        name = re.sub(r"[-_.]+", "-", name).lower()
        if name in found and extras <= found[name]:
            return
        found.setdefault(name, set()).update(extras)
        for text in metadata.requires(name) or []:
            each = Requirement(text)
            if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in extras or {""}):
                add(each.name, set(each.extras))

    add("extapi", {extra} if extra else set())
    return found.keys() - {"extapi"}


@pytest.fixture(scope="module", params=EXTRAS, ids=lambda extra: extra or "none")
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An extra, and where what it needs is."""
    place = tmp_path_factory.mktemp("site")
    (place / "extapi").symlink_to(ROOT / "extapi")
    for name in requirements(request.param):
        distribution = metadata.distribution(name)
        for file in distribution.files or []:
            top = file.parts[0]
            if top not in {"..", "__pycache__"} and not (place / top).exists():
                (place / top).symlink_to(Path(str(distribution.locate_file(top))))
    return request.param, place


def run(site: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from extapi.cli import main; main(prog_name='extapi')"
    return subprocess.run(
        [sys.executable, "-S", "-B", "-c", code, *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": str(place)},
        cwd=place,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_every_command_tells_its_help(installed: tuple[str, Path]) -> None:
    code = (
        "import json; from click.testing import CliRunner; from extapi.cli import COMMANDS, main\n"
        "print(json.dumps({name: CliRunner().invoke(main, [name, '--help']).exit_code for name in COMMANDS}))"
    )
    told = subprocess.run(
        [sys.executable, "-S", "-B", "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(installed[1])},
        text=True,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert json.loads(told.stdout) == dict.fromkeys(COMMANDS, 0)


_NEEDS_KUBERNETES = r"^Error: .* needs .* pip install 'extapi\[kubeconfig\]'"
_NEEDS_HPACK = (1, r"^Error: storage etcd: needs .* pip install 'extapi\[etcd\]'")
_REFUSED = r"(?i)connection (was )?refused"
ETCD = ("--etcd-servers=http://127.0.0.1:1",)
JOBS: dict[str, tuple[tuple[str, ...], tuple[int, str], dict[str, tuple[int, str]]]] = {
    "certs": (("certs", "--service=a", "--namespace=b"), (0, r"ca\.crt"), {}),
    "crd": (("crd", "export", "extapi.pizza:api", "--conversion-webhook-url=https://127.0.0.1/convert"), (0, "kind: CustomResourceDefinition"), {}),
    "manifests": (("manifests", "extapi.pizza:api"), (0, "kind: APIService"), {}),
    "doctor": (
        ("doctor", "--kubeconfig=config"),
        (2, "no answer to list on apiservices"),
        dict.fromkeys(("", "etcd"), (2, _NEEDS_KUBERNETES)),
    ),
    "migrate": (("migrate", "--kubeconfig=config", "a.example.com"), (1, _REFUSED), dict.fromkeys(("", "etcd"), (1, _NEEDS_KUBERNETES))),
    "storage of SQLite": (("storage", "status", "sqlite:///store.db"), (0, "revision"), {}),
    "storage of etcd": (("storage", "status", "etcd:", *ETCD), (1, _REFUSED), {"": _NEEDS_HPACK, "kubeconfig": _NEEDS_HPACK}),
}  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
def test_every_main_job_is_done_or_names_the_extra(installed: tuple[str, Path], job: str, tmp_path: Path) -> None:
    """Without a cluster and without an etcd: what cannot be reached is told, and not what cannot be imported."""
    extra, site = installed
    arguments, usual, others = JOBS[job]
    status, text = others.get(extra, usual)
    (tmp_path / "config").write_text(CONFIG)

    async def prepare(reactor: Any) -> None:
        await SqliteBackend(reactor, tmp_path / "store.db").close()

    with private_reactor() as reactor:
        drive(reactor, prepare(reactor))
    done = run(site, tmp_path, *arguments)
    assert done.returncode == status, done.stderr
    assert re.search(text, done.stdout + done.stderr, re.MULTILINE), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
