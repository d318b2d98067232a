"""The binary of the real control plane: found, or compiled once into a cache outside the tree.

The Go module under ``tests/kubernetes/controlplane`` of a checkout holds etcd, kube-apiserver and
kube-controller-manager in one binary. ``KUBEBUILDER_ASSETS`` (the convention of envtest) names prebuilt programs that
are used instead. This module knows how to get at the programs, and nothing of how they are run.

``python -m extapi.dev.build`` compiles ahead of need and prints where the result is.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from extapi.dev import toolchain
from extapi.dev.failure import DevFailure
from extapi.dev.progress import Progress, open_progress

SOURCES = Path(__file__).parents[2] / "tests" / "kubernetes" / "controlplane"
KUBERNETES = ("1", "36", "1.36.3")
_SETTINGS = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}


@dataclass(frozen=True)
class Programs:
    """How to start each program of the control plane: the first words of its command line.

    ``controller_manager`` is None with envtest's binaries, which have none.
    """

    etcd: tuple[str, ...]
    apiserver: tuple[str, ...]
    controller_manager: tuple[str, ...] | None


def programs(
    say: Callable[[str], None], *, environment: Mapping[str, str] = os.environ, sources: Path = SOURCES
) -> Programs:
    """The programs of the control plane, compiled first where that is needed.

    :raises DevFailure: they are neither there nor can be compiled.
    """
    assets = environment.get("KUBEBUILDER_ASSETS")
    if assets:
        return _prebuilt(Path(assets))
    binary = str(build(say, cache=cache_directory(environment), sources=sources))
    return Programs((binary, "etcd"), (binary, "kube-apiserver"), (binary, "kube-controller-manager"))


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where finished binaries are kept, by the XDG base directory specification."""
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - also without HOME
    return Path(base) / "extapi" / "controlplane"


def _prebuilt(directory: Path) -> Programs:
    """The programs in ``directory``, named as envtest names them."""
    for name in ("etcd", "kube-apiserver"):
        if not os.access(directory / name, os.X_OK):
            raise DevFailure(f"KUBEBUILDER_ASSETS is {directory}, but there is no program {name} in it")
    controller_manager = directory / "kube-controller-manager"
    return Programs(
        (str(directory / "etcd"),),
        (str(directory / "kube-apiserver"),),
        (str(controller_manager),) if os.access(controller_manager, os.X_OK) else None,
    )


def build(say: Callable[[str], None], *, cache: Path, sources: Path = SOURCES) -> Path:
    """The finished binary in ``cache``, compiled from ``sources`` if it is not there.

    Two runs at once compile once: the second waits for the first. An interrupted run leaves nothing behind that would
    be taken for a result.

    :raises DevFailure: there are no sources, the cache cannot be written, or the compiler failed.
    """
    if not (sources / "go.mod").exists():
        raise DevFailure(
            "the real control plane is compiled from a checkout of extapi, and this is none: "
            "set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver"
        )
    tools = toolchain.find()
    home = cache / cache_key(sources, tools.version)
    binary = home / "controlplane"
    if binary.exists():
        return binary
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / "lock").open("w")
    except OSError as error:
        raise DevFailure(f"cannot write the cache of control planes {cache}: {error.strerror}") from error
    with lock:
        _wait_for(lock.fileno(), say)
        if binary.exists():
            return binary
        go = tools.command or toolchain.install(cache, say)
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=home) as unfinished:
            result = Path(unfinished) / "controlplane"
            with open_progress("compiling the control plane (once; some minutes)", say) as progress:
                _compile(go, sources, result, home / "build.log", progress)
            result.rename(binary)
    return binary


def cache_key(sources: Path, go_version: str) -> str:
    """What a binary is made of: sources, the versions of all modules, flags, platform and compiler."""
    digest = hashlib.sha256()
    for file in sorted([*sources.glob("*.go"), sources / "go.mod", sources / "go.sum"]):
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode() + content)
    machine = os.uname()
    for fact in (
        go_version,
        machine.sysname,
        machine.machine,
        *_arguments(Path("x")),
        *sorted(f"{k}={v}" for k, v in _SETTINGS.items()),
    ):
        digest.update(f"{fact}\n".encode())
    return f"{KUBERNETES[2]}-{digest.hexdigest()[:20]}"


def _wait_for(descriptor: int, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting for another run that compiles the control plane")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _arguments(result: Path) -> list[str]:
    major, minor, version = KUBERNETES
    stamp = "-X k8s.io/component-base/version."
    flags = f"-s -w {stamp}gitVersion=v{version} {stamp}gitMajor={major} {stamp}gitMinor={minor}"
    return ["build", "-v", "-trimpath", "-ldflags", flags, "-o", str(result), "."]


def _compile(go: Path, sources: Path, result: Path, log: Path, progress: Progress) -> None:
    """Run the compiler; it names each package on stderr as it gets to it (``-v``)."""
    with subprocess.Popen(  # noqa: S603 - the toolchain found above
        [str(go), *_arguments(result)],
        cwd=sources,
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
        raise DevFailure(f"the control plane could not be compiled (go ended with status {status}); see {kept}")


def main() -> None:
    """Compile ahead of need: ``python -m extapi.dev.build``."""
    try:
        found = programs(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201 - a command's output
    except DevFailure as failure:
        sys.exit(f"error: {failure}")
    print(found.apiserver[0])  # noqa: T201 - a command's output


if __name__ == "__main__":
    main()
