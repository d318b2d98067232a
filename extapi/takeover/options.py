"""The options that all three commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


def cluster_options(command: Any) -> Any:
    """Add how the cluster is reached."""
    kubeconfig = click.option(
        "--kubeconfig", type=click.Path(path_type=Path), help="How to reach the cluster; by default as kubectl does."
    )
    context = click.option(
        "--context", default="", metavar="NAME", help="A context of the kubeconfig; by default its current one."
    )
    return kubeconfig(context(command))
