"""Checks of what an author passes to ``Kind``, ``Group`` and ``Api``: types, and methods that the server can call.

Nothing is called, only inspected. Each check yields one line per problem, with what to write instead.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from extapi.api.names import qualified_name

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
_DECLARED: Final[Mapping[str, Sequence[str]]] = {
    "reinvocation_policy": ("Never", "IfNeeded"),
    "side_effects": ("NoneOnDryRun", "None", "Some"),
}
"""What an admission plugin can declare, with the values; the first is the default (``MutatingWebhook``)."""
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
    if hasattr(given, "update") and not hasattr(given, "get") and not is_feed(given):
        yield f"{what} has a method update but no method get; update needs it to read the object"


def is_feed(given: Any) -> bool:
    """Whether REST storage is an ``extapi.Feed``, so that its kind can be watched."""
    return hasattr(given, "changes")


def feed(given: Any, what: str) -> Iterator[str]:
    """``given``, which is REST storage, must have a method ``changes`` that yields, and a method ``list``, or neither."""
    if not is_feed(given) or isinstance(given, type):
        return
    if not hasattr(given, "list"):
        yield f"{what} has a method changes but no method list; changes only adds to what list returns"
    yield from _generator(given.changes, f"{what}: changes", "context")


def watcher(given: Any, what: str) -> Iterator[str]:
    """``given``, which is REST storage, must have a method ``watch`` that yields, and a method ``list``, or no ``watch``."""
    if not is_watcher(given) or isinstance(given, type):
        return
    if is_feed(given):
        yield f"{what} has the methods changes and watch; with changes, the server serves watches itself"
    if not hasattr(given, "list"):
        yield f"{what} has a method watch but no method list; clients list before they watch"
    yield from _generator(given.watch, f"{what}: watch", "request")


def is_watcher(given: Any) -> bool:
    """Whether REST storage serves each watch by itself (``extapi.Watcher``)."""
    return hasattr(given, "watch")


def no_feed(given: Any, what: str) -> Iterator[str]:
    """``given``, the REST storage of a subresource, must have none of the methods for watches."""
    for name in ("changes", "watch"):
        if hasattr(given, name):
            yield f"{what} has a method {name}, but a subresource cannot be watched; rename it"


def _generator(method: Any, what: str, takes: str) -> Iterator[str]:
    name = what.rpartition(" ")[2]
    written = f"async def {name}(self, {takes}) with yield"
    if not callable(method) or inspect.iscoroutinefunction(method):
        yield f"{what} is no async generator; write {written}"
        return
    if not _takes(method, takes):
        yield f"{what} takes the wrong arguments; write {written}"


def connecter(given: Any, what: str) -> Iterator[str]:
    """``given`` must be a coroutine function of one argument, or an object with such a method ``__call__``."""
    if isinstance(given, type):
        yield f"{what} is the class {given.__name__}; write {given.__name__}(...)"
        return
    function = given
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", "__call__")
    if not callable(function):
        yield f"{what} must be a function, not {_shown(given)}"
        return
    if not inspect.isroutine(function):
        function = type(function).__call__
    yield from _coroutine(function, given, name, ("request",), what, f"async def {name}(request)")


def plugins(given: Sequence[Any], what: str) -> Iterator[str]:
    """Each must be an admission plugin."""
    for index, plugin in enumerate(given):
        where = f"{what}[{index}] ({_class(plugin)})"
        yield from _methods(plugin, _PLUGIN, where)
        for name, values in _DECLARED.items():
            if getattr(plugin, name, values[0]) not in values:
                yield f"{where}: {name} must be one of {', '.join(values)}"
        own = getattr(plugin, "plugin_name", "plugin")
        if not isinstance(own, str) or qualified_name(f"{own}/key"):
            yield f"{where}: plugin_name must be a DNS name in lower case, such as lots.parking.example.com"
        if inspect.iscoroutinefunction(getattr(plugin, "handles", None)):
            yield f"{where}: handles is a coroutine; write def handles(self, review)"


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
    yield from _coroutine(function, method, name, takes, what, written)


def _coroutine(function: Any, called: Any, name: str, takes: Sequence[str], what: str, written: str) -> Iterator[str]:
    """``function``, which is behind ``called``, must be a coroutine function with the arguments ``takes``."""
    if inspect.isasyncgenfunction(function):
        yield f"{what} contains yield and cannot be awaited; write {written} with return"
    elif _is_plain(function, name):
        yield f"{what} is not a coroutine; write {written}"
    if not _takes(called, *takes):
        yield f"{what} takes the wrong arguments; write {written}"


def _takes(function: Any, *arguments: str) -> bool:
    """Whether a function can be called with as many arguments; also if that cannot be found out."""
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # a TypeError: before Python 3.11.4 an AsyncMock had no signature
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


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
