"""The binary of the real control plane: found, or compiled once into a cache outside the tree.

The Go module under ``tests/kubernetes/controlplane`` of a checkout holds etcd, kube-apiserver and
kube-controller-manager in one binary. ``KUBEBUILDER_ASSETS`` (the convention of envtest) names prebuilt programs that
are used instead. This module finds the programs; it does not run them.

``python -m extapi.dev.build`` compiles ahead of time and prints the path of the result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from extapi.dev.failure import DevFailure
from extapi.dev.golang import GoProgram, cache_directory, compiled

SOURCES = Path(__file__).parents[2] / "tests" / "kubernetes" / "controlplane"
KUBERNETES = ("1", "36", "1.36.3")


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
    """The programs of the control plane, compiled first if necessary.

    Raises:
        DevFailure: They do not exist and cannot be compiled.
    """
    assets = environment.get("KUBEBUILDER_ASSETS")
    if assets:
        return _prebuilt(Path(assets))
    binary = str(build(say, cache=cache_directory(environment), sources=sources))
    return Programs((binary, "etcd"), (binary, "kube-apiserver"), (binary, "kube-controller-manager"))


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
    """The binary in ``cache``, compiled from ``sources`` if it is missing.

    Raises:
        DevFailure: There are no sources, the cache cannot be written, or the compiler failed.
    """
    if not (sources / "go.mod").exists():
        raise DevFailure(
            "the real control plane can be compiled only in a checkout of extapi: "
            "set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver"
        )
    return compiled(control_plane(sources), say, cache=cache)


def control_plane(sources: Path = SOURCES) -> GoProgram:
    """The program: all three in one, with the version that kube-apiserver reports."""
    major, minor, version = KUBERNETES
    stamp = "-X k8s.io/component-base/version."
    flags = f"-s -w {stamp}gitVersion=v{version} {stamp}gitMajor={major} {stamp}gitMinor={minor}"
    return GoProgram(
        sources=sources,
        name="controlplane",
        title="the control plane",
        arguments=("build", "-v", "-trimpath", "-ldflags", flags),
        version=version,
    )


def main() -> None:
    """Compile ahead of time: ``python -m extapi.dev.build``."""
    try:
        found = programs(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201 - a command's output
    except DevFailure as failure:
        sys.exit(f"error: {failure}")
    print(found.apiserver[0])  # noqa: T201 - a command's output


if __name__ == "__main__":
    main()
