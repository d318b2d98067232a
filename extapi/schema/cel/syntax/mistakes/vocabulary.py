"""The types of tokens by number, and how messages name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

EOF: Final = -1
EPSILON: Final = -2
"""In sets of tokens that may follow: the end of the rule may come."""

_LITERALS: Final = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+",
    "*", "/", "%", "true", "false", "null",
)  # fmt: skip
_SYMBOLS: Final = {
    31: "NUM_FLOAT",
    32: "NUM_INT",
    33: "NUM_UINT",
    34: "STRING",
    35: "BYTES",
    36: "IDENTIFIER",
    37: "ESC_IDENTIFIER",
}
TYPES: Final[Mapping[str, int]] = {text: number for number, text in enumerate(_LITERALS, 1)} | {
    name: number for number, name in _SYMBOLS.items()
}
"""The number of each literal token, and of each other token by its name. Source: ``cel-go/parser/gen`` CEL.tokens."""

_NAMES: Final[Mapping[int, str]] = (
    {EOF: "<EOF>"} | {number: f"'{text}'" for number, text in enumerate(_LITERALS, 1)} | _SYMBOLS
)


def name(number: int) -> str:
    """How messages name a type."""
    return _NAMES[number]


def names(numbers: Iterable[int]) -> str:
    """How messages name a set of types.

    Source: ``antlr4-go/antlr`` IntervalSet.toTokenString.
    """
    shown = [_NAMES[number] for number in sorted(numbers)]
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


def is_literal(number: int) -> bool:
    """Whether the type has one text only."""
    return 0 < number <= len(_LITERALS)
