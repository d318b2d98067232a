"""How Kubernetes writes and orders versions: v2, v1, v2beta1, v1beta2, v1alpha1, then others (behaviour C17)."""

from __future__ import annotations

from collections.abc import Iterable

from extapi.api.strconv import parse_int

_STAGES = ("", "beta", "alpha")


def version_priority(version: str) -> tuple[int, int, int, int, str]:
    """The sort key of a version; a higher priority sorts first.

    Source: ``apimachinery/pkg/version`` CompareKubeAwareVersionStrings.
    """
    if version.startswith("v"):
        for order, stage in enumerate(_STAGES):
            # Without a stage there is no second number to read.
            major, found, minor = version[1:].partition(stage) if stage else (version[1:], "", "")
            number, after = _number(major), _number(minor) if found else 0
            if found == stage and number is not None and after is not None:
                return (0, order, -number, -after, "")
    return (1, 0, 0, 0, version)


def _number(text: str) -> int | None:
    """A number without leading zero or sign; None if it is not one, or too large for Go."""
    if text[:1] not in set("123456789"):
        return None
    try:
        return parse_int(text)
    except ValueError:
        return None


def group_version(group: str, version: str) -> str:
    """The value of ``apiVersion``: ``group/version``, or only the version for the core group, whose name is empty."""
    return f"{group}/{version}" if group else version


def by_priority(versions: Iterable[str]) -> list[str]:
    """The versions, highest priority first."""
    return sorted(versions, key=version_priority)
