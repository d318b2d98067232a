"""The lines of a function while it is written: blocks, temporary names, constants, and costs that are not yet written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, Final

MOST_BLOCKS: Final = 60
"""How deeply blocks nest at most; Python allows 100."""
MOST_LOOPS: Final = 15
"""How deeply loops nest at most; Python allows 20."""
LONGEST: Final = 160
"""An expression with more characters gets a line of its own: Python's parser does not nest deeply."""


class NotWrittenError(Exception):
    """The expression has something for which no code is written."""


class FunctionWriter:
    """The lines of one function.

    A constant stands as an imaginary number, which no expression of CEL has, until :meth:`bound` puts it in its place.
    """

    __slots__ = ("_constants", "_depth", "_lines", "_loops", "_named", "_names", "_pending", "initialized")

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._constants: list[Any] = []
        self._depth = 1
        self._loops = 0
        self._named: list[str] = []
        self._names = 0
        self._pending = 0
        self.initialized: frozenset[str] = frozenset()
        """The lazy variables that have a value wherever the next line is reached."""

    def line(self, text: str) -> None:
        """Write a line."""
        self._lines.append(f"{' ' * self._depth}{text}")

    def name(self) -> str:
        """A new name."""
        self._names += 1
        return f"t{self._names}"

    def constant(self, value: Any) -> str:
        """A value that is there from the beginning."""
        self._constants.append(value)
        number = f"{len(self._constants)}j"
        if isinstance(value, str | bytes | int | float):
            return number
        # Python warns of a number that is called or indexed, so these get a name, once per evaluation.
        name = f"k{len(self._constants)}"
        self._named.append(f" {name} = {number}")
        return name

    def atom(self, text: str) -> str:
        """A name for an expression, so that it is evaluated once; a name stays as it is."""
        if text.isidentifier() or text.isdigit():
            return text
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def short(self, text: str) -> str:
        """An expression that is not too long to stand inside another."""
        return self.atom(text) if len(text) > LONGEST else text

    def charge(self, cost: int) -> None:
        """Add to the cost of what is written next."""
        self._pending += cost

    def charge_text(self, text: str) -> None:
        """Add a cost that is known only at run time."""
        self.line(f"c += {text}")

    def flush(self) -> None:
        """Write the cost that has come together."""
        if self._pending:
            self.line(f"c += {self._pending}")
            self._pending = 0

    def check_limit(self) -> None:
        """Stop if the cost is too high, and look at the clock now and then."""
        self.flush()
        self.line("if c > L: L = go_on(c, H)")

    def look_at_clock(self) -> None:
        """Stop if the time is up. For what costs little and takes long."""
        self.flush()
        self.line("L = go_on(c, H)")

    @contextmanager
    def block(self, head: str, *, loop: bool = False) -> Iterator[None]:
        """A block; what is charged inside is charged inside.

        Raises:
            NotWrittenError: Blocks nest too deeply.
        """
        self.flush()
        self.line(head)
        initialized = self.initialized
        self._depth += 1
        self._loops += loop
        if self._depth > MOST_BLOCKS or self._loops > MOST_LOOPS:
            raise NotWrittenError
        yield
        self.flush()
        self._depth -= 1
        self._loops -= loop
        self.initialized = initialized

    def source(self, head: str) -> str:
        """The whole function."""
        return "\n".join([head, *self._named, *self._lines, ""])

    def bound(self, code: CodeType) -> CodeType:
        """The code with its constants in place."""
        return code.replace(co_consts=self._in_place(code.co_consts))

    def _in_place(self, constants: tuple[Any, ...]) -> tuple[Any, ...]:
        # Python makes one constant of a tuple of constants.
        return tuple(
            self._constants[int(each.imag) - 1]
            if type(each) is complex
            else self._in_place(each)
            if type(each) is tuple
            else each
            for each in constants
        )
