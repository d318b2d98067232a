"""The samples of the documentation, taken out of its pages and run.

A fenced block says by its first word what happens to it:

- ``python title="name.py"`` and ``yaml title="name.yaml"`` are files of the reader's working directory. A ``test_*.py``
  is also run. Without a title, ``python`` is executed, all blocks of a page after each other in one namespace.
- ``console`` is typed into a shell, command by command (``$``, continued by ``>``), and each output compared. A line
  ``...`` stands for any lines. ``console dev`` holds a foreground process: a command that is there once it says
  ``ready``, and ``^C``. ``console watch`` holds a background one: a command, or what it printed since.
  ``console cluster`` is for a cluster: ``tests/kubernetes/test_deploy.py`` has one with a node and types what is in
  ``deploy/``, ``tests/kubernetes/test_takeover.py`` types ``docs/howto/take-over-a-crd.md``. ``console etcd`` is for an etcd:
  ``tests/conformance/test_high_availability.py`` has one and types ``docs/howto/high-availability.md``.
- ``text`` is neither; it is for what is no sample.
"""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("certs/*.md"),
        *ROOT.glob("deploy/*.md"),
        *ROOT.glob("examples/*/*.md"),
    ]
)
LANGUAGES = {"python", "yaml", "console", "text"}
SECONDS = 60
"""How long a command, or a line that is waited for, may take."""

_FENCE = re.compile(r"^```([^\n`]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"/]+)"')
_UNSTABLE = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r'(?i)\b(resource ?version: +)"?\d+"?'), r"\1NUMBER"),
    (re.compile(r"(?<= )\d+[smhd](\d+[smh])?$", re.MULTILINE), "AGE"),
    (re.compile(r"\bat resourceVersion \d+"), "at resourceVersion NUMBER"),
    (re.compile(r"\brefused for [\d.]+ s\b"), "refused for SOME s"),
    (re.compile(r"^ready after [\d.]+ s", re.MULTILINE), "ready after SOME s"),
    (re.compile(r"/\S*/(LIVE|MERGED)-\d+"), r"/\1"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"/\S*/\.extapi/dev"), "/DIR"),
    (re.compile(r"^    \S*/kubectl ", re.MULTILINE), "    kubectl "),
    (re.compile(r"(?<=\S)  +"), "  "),  # the width of columns
    (re.compile(r" +$", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of ``page``. ``line``: where its text begins."""

    page: Path
    line: int
    words: tuple[str, ...]
    title: str
    text: str

    @property
    def language(self) -> str:
        """What it is written in."""
        return self.words[0]

    @property
    def for_cluster(self) -> bool:
        """Whether it is left out where there is no cluster to type it in."""
        return self.words == ("console", "cluster")

    @property
    def for_etcd(self) -> bool:
        """Whether it is left out where there is no etcd to type it in."""
        return self.words == ("console", "etcd")

    @property
    def typed(self) -> bool:
        """Whether it is something to type on a local control plane."""
        return self.language == "console" and not self.for_cluster and not self.for_etcd


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    content = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(content):
        info = match[1]
        title = _TITLE.search(info)
        words = tuple(_TITLE.sub("", info).split())
        line = content.count("\n", 0, match.start(2)) + 1
        found.append(Block(page, line, words, title[1] if title else "", match[2]))
    return found


def has_console(page: Path) -> bool:
    """Whether the page has something to type on a local control plane."""
    return any(block.typed for block in blocks(page))


def starts_a_control_plane(page: Path) -> bool:
    """Whether what it types has a control plane running, which may be this one or that."""
    return any(block.words[:2] == ("console", "dev") for block in blocks(page))


def write_files(page: Path, directory: Path) -> None:
    """The files of a page, as a reader saves them."""
    for block in blocks(page):
        if block.title:
            (directory / block.title).write_text(block.text, encoding="utf-8")


def run_python(page: Path) -> None:
    """Execute what is to be executed; the page's files are in the working directory."""
    namespace: dict[str, Any] = {"__name__": "sample"}
    for block in blocks(page):
        if block.language != "python":
            continue
        if not block.title:
            # Blank lines first, so that a traceback shows the line of the page.
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(page), "exec", dont_inherit=True), namespace)  # noqa: S102  # samples are ours
        elif block.title.startswith("test_"):
            run_tests(runpy.run_path(block.title))
    run_tests(namespace)


def run_tests(namespace: dict[str, Any]) -> None:
    """Call the tests of a module."""
    for name, value in namespace.items():
        if name.startswith("test_"):
            value()


def stable(text: str) -> str:
    """The text without what is different each time."""
    for pattern, instead in _UNSTABLE:
        text = pattern.sub(instead, text)
    return text.strip("\n")


