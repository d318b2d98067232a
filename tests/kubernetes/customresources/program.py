"""The program with apiextensions-apiserver's integration tests: what it is made of, and where the finished one is."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from extapi.dev import toolchain
from extapi.dev.build import KUBERNETES
from extapi.dev.failure import DevFailure
from extapi.dev.golang import GoProgram, cache_directory, compiled

_HERE = Path(__file__).parent
_MODULE = "k8s.io/apiextensions-apiserver"
_TESTS = "test/integration"
_OWN = ("go.mod", "go.sum", "server.go")


def build(say: Callable[[str], None]) -> Path:
    """The finished program, compiled if it is not there.

    It has to be called ``integration.test``: field managers are named after the program, and the tests look for that name.

    Raises:
        DevFailure: The cache cannot be written, the module cannot be had, or the compiler failed.
    """
    cache = cache_directory(os.environ)
    program = GoProgram(
        sources=_sources(say, cache),
        name="integration.test",
        title="apiextensions-apiserver's integration tests",
        arguments=("test", "-c", "-trimpath", "-ldflags", "-s -w"),
        package=f"{_MODULE}/{_TESTS}",
        version=KUBERNETES[2],
    )
    return compiled(program, say, cache=cache)


def _sources(say: Callable[[str], None], cache: Path) -> Path:
    """A Go module in ``cache`` that replaces upstream's by a copy with our ``server.go``.

    Go allows no overlay over its own cache of modules, so that a copy is needed. Upstream's code is not ours to commit.
    """
    digest = hashlib.sha256()
    for name in _OWN:
        digest.update((_HERE / name).read_bytes())
    home = cache / "integration.test" / f"sources-{digest.hexdigest()[:20]}"
    if home.exists():
        return home
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=home.parent) as directory:
            made = Path(directory) / "sources"
            _copy(_upstream(toolchain.find().command or toolchain.install(cache, say)), made)
            made.rename(home)
    except OSError as error:
        if not home.exists():  # another run may have been faster
            raise DevFailure(f"cannot write the cache {cache}: {error.strerror}") from error
    return home


def _copy(upstream: Path, made: Path) -> None:
    tree = made / "upstream"
    shutil.copytree(upstream, tree, copy_function=shutil.copyfile)
    for directory in [tree, *(each for each in tree.rglob("*") if each.is_dir())]:
        directory.chmod(0o755)  # Go's cache of modules cannot be written
    shutil.copyfile(_HERE / "server.go", tree / _TESTS / "fixtures" / "server.go")
    shutil.copyfile(_HERE / "go.sum", made / "go.sum")
    module = (_HERE / "go.mod").read_text()
    (made / "go.mod").write_text(f"{module}\nreplace {_MODULE} => ./upstream\n")


def _upstream(go: Path) -> Path:
    """The directory of upstream's module in Go's cache, downloaded first if it is not there."""
    result = subprocess.run(
        [str(go), "mod", "download", "-json", _MODULE],
        cwd=_HERE,
        env={**os.environ, "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise DevFailure(f"go cannot download {_MODULE}: {result.stdout}{result.stderr}")
    return Path(json.loads(result.stdout)["Dir"])
