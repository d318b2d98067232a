"""Checks of what an author passes to ``Kind``, ``Group`` and ``Api``: types, and methods that the server can call.

Nothing is called, only inspected. Each check yields one line per problem, with what to write instead.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_REST: Final[Mapping[str, Sequence[str]]] = {
    "create": ("request", "obj"),
    "get": ("request",),
    "list": ("request",),
    "update": ("request", "obj"),
    "delete": ("request",),
}
"""The methods of REST storage (``Kind.rest``), one per verb, with their arguments."""
_PLUGIN: Final[Mapping[str, Sequence[str]]] = {"mutate": ("review",), "validate": ("review",), "start": ("context",)}
"""The methods of an admission plugin, with their arguments."""
_CONTROLLER: Final[Mapping[str, Sequence[str]]] = {"run": ("context",)}
"""The methods of a controller, with their arguments."""
_TYPE_NAMES: Final[Mapping[str, str]] = {"str": "a string", "bool": "True or False", "Scope": "NAMESPACED or CLUSTER"}
_AWAITABLE = ("Awaitable", "Coroutine", "Deferred", "Future")
_NEAR = 0.75
"""Above this similarity (``difflib``), one name passes for a misspelling of the other."""


def instance(value: Any, wanted: type, what: str) -> Iterator[str]:
    """``value`` must be an instance of ``wanted``."""
    if isinstance(value, type) and issubclass(value, wanted):
        yield f"{what} is the class {value.__name__}; write {value.__name__}(...)"
    elif not isinstance(value, wanted):
        yield f"{what} must be {_TYPE_NAMES.get(wanted.__name__, f'an extapi.{wanted.__name__}')}, not {_shown(value)}"


def sequence(given: Any, what: str) -> Iterator[str]:
    """``given`` must be a list or a tuple, and not a string, which is a sequence of letters."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        yield f"{what} must be a list, not {_shown(given)}"


def each(given: Any, wanted: type, what: str) -> Iterator[str]:
    """``given`` must be a list or tuple of instances of ``wanted``."""
    wrong = list(sequence(given, what))
    yield from wrong
    for index, value in enumerate(() if wrong else given):
        yield from instance(value, wanted, f"{what}[{index}]")


def values(mapping: Any, wanted: type, what: str) -> Iterator[str]:
    """``mapping`` must map names to instances of ``wanted``."""
    if not isinstance(mapping, Mapping):
        yield f"{what} must be a mapping of names to {wanted.__name__}, not {_shown(mapping)}"
        return
    for name, value in mapping.items():
        yield from instance(name, str, f"{what}: the name {name!r}")
        yield from instance(value, wanted, f"{what}[{name!r}]")


def subclass(value: Any, wanted: type, what: str) -> Iterator[str]:
    """``value`` must be a subclass of ``wanted``."""
    if not (isinstance(value, type) and issubclass(value, wanted)):
        yield f"{what} must be a subclass of extapi.{wanted.__name__}, not {_shown(value)}"


def type_or_schema(value: Any, wanted: type, what: str) -> Iterator[str]:
    """``value`` must be a subclass of ``wanted``, or a schema as a mapping."""
    if not isinstance(value, Mapping):
        yield from subclass(value, wanted, what)


def function(value: Any, what: str) -> Iterator[str]:
    """``value`` must be a function or None."""
    if value is not None and not callable(value):
        yield f"{what} must be a function, not {_shown(value)}"


def rest_storage(given: Any, what: str) -> Iterator[str]:
    """``given`` must have the method of at least one verb (``Kind.rest``)."""
    yield from _methods(given, _REST, what)
    if hasattr(given, "update") and not hasattr(given, "get"):
        yield f"{what} has a method update but no method get; update needs it to read the object"


def plugins(given: Sequence[Any], what: str) -> Iterator[str]:
    """Each must be an admission plugin."""
    for index, plugin in enumerate(given):
        yield from _methods(plugin, _PLUGIN, f"{what}[{index}] ({_class(plugin)})")


def controllers(given: Sequence[Any], what: str) -> Iterator[str]:
    """Each must be a controller."""
    for index, controller in enumerate(given):
        yield from _methods(controller, _CONTROLLER, f"{what}[{index}] ({_class(controller)})")


def _methods(given: Any, names: Mapping[str, Sequence[str]], what: str) -> Iterator[str]:
    """``given`` must be an object with some of the methods ``names``, all ``async def``; ``names`` has their arguments.

    Whether a wrapper returns an awaitable cannot be told without calling it. So only a method that was written as a
    plain ``def`` of that name, and whose annotation does not promise an awaitable, is refused.
    """
    if isinstance(given, type):
        yield f"{what} is the class {given.__name__}; write {given.__name__}(...)"
        return
    present = [name for name in names if hasattr(given, name)]
    if not present:
        near = ", ".join(f"{name} looks like {verb}" for name, verb in _misspelt(given, names))
        yield f"{what} has none of the methods {', '.join(names)}{f' ({near})' if near else ''}"
        return
    for name in present:
        yield from _method(given, name, names[name], f"{what}: {name}")
    missing = {name: takes for name, takes in names.items() if name not in present}
    for name, verb in _misspelt(given, missing):
        if inspect.iscoroutinefunction(getattr(given, name)):
            yield f"{what}: {name} is never called; write {verb}, or begin its name with an underscore"


def _method(given: Any, name: str, takes: Sequence[str], what: str) -> Iterator[str]:
    method = getattr(given, name)
    written = f"async def {name}({', '.join(('self', *takes))})"
    if not callable(method):
        yield f"{what} is {_shown(method)} and not a method; write {written}"
        return
    function = method
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if inspect.isasyncgenfunction(function):
        yield f"{what} contains yield and cannot be awaited; write {written} with return"
    elif _is_plain(function, name):
        yield f"{what} is not a coroutine; write {written}"
    try:
        inspect.signature(method, follow_wrapped=False).bind(*takes)
    except TypeError:
        yield f"{what} takes the wrong arguments; write {written}"
    except ValueError:  # it has no signature
        return


def _is_plain(function: Any, name: str) -> bool:
    """Whether a method was written as a plain ``def`` or lambda, and not made by a decorator."""
    if inspect.iscoroutinefunction(function) or not inspect.isfunction(function) or hasattr(function, "__wrapped__"):
        return False
    returns = function.__annotations__.get("return", "")
    annotation = returns if isinstance(returns, str) else str(returns)
    return function.__code__.co_name in {name, "<lambda>"} and not any(word in annotation for word in _AWAITABLE)


def _misspelt(given: Any, names: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """The public methods of ``given`` whose names resemble one of ``names``, each with the name that it resembles."""
    for name in dir(type(given)):
        if not name.startswith("_") and name not in names and callable(getattr(type(given), name)):
            near = difflib.get_close_matches(name.lower(), names, 1, _NEAR)
            if near:
                yield name, near[0]


def _class(given: Any) -> str:
    return (given if isinstance(given, type) else type(given)).__name__


def _shown(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    return text if len(text) <= 60 else f"an instance of {type(value).__name__}"
