"""The image of ``deploy/Dockerfile``, built without a container engine: by Debian's buildah, from a base that is made here.

The base has the name of the one that the Dockerfile begins with, and what of that matters: Debian, its Python of that
version, and pip, which reaches the package index as this machine's does. It is made by mmdebstrap, as no registry of
images is asked. Both are kept in the user's cache until what they are made of changes. Needs root, and Debian's packages
mmdebstrap and buildah.

``python -m tests.kubernetes.imagebuild`` builds ahead, and prints where the root of the image is.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.dev.golang import cache_directory
from tests.kubernetes import image

ROOT = Path(__file__).parents[2]
IGNORED = ROOT / "deploy" / "Dockerfile.dockerignore"
_SUITES = {"3.11": "bookworm", "3.13": "trixie"}
"""Of Debian, by the version of its Python."""
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_SECONDS = 900
"""For one program; slow mirrors included."""


class CannotBuild(Exception):
    """There is no image. The text says what failed, and what the test needs."""


@dataclass(frozen=True)
class Built:
    """What was built: the root of its tree of files, and its configuration (``config`` of the OCI image specification)."""

    root: Path
    config: dict[str, Any]

    @property
    def packages(self) -> Path:
        """Where its Python packages are."""
        (found,) = (self.root / "opt" / "extapi" / "lib").glob("python3.*/site-packages")
        return found


def built() -> Built:
    """The image, built now if it is not in the cache.

    :raises CannotBuild: a program is missing, or has failed.
    """
    cache = cache_directory(os.environ) / "image"
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        base = _Base(image.read().base)
        target = cache / f"image-{_digest(base.key, *_context())}"
        if not target.exists():
            _remove(each for each in cache.iterdir() if each.name.startswith(("image-", "work-")))
            with tempfile.TemporaryDirectory(prefix="work-", dir=cache) as work:
                _build(base, cache, Path(work))
                (Path(work) / "image").rename(target)
    return Built(target / "root", json.loads((target / "config.json").read_text()))


class _Base:
    """What the base is made of. ``name``: of the image, ``python:3.11-slim``."""

    def __init__(self, name: str) -> None:
        self.name = name
        version = name.partition(":")[2].removesuffix("-slim")
        self.suite = _SUITES[version]
        self.pip = _pip_configuration()
        self.authorities = _AUTHORITIES.read_bytes() if _AUTHORITIES.exists() else b""
        self.key = _digest(b"1", name.encode(), self.suite.encode(), self.pip.encode(), self.authorities)

    def make(self, tar: Path, work: Path) -> None:
        """Write the tree of files as ``tar``."""
        (work / "pip.conf").write_text(self.pip)
        (work / _AUTHORITIES.name).write_bytes(self.authorities)
        hooks = [
            'ln -s /usr/bin/python3 "$1/usr/local/bin/python"',
            # pip may install for all, as in the image that this stands for.
            'rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED',
            f"copy-in {work}/pip.conf /etc",
            *([f"copy-in {work}/{_AUTHORITIES.name} {_AUTHORITIES.parent}"] if self.authorities else []),
        ]
        command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--quiet"]
        command += ["--include=python3-pip,python3-venv,ca-certificates"]
        _run([*command, *(f"--customize-hook={hook}" for hook in hooks), self.suite, str(tar)])


def _build(base: _Base, cache: Path, work: Path) -> None:
    """Make ``work/image``: ``root`` and ``config.json``."""
    tar = cache / f"base-{base.key}.tar"
    if not tar.exists():
        _remove(cache.glob("base-*"))
        base.make(work / "base.tar", work)
        (work / "base.tar").rename(tar)
    # A store of its own: nothing of the machine's is seen, and no other image of these names.
    store = ["--root", str(work / "store"), "--runroot", str(work / "run"), "--storage-driver=vfs"]

    def buildah(command: str, *arguments: str) -> str:
        return _run(["buildah", *store, command, *arguments])

    empty = buildah("from", "scratch")
    buildah("add", "--quiet", empty, str(tar), "/")
    buildah("commit", "--quiet", empty, base.name)
    options = ["--isolation=chroot", "--pull-never", "--layers=false", f"--ignorefile={IGNORED}"]
    buildah("bud", *options, f"--file={image.DOCKERFILE}", "--tag=extapi-tested", str(ROOT))
    container = buildah("from", "--pull-never", "localhost/extapi-tested")
    (work / "image").mkdir()
    described = json.loads(buildah("inspect", "--type=image", "localhost/extapi-tested"))
    (work / "image" / "config.json").write_text(json.dumps(described["OCIv1"]["config"]))
    # With this driver the directory is the container's own, and nothing is mounted.
    Path(buildah("mount", container)).rename(work / "image" / "root")


def _context() -> Iterator[bytes]:
    """Of what the image is made: names and contents."""
    wanted = [line[1:] for line in IGNORED.read_text().splitlines() if line.startswith("!")]
    files = [image.DOCKERFILE, IGNORED]
    for path in (ROOT / name for name in wanted):
        files += [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if each.is_file()]
    for each in files:
        if "__pycache__" not in each.parts:
            yield str(each.relative_to(ROOT)).encode()
            yield each.read_bytes()


def _pip_configuration() -> str:
    """What this machine's pip is told by files and by the environment, as one file for the base."""
    found = configparser.RawConfigParser()
    for line in _run([sys.executable, "-m", "pip", "config", "list"]).splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        section = "global" if section == ":env:" else section
        if not found.has_section(section):
            found.add_section(section)
        found.set(section, option, ast.literal_eval(value))
    if found.has_option("global", "cert"):
        found.set("global", "cert", str(_AUTHORITIES))
    with tempfile.TemporaryFile("w+") as file:
        found.write(file)
        file.seek(0)
        return file.read()


def _digest(*parts: bytes | str) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8) + data)
    return whole.hexdigest()[:16]


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _run(command: list[str]) -> str:
    """Run a program to its end; what it has printed.

    :raises CannotBuild: it is missing, or has failed.
    """
    needs = "the tests build the image: they need root, and Debian's packages mmdebstrap, buildah and runc"
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise CannotBuild(f"there is no program {command[0]}; {needs}") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-4000:]
        raise CannotBuild(f"{command[0]} ended with {done.returncode}; {needs}. It said:\n{said}")
    return done.stdout.strip()


if __name__ == "__main__":
    try:
        print(built().root)  # noqa: T201 - a command's output
    except CannotBuild as failure:
        sys.exit(f"error: {failure}")
