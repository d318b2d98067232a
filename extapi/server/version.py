"""What ``/version`` says (spec C21)."""

from __future__ import annotations

import platform
from importlib import metadata

KUBERNETES = ("1", "36")
"""The minor whose behaviour is matched."""


def version_info() -> dict[str, str]:
    """The fields of ``version.Info``; gitVersion tells both the Kubernetes minor and our own version."""
    major, minor = KUBERNETES
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.0+extapi-{metadata.version('extapi')}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{machine}",
    }
