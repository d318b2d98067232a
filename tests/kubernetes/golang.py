"""Go programs of the tests: compiled once into the user's cache, beside the control plane.

``python -m tests.kubernetes.golang`` compiles ahead what a run of all tests needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from extapi.dev.failure import DevFailure
from extapi.dev.golang import GoProgram, cache_directory, compiled

HERE = Path(__file__).parent


def program(module: str, title: str, *, package: str = ".", name: str = "", say: Callable[[str], None] = print) -> Path:
    """The finished program of ``package`` in the Go module that is the directory ``module`` beside this file.

    ``title``: for messages; ``name``: of the program, by default that of its package.

    :raises DevFailure: it could not be compiled.
    """
    name = name or (module if package == "." else package.rpartition("/")[2])
    arguments = ("build", "-v", "-trimpath", "-ldflags", "-s -w")
    made = GoProgram(sources=HERE / module, name=name, title=title, arguments=arguments, package=package)
    return compiled(made, say, cache=cache_directory(os.environ))


def informer() -> Path:
    """A client-go informer that prints what it sees."""
    return program("informer", "the informer of the tests")


def reader() -> Path:
    """Reads by client-go, which says what failed."""
    return program("informer", "the reader of the tests", package="./reader")


def beside() -> Path:
    """client-go's informers, calls and queue, held beside ours."""
    return program("informer", "client-go beside our client", package="./beside")


def formats() -> Path:
    """kube-apiserver's own judgement of strings by the formats of schemas."""
    return program("formats", "the formats of the tests")


def managedfields() -> Path:
    """kube-apiserver's own managed fields and server-side apply."""
    return program("managedfields", "the managed fields of the tests")


def cel() -> Path:
    """kube-apiserver's own CEL: its compiler, its costs, its rules."""
    return program("cel", "the judge of CEL of the tests")


def remotecommand() -> Path:
    """client-go's WebSocket executor, which is that of ``kubectl exec``."""
    return program("remotecommand", "the remote commands of the tests")


def helm(major: int) -> Path:
    """The command helm of that major version."""
    return program("clients", f"helm {major} of the tests", package=f"helm.sh/helm/v{major}/cmd/helm")


def controller() -> Path:
    """A controller on controller-runtime."""
    return program("clients", "the controller of the tests", package="./controller")


def flux() -> Path:
    """Flux's server-side apply of sets of objects."""
    return program("clients", "Flux's apply of the tests", package="./flux")


def typed() -> Path:
    """client-go's typed apply configurations."""
    return program("clients", "the typed apply of the tests", package="./typed")


def etcdctl() -> Path:
    """The command etcdctl of the version of etcd that the control plane has."""
    return program("etcdtools", "etcdctl of the tests", package="go.etcd.io/etcd/etcdctl/v3", name="etcdctl")


def etcdutl() -> Path:
    """The command etcdutl of the same version, which restores snapshots."""
    return program("etcdtools", "etcdutl of the tests", package="go.etcd.io/etcd/etcdutl/v3", name="etcdutl")


def pizzahooks() -> Path:
    """Webhooks of the pizza API on controller-runtime."""
    return program("clients", "the Go webhooks of the benchmark", package="./pizzahooks")


def etcd(version: str) -> Path:
    """The program of etcd 3.5 or 3.7; 3.6 is in that of the control plane."""
    return program(f"etcd{version.replace('.', '')}", f"etcd {version} of the tests")


def kine() -> Path:
    """kine, with SQLite among its stores."""
    return program("kine", "kine of the tests")


if __name__ == "__main__":
    try:
        made = [
            informer(),
            reader(),
            formats(),
            managedfields(),
            cel(),
            remotecommand(),
            helm(3),
            helm(4),
            controller(),
            flux(),
            typed(),
            etcdctl(),
            etcdutl(),
            etcd("3.5"),
        ]
        print(*made)  # noqa: T201 - a command's output
    except DevFailure as failure:
        sys.exit(f"error: {failure}")
