"""Values of the OpenAPI documents as YAML in block style, as gnostic writes them into messages.

A client may compare the text: client-go's own tests do. Plain words are as gnostic writes them; what YAML could misread is
quoted as in JSON. Must not know documents.

Source: ``github.com/google/gnostic-models/compiler`` Marshal, ``go.yaml.in/yaml/v3``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from extapi.api.jsonvalue import go_json

_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""Words that YAML takes for other values, in any case."""
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff]")
"""What JSON leaves as it is, and YAML refuses."""
_INDENT: Final = "    "


def block_yaml(value: Any) -> str:
    """The text of a JSON value, with a line break at its end."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, member in value.items():
            if isinstance(member, Mapping | list | tuple) and member:
                yield f"{_scalar(key)}:"
                yield from (f"{_INDENT}{line}" for line in _lines(member))
            else:
                yield f"{_scalar(key)}: {_inline(member)}"
    elif isinstance(value, list | tuple) and value:
        for item in value:
            lead = "- "
            for line in _lines(item):
                yield f"{lead}{line}"
                lead = "  "
    else:
        yield _inline(value)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    return "[]" if isinstance(value, list | tuple) else _scalar(value)


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return go_json(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return str(value)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(value).decode())
