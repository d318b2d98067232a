"""How Kubernetes writes and orders versions: v2, v1, v2beta1, v1beta2, v1alpha1, then all others by name (spec C17)."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGE = {None: 0, "beta": 1, "alpha": 2}


def version_priority(version: str) -> tuple[int, int, int, int, str]:
    """A sort key: what comes first has the higher priority. Source: ``apimachinery/pkg/version`` CompareKubeAwareVersionStrings."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return (1, 0, 0, 0, version)
    major, stage, minor = match.groups()
    return (0, _STAGE[stage], -int(major), -int(minor or 0), "")


def group_version(group: str, version: str) -> str:
    """What ``apiVersion`` says: ``group/version``, or just the version in the core group, which has no name."""
    return f"{group}/{version}" if group else version


def by_priority(versions: Iterable[str]) -> list[str]:
    """The versions, best first."""
    return sorted(versions, key=version_priority)
