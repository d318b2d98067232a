"""A Go module of a checkout, compiled once into a cache outside the tree.

The path of the result is derived from all its inputs, so that an old binary is never taken for a new one. Does not know
what the programs do.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from extapi.dev import toolchain
from extapi.dev.failure import DevFailure
from extapi.dev.progress import Progress, open_progress

_SETTINGS = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}


@dataclass(frozen=True, kw_only=True)
class GoProgram:
    """What is compiled, and how."""

    sources: Path
    """The directory with go.mod."""
    name: str
    """The name of the binary, and of the directory in the cache that holds its versions."""
    title: str
    """Used in messages, such as "the control plane"."""
    arguments: tuple[str, ...]
    """Arguments of ``go``, without ``-o FILE`` and the package."""
    package: str = "."
    version: str = ""
    """The beginning of the cache key, for people who look there."""


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where finished programs are kept, by the XDG base directory specification."""
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - also without HOME
    return Path(base) / "extapi"


def compiled(program: GoProgram, say: Callable[[str], None], *, cache: Path) -> Path:
    """The binary in ``cache``, compiled if it is missing. All programs share one cache, and a toolchain in it.

    If two runs start at once, the second waits for the first. An interrupted run leaves nothing that could be taken for a
    result.

    Raises:
        DevFailure: The cache cannot be written, or the compiler failed.
    """
    tools = toolchain.find()
    home = cache / program.name / cache_key(program, tools.version)
    binary = home / program.name
    if binary.exists():
        return binary
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / "lock").open("w")
    except OSError as error:
        raise DevFailure(f"cannot write the cache {cache} for {program.title}: {error.strerror}") from error
    with lock:
        _wait_for(lock.fileno(), say, program)
        if binary.exists():
            return binary
        go = tools.command or toolchain.install(cache, say)
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=home) as unfinished:
            result = Path(unfinished) / program.name
            with open_progress(f"compiling {program.title} (once; some minutes)", say) as progress:
                _compile(go, program, result, home / "build.log", progress)
            result.rename(binary)
    return binary


def cache_key(program: GoProgram, go_version: str) -> str:
    """What a program is made of: sources, the versions of all modules, flags, platform and compiler."""
    digest = hashlib.sha256()
    sources = program.sources
    for file in sorted([*sources.rglob("*.go"), sources / "go.mod", sources / "go.sum"]):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(sources)} {len(content)}\n".encode() + content)
    machine = os.uname()
    for fact in (
        go_version,
        machine.sysname,
        machine.machine,
        *_arguments(program, Path("x")),
        *sorted(f"{k}={v}" for k, v in _SETTINGS.items()),
    ):
        digest.update(f"{fact}\n".encode())
    key = digest.hexdigest()[:20]
    return f"{program.version}-{key}" if program.version else key


def _wait_for(descriptor: int, say: Callable[[str], None], program: GoProgram) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another run that compiles {program.title}")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _arguments(program: GoProgram, result: Path) -> list[str]:
    return [*program.arguments, "-o", str(result), program.package]


def _compile(go: Path, program: GoProgram, result: Path, log: Path, progress: Progress) -> None:
    """Run the compiler; it names each package on stderr as it gets to it (``-v``)."""
    with subprocess.Popen(  # noqa: S603 - the toolchain found above
        [str(go), *_arguments(program, result)],
        cwd=program.sources,
        env={**os.environ, **_SETTINGS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        try:
            with log.open("w") as written:
                for line in process.stderr or ():
                    written.write(line)
                    progress.step(line.strip())
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # the compilers that go has started, too
            raise
    if status != 0:
        kept = Path(shutil.copy(log, log.with_name("failed.log")))
        raise DevFailure(f"{program.title} could not be compiled (go ended with status {status}); see {kept}")
