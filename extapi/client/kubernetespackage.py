"""The ``kubernetes`` package, an extra of ours: whether it is there, and what to say where it is not.

It brings twenty packages and 120 MB. A server in a pod needs none of it. Must not import it.
"""

from __future__ import annotations

import importlib.util


class MissingPackage(Exception):
    """The package is not installed. The text says for what it is needed, and how to install it."""


def require_kubernetes(purpose: str) -> None:
    """Check that the package is installed. ``purpose`` begins the message: "extapi doctor".

    :raises MissingPackage: it is not.
    """
    if importlib.util.find_spec("kubernetes") is None:
        raise MissingPackage(
            f"{purpose} needs the Python package 'kubernetes', which is not installed: pip install 'extapi[kubeconfig]'. "
            "An image built from deploy/Dockerfile leaves it out: run this where kubectl runs"
        )
