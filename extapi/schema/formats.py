"""String formats that are enforced: the names and what they accept (spec J23).

They follow ``k8s.io/kube-openapi/pkg/validation/strfmt`` also where it is lenient (``01.2.3.4`` is an ipv4 address,
``1 hour`` a duration). Unknown formats are published and not enforced. Nothing here knows schemas.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import ipaddress
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

_HEX_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)
_BYTE = r"\s*(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\s*"
_RGB_COLOR = re.compile(rf"rgb\({_BYTE},{_BYTE},{_BYTE}\)", re.ASCII)
_SSN = re.compile(r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}", re.ASCII)
_CREDIT_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
    r"|6[27][0-9]{14}",
    re.ASCII,
)
_MAC = re.compile(
    r"(?:[0-9a-f]{2}(?P<s>[:-])(?:[0-9a-f]{2}(?P=s)){4}(?:[0-9a-f]{2})(?:(?P=s)[0-9a-f]{2}){0,2}"
    r"|(?:[0-9a-f]{2}(?P<t>[:-])){19}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2,3}[0-9a-f]{4}|(?:[0-9a-f]{4}\.){9}[0-9a-f]{4}"
    r"|[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40})",
    re.IGNORECASE | re.ASCII,
)
_SHORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONG_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})", re.ASCII)
_GO_DURATION = re.compile(r"[+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_LOOSE_DURATION = re.compile(r"[0-9]+\s*([A-Za-zµ]+)", re.ASCII)
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\x20-\x7e])*"'
_ADDRESS = re.compile(rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_ATOM}(?:\.{_ATOM})*|\[[0-9a-fA-F.:]+\])")
_PHRASE = re.compile(rf"[ \t]*(?:(?:{_ATOM}|\.|{_QUOTED})[ \t]*)*")
_UNITS = {"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"}
_UNIT_PREFIXES = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _uuid(version: str = "", variant: str = "") -> Callable[[str], bool]:
    third = f"{version}[0-9a-f]{{3}}" if version else "[0-9a-f]{4}"
    fourth = f"{variant}[0-9a-f]{{3}}" if variant else "[0-9a-f]{4}"
    pattern = re.compile(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}", re.IGNORECASE | re.ASCII)
    return lambda text: pattern.fullmatch(text) is not None


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _sloppy(address: str) -> str:
    """An IPv4 address without leading zeros, which older Go accepted."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+){3}", address, re.ASCII):
        return address
    return ".".join(str(int(part)) if len(part) < 20 else part for part in address.split("."))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "%" in text:  # zones are Python's: net.ParseIP has none
        return None
    head, colon, tail = text.rpartition(":")
    try:
        return ipaddress.ip_address(head + colon + _sloppy(tail))
    except ValueError:
        return None


def _ipv4(text: str) -> bool:
    return "." in text and _address(text) is not None


def _ipv6(text: str) -> bool:
    return ":" in text and _address(text) is not None


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    found = _address(address)
    if not slash or found is None or not re.fullmatch(r"[0-9]{1,3}", bits, re.ASCII):
        return False
    return int(bits) <= (32 if found.version == 4 else 128)


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    year, month, day = (int(part) for part in text.split("-"))
    try:
        # Go knows a year 0, Python does not; 2000 is a leap year as it is.
        dt.date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    found = _TIME.fullmatch(time.split("t", 1)[0])
    return _date(date) and found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    units = (match[1].lower() for match in _LOOSE_DURATION.finditer(text))
    return any(unit in _UNITS or unit.startswith(_UNIT_PREFIXES) for unit in units)


def _byte(text: str) -> bool:
    if not text or len(text) % 4:
        return False
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _uri(text: str) -> bool:
    """An absolute URI or an absolute path, as ``net/url.ParseRequestURI`` takes them."""
    if not text or any(ord(char) < 0x20 or ord(char) == 0x7F for char in text) or " " in text.split("?", 1)[0]:
        return False
    if text.startswith("/") or text == "*":
        return not re.search(r"%(?![0-9a-fA-F]{2})", text.split("?", 1)[0])
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text)
    if scheme is None:
        return False
    if not text.startswith("/", scheme.end()):
        return True  # opaque, as in urn:a:b
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return not re.search(r"%(?![0-9a-fA-F]{2})", parts.path)


def _email(text: str) -> bool:
    """One mailbox, with or without a display name, as ``net/mail.ParseAddress`` takes it; no comments, no groups."""
    text = text.strip(" \t")
    if text.endswith(">"):
        phrase, found, address = text[:-1].partition("<")
        return bool(found) and _PHRASE.fullmatch(phrase) is not None and _ADDRESS.fullmatch(address) is not None
    return _ADDRESS.fullmatch(text) is not None


def _symbol(char: str) -> bool:
    return unicodedata.category(char)[0] in "LS" or char in "0123456789"


def _host_name(text: str) -> bool:
    """RFC 1034 labels, letters and symbols of any script; a single label, or several before a top level of letters."""
    if len(text.encode()) > 255:
        return False
    labels = text.split(".")
    for label in labels:
        if not 0 < len(label.encode()) <= 63 or label[0] == "-" or label[-1] == "-":
            return False
        if not all(char == "-" or _symbol(char) for char in label):
            return False
    top = labels[-1]
    if len(labels) == 1:
        # One label may have a dash only as its second character: so the pattern has it.
        return "-" not in top[:1] + top[2:]
    return len(top) >= 2 and all(unicodedata.category(char)[0] == "L" for char in top)


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits, re.ASCII):
        return False
    return sum((i + 1) * (10 if d == "X" else int(d)) for i, d in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits, re.ASCII):
        return False
    return sum((1 if i % 2 == 0 else 3) * int(d) for i, d in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CREDIT_CARD.fullmatch(digits):
        return False
    total = 0
    for i, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if i % 2 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def _bounded(limit: int, pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: len(text) <= limit and pattern.fullmatch(text) is not None


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches(re.compile(r"[0-9a-fA-F]{24}")),
    "uri": _uri,
    "email": _email,
    "hostname": _host_name,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": _matches(_MAC),
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _matches(_SSN),
    "hexcolor": _matches(_HEX_COLOR),
    "rgbcolor": _matches(_RGB_COLOR),
    "byte": _byte,
    "password": lambda _text: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": _bounded(63, _SHORT_NAME),
    "k8slongname": _bounded(253, _LONG_NAME),
}


def string_format(name: str) -> Callable[[str], bool] | None:
    """The check of a format by its name, dashes ignored; None: such a format is not enforced."""
    return _FORMATS.get(name.replace("-", ""))


def enforced(types: tuple[str, ...], name: str) -> str:
    """The format as far as values of ``types`` are held to it; empty where it is not enforced for them."""
    only = types[0] if len(types) == 1 else ""
    if only in {"", "string"}:
        return name if string_format(name) else ""
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(only, ())
    return name if name in known else ""
