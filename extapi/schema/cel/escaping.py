"""The names of properties as identifiers of CEL, which have no dots, dashes and slashes.

Source: ``k8s.io/apiserver/pkg/cel`` Escape and Unescape.
"""

from __future__ import annotations

import re
from typing import Final

RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
"""The words that no identifier may be."""

_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_CONTENTS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_ESCAPABLE: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_ESCAPED: Final = re.compile(r"__|[./-]")
_SEQUENCE: Final = re.compile(r"__[^_]+__")


def escape(name: str) -> str | None:
    """The identifier for a property; None for a name that has none."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)


def unescape(identifier: str) -> str | None:
    """The property that an identifier stands for; None if its escapes are wrong."""
    wrong = False

    def original(found: re.Match[str]) -> str:
        nonlocal wrong
        contents = found[0][2:-2]
        if contents in _CONTENTS:
            return _CONTENTS[contents]
        wrong = wrong or contents not in RESERVED or found[0] != identifier
        return contents

    name = _SEQUENCE.sub(original, identifier)
    return None if wrong else name