def same(expected: str, actual: str) -> bool:
    """Whether an output is the expected one."""
    parts = re.split(r"^\.\.\.$\n?", stable(expected), flags=re.MULTILINE)
    return re.fullmatch(".*".join(map(re.escape, parts)), stable(actual), re.DOTALL) is not None


@dataclass
class Running:
    """A process that goes on, and the lines it has printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    ended: bool = False
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self.arrived:
                self.lines.append(line.rstrip("\n"))
                self.arrived.notify_all()
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()

    def expect(self, expected: str) -> None:
        """Wait for this output, and take it away."""
        with self.arrived:
            self.arrived.wait_for(lambda: self.ended or same(expected, "\n".join(self.lines)), SECONDS)
            seen, self.lines[:] = "\n".join(self.lines), []
        compare(expected, seen, shlex.join(map(str, self.process.args)))  # type: ignore[arg-type]  # a list, as we gave it

    def close(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        self.process.send_signal(number)
        self.process.wait(SECONDS)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


def compare(expected: str, actual: str, command: str) -> None:
    """Assert that a command printed what it should."""
    if not same(expected, actual):
        raise AssertionError(f"$ {command}\n--- the page:\n{stable(expected)}\n--- the command:\n{stable(actual)}")


class Reader:
    """Someone who types what a page says, in ``directory``. Close it afterwards."""

    def __init__(self, directory: Path, control_plane: str = "") -> None:
        self.directory = directory
        self._control_plane = control_plane
        scripts = sysconfig.get_path("scripts")
        self.environment = {
            "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(directory / "home"),
            "KUBECACHEDIR": str(directory / "home"),
            "TZ": "UTC",
        } | {name: value for name, value in os.environ.items() if name.startswith(("COV", "XDG_", "KUBEBUILDER_"))}
        self._cache = os.environ.get("HOME", "")
        self._running: dict[str, Running] = {}

    def follow(self, page: Path) -> None:
        """Type everything of a page, in order."""
        write_files(page, self.directory)
        for block in blocks(page):
            if block.typed:
                self.type(block)

    def type(self, block: Block) -> None:
        """Type one block."""
        role = block.words[1] if block.typed and len(block.words) > 1 else ""
        for command, expected in commands(block):
            try:
                self._type(role, command, expected)
            except AssertionError as error:
                raise AssertionError(f"{block.page.relative_to(ROOT)}:{block.line}: {error}") from None

    def _type(self, role: str, command: str, expected: str) -> None:
        if command == "^C":
            running = self._running.pop(role)
            running.close(signal.SIGINT)
            compare(expected, "\n".join(running.lines), command)
        elif role:
            if command:
                self._running[role] = self._start(role, command)
            self._running[role].expect(self._started(role, expected))
        elif command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = value
        else:
            # The script only sees to .venv first, and would go to the directory of the checkout.
            command = re.sub(r"^scripts/dev\b", "extapi dev", command)
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=SECONDS,
            )
            compare(expected, done.stdout, command)

    def _started(self, role: str, expected: str) -> str:
        """The output of another control plane than the page's: its first lines are its own."""
        if role != "dev" or not self._control_plane:
            return expected
        return re.sub(r"\A.*?^(?=starting the extension server)", "...\n", expected, flags=re.DOTALL | re.MULTILINE)

    def _start(self, role: str, command: str) -> Running:
        words = shlex.split(command)
        environment = dict(self.environment)
        if role == "dev":
            words = ["extapi", "dev", "extapi.pizza:api"] if words == ["scripts/dev"] else words
            words = [sys.executable, "-m", *words]
            words += [f"--control-plane={self._control_plane}"] if self._control_plane else []
            environment["HOME"] = self._cache  # where the control plane is kept once it is compiled
        process = subprocess.Popen(
            words, cwd=self.directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return Running(process)

    def close(self) -> None:
        """End what still runs."""
        for running in reversed(self._running.values()):
            running.close()
        self._running.clear()


@contextlib.contextmanager
def reader(directory: Path, control_plane: str = "") -> Iterator[Reader]:
    """A :class:`Reader` for a block. ``control_plane``: for ``extapi dev``, if not the page's."""
    someone = Reader(directory, control_plane)
    try:
        yield someone
    finally:
        someone.close()


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Commands with their outputs; the command is empty where a running one has printed more."""
    command, output = "", ""
    started = False
    for line in block.text.splitlines():
        if line.startswith("$ ") or line == "^C":
            if started:
                yield command, output
            command, output, started = line.removeprefix("$ "), "", True
        elif line.startswith("> ") and started and not output:
            command += "\n" + line.removeprefix("> ")
        else:
            output += line + "\n"
            started = True
    yield command, output
