"""Rules for names: DNS names, qualified names, label values, path segments; and the names that generateName makes.

Each check returns a list of texts, empty if the name is fine. Texts and regular expressions are those of
``k8s.io/apimachinery/pkg/api/validate/content`` and ``pkg/util/validation`` (behaviour E14, E15). Lengths are in bytes
of UTF-8, as in Go. Knows no objects and no paths: the caller says where a name stands.

The regular expressions appear only in the texts. The checks use string methods, each of which reads a name once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from string import ascii_letters, ascii_lowercase, digits

_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY_NAME})?"

_ALPHANUMERIC = frozenset(ascii_letters + digits)
_IN_LABEL = (ascii_lowercase + digits + "-").encode()
_IN_SUBDOMAIN = _IN_LABEL + b"."
_IN_KEY_NAME = (ascii_letters + digits + "-_.").encode()

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253

_DNS_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_DNS_LABEL}')"
)
_DNS1035_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    f"end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_DNS1035_LABEL}')"
)
_DNS_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_DNS_SUBDOMAIN}')"
)
_KEY_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY_NAME}')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_LABEL_VALUE}')"
)

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and nothing that looks like one, so that no words appear (``apimachinery/pkg/util/rand``)."""
SUFFIX_LENGTH = 5
GENERATED_BASE_LENGTH = LABEL_LENGTH - SUFFIX_LENGTH


def is_dns_label(text: str) -> bool:
    """Whether the text is a DNS label (RFC 1123) of any length."""
    return _made_of(text, _IN_LABEL)


def is_dns1035_label(text: str) -> bool:
    """Whether the text is a DNS label (RFC 1035) of any length: such a label starts with a letter."""
    return _made_of(text, _IN_LABEL) and not text[0].isdigit()


def is_dns_subdomain(text: str) -> bool:
    """Whether the text is a DNS subdomain, labels separated by dots, of any length."""
    if not _made_of(text, _IN_SUBDOMAIN):
        return False
    return "." not in text or not (".." in text or ".-" in text or "-." in text)


def _made_of(text: str, allowed: bytes) -> bool:
    """Whether the text has only these characters, and a letter or digit at each end."""
    # Deleting bytes with a table takes a tenth of a microsecond, no more than a regular expression.
    return (
        text.isascii()
        and text[:1] in _ALPHANUMERIC
        and text[-1] in _ALPHANUMERIC
        and not text.encode().translate(None, allowed)
    )


def lower(text: str) -> str:
    """``text`` in lower case.

    ASCII comes out as with Go's ``strings.ToLower``, for which the dotted İ becomes one character.
    """
    return text.replace("\u0130", "i").lower()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_long(text: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if _size(text) > limit else []


def dns1123_label(value: str) -> list[str]:
    """The problems of a DNS label, such as a namespace's name (``IsDNS1123Label``)."""
    if len(value) <= LABEL_LENGTH and is_dns_label(value):
        return []
    problems = _too_long(value, LABEL_LENGTH, "characters")
    if not is_dns_label(value):
        problems.append("must not contain dots" if is_dns_subdomain(value) else _DNS_LABEL_TEXT)
    return problems


def dns1035_label(value: str) -> list[str]:
    """The problems of a DNS label that must start with a letter, such as an API version (``IsDNS1035Label``)."""
    problems = _too_long(value, LABEL_LENGTH, "characters")
    if not is_dns1035_label(value):
        problems.append(_DNS1035_LABEL_TEXT)
    return problems


def dns1123_subdomain(value: str) -> list[str]:
    """The problems of a DNS subdomain, such as an object's name (``IsDNS1123Subdomain``)."""
    return _subdomain(value, "characters")


def _subdomain(value: str, unit: str) -> list[str]:
    if len(value) <= SUBDOMAIN_LENGTH and is_dns_subdomain(value):
        return []
    problems = _too_long(value, SUBDOMAIN_LENGTH, unit)
    if not is_dns_subdomain(value):
        problems.append(_DNS_SUBDOMAIN_TEXT)
    return problems


def qualified_name(value: str) -> list[str]:
    """The problems of ``[prefix/]name``: label and annotation keys, finalizers (``IsQualifiedName``)."""
    # Every write brings the same few keys: the result for one that is short enough to be valid is cached.
    check = _cached if len(value) <= _CACHED_LENGTH else _qualified_name
    return list(check(value))


def _qualified_name(value: str) -> tuple[str, ...]:
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_KEY_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        # "bytes" here, "characters" for a name on its own: the two packages of apimachinery differ.
        problems += [f"prefix part {problem}" for problem in _subdomain(prefix, "bytes")]
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _too_long(name, LABEL_LENGTH, "bytes")]
    if not _made_of(name, _IN_KEY_NAME):
        problems.append(f"name part {_KEY_NAME_TEXT}")
    return tuple(problems)


_CACHED_LENGTH = SUBDOMAIN_LENGTH + 1 + LABEL_LENGTH
"""Characters of the longest valid key."""

_cached = lru_cache(maxsize=4096)(_qualified_name)


def label_value(value: str) -> list[str]:
    """The problems of a label's value; an empty one is fine (``IsValidLabelValue``)."""
    if not value or (len(value) <= LABEL_LENGTH and _made_of(value, _IN_KEY_NAME)):
        return []
    problems = _too_long(value, LABEL_LENGTH, "bytes")
    if not _made_of(value, _IN_KEY_NAME):
        problems.append(_LABEL_VALUE_TEXT)
    return problems


def path_segment(value: str, *, prefix: bool = False) -> list[str]:
    """The problems of a name as a segment of a URL path; with ``prefix``, more follows (``IsPathSegmentName``)."""
    if not prefix and value in {".", ".."}:
        return [f"may not be '{value}'"]
    if "/" in value or "%" in value:
        return [f"may not contain '{part}'" for part in ("/", "%") if part in value]
    return []


def object_name(value: str, *, prefix: bool = False) -> list[str]:
    """The problems of an object's name, or (``prefix``) of a generateName, which may end in ``-``.

    Source: ``apimachinery/pkg/api/validation`` NameIsDNSSubdomain, which custom resources use.
    """
    return dns1123_subdomain(_without_trailing_dash(value) if prefix else value)


def name_rule(check: Callable[[str], Sequence[str]]) -> Callable[..., list[str]]:
    """A check of whole names as a rule that takes ``prefix``, like :func:`object_name`."""

    def rule(value: str, *, prefix: bool = False) -> list[str]:
        return list(check(_without_trailing_dash(value) if prefix else value))

    return rule


def namespace_name(value: str) -> list[str]:
    """The problems of a namespace's name (``ValidateNamespaceName``)."""
    return dns1123_label(value)


def _without_trailing_dash(value: str) -> str:
    """Go's ``maskTrailingDash``: replaces the last two characters by one that is always allowed."""
    return value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value


def generate_name(base: str, random: Random) -> str:
    """``base``, cut to 58 bytes, followed by five random characters (behaviour E14).

    Source: ``k8s.io/apiserver/pkg/storage/names`` SimpleNameGenerator.
    """
    if _size(base) > GENERATED_BASE_LENGTH:
        base = base.encode("utf-8", "surrogatepass")[:GENERATED_BASE_LENGTH].decode("utf-8", "ignore")
    return base + "".join(random.choices(SUFFIX_ALPHABET, k=SUFFIX_LENGTH))
