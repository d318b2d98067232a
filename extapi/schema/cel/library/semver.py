"""Semantic versions: ``semver``, ``isSemver``, their numbers and their order. From Kubernetes 1.33 on, in version 1.

Source: ``k8s.io/apiserver/pkg/cel/library`` semverlib.go, ``github.com/blang/semver/v4`` Parse and Compare.
"""

from __future__ import annotations

from string import ascii_letters, digits
from typing import ClassVar, Final

from extapi.api.strconv import only_digits, parse_uint
from extapi.errors import go_quote
from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.charges import walk, walk_estimate
from extapi.schema.cel.types import SEMVER, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD

_ALPHANUMERIC: Final = f"{ascii_letters}{digits}-"
_Prerelease = tuple[tuple[int, int, str], ...]


class Semver:
    """A version. Build metadata does not count in comparisons."""

    __slots__ = ("major", "minor", "patch", "prerelease")
    cel_type: ClassVar[Type] = SEMVER

    def __init__(self, major: int, minor: int, patch: int, prerelease: _Prerelease = ()) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.prerelease = prerelease
        """Numbers come before words."""

    def _all(self) -> tuple[object, ...]:
        # a version without a prerelease comes after all that have one
        return self.major, self.minor, self.patch, not self.prerelease, self.prerelease

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        return f"{text}-{'.'.join(part[2] or str(part[1]) for part in self.prerelease)}" if self.prerelease else text

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1."""
        left, right = self._all(), other._all()
        return (left > right) - (left < right)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Semver):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())


def _parse(text: str) -> Semver:
    """Read a version.

    Raises:
        ValueError: It is none; the message is Go's.
    """
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major = _number("Major", parts[0])
    minor = _number("Minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    rest, dash, prerelease = rest.partition("-")
    patch = _number("Patch", rest)
    before = tuple(_prerelease(each) for each in prerelease.split(".")) if dash else ()
    for each in build.split(".") if plus else ():
        if not each:
            raise ValueError("Build meta data is empty")
        if each.strip(_ALPHANUMERIC):
            raise ValueError(f"Invalid character(s) found in build meta data {go_quote(each)}")
    return Semver(major, minor, patch, before)


def _number(name: str, text: str) -> int:
    if text and not only_digits(text):
        raise ValueError(f"Invalid character(s) found in {name.lower()} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{name} number must not contain leading zeroes {go_quote(text)}")
    return parse_uint(text)


def _prerelease(text: str) -> tuple[int, int, str]:
    if not text:
        raise ValueError("Prerelease is empty")
    if only_digits(text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return 0, parse_uint(text), ""
    if text.strip(_ALPHANUMERIC):
        raise ValueError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return 1, 0, text


def _normalized(text: str) -> str:
    """Without ``v`` and leading zeros, and with zeros for what is missing.

    Source: ``k8s.io/apiserver/pkg/cel/library`` normalizeAndParse.
    """
    parts = [_without_zeros(each) for each in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(text: str) -> str:
    if len(text.encode(errors="surrogatepass")) < 2:
        return text
    rest = text.lstrip("0")
    return rest if rest[:1] and rest[0] in digits else f"0{rest}"


def parse_semver(text: str, normalize: bool = False) -> Semver:
    """Read a version.

    Raises:
        EvaluationError: It is none; the message is Go's.
    """
    try:
        return _parse(_normalized(text) if normalize else text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        parse_semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _part(name: str) -> Overload:
    def part(version: Semver) -> int:
        number: int = getattr(version, name)
        return number if number < 2**63 else number - 2**64  # as Go converts a uint64

    return overload(f"semver_{name}", f".{name}(semver) -> int", part)


_WALK: Final = walk()
_WALK_ESTIMATE: Final = walk_estimate()

SEMVER_FUNCTIONS: Final[tuple[Overload, ...]] = (
    overload("string_to_semver", "semver(string) -> semver", parse_semver, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload(
        "string_bool_to_semver",
        "semver(string, bool) -> semver",
        parse_semver,
        cost=_WALK,
        estimate=_WALK_ESTIMATE,
    ),
    overload("is_semver_string", "isSemver(string) -> bool", _is_semver, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload(
        "is_semver_string_bool",
        "isSemver(string, bool) -> bool",
        _is_semver,
        cost=_WALK,
        estimate=_WALK_ESTIMATE,
    ),
    overload(
        "semver_is_greater_than",
        ".isGreaterThan(semver, semver) -> bool",
        lambda left, right: left.compare(right) > 0,
    ),
    overload("semver_is_less_than", ".isLessThan(semver, semver) -> bool", lambda left, right: left.compare(right) < 0),
    overload("semver_compare_to", ".compareTo(semver, semver) -> int", Semver.compare),
    *(_part(name) for name in ("major", "minor", "patch")),
)
