"""Writes ``docs/reference/api.md``: every promised name with its signature, its docstring and its members.

All of it is read from the sources, and never from memory: what a name is, from its definition; how names are grouped, from
``promise.md``. A name that has no place there comes last. ``python -m tests.docs.apireference`` writes the page anew.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator

import extapi
import extapi.testing
from tests.docs.definitions import (
    GIVEN,
    INTERNAL,
    Found,
    bases,
    definition,
    described,
    fields,
    functions,
    is_property,
    promised_base,
    text_after,
)
from tests.docs.docstrings import code, item, paragraphs
from tests.docs.samples import ROOT
from tests.docs.signatures import constructor, method_line, quoted, signature, type_text, variable

PAGE = ROOT / "docs" / "reference" / "api.md"


PROMISE = ROOT / "docs" / "reference" / "promise.md"


COMMAND = ".venv/bin/python -m tests.docs.apireference"


_OPENING = f"""# API reference

Every name that you may import from `extapi` and `extapi.testing`, with signature and docstring. `{COMMAND}`
generates this page from the code; a test checks that it is up to date. [The promise](promise.md) is a short list of the same
names, and [types, markers and kinds](types.md) explains how they fit together.

The samples on this page begin with:

```python
from typing import Annotated, Any, Literal

from extapi import *
```

Each heading is the name to import. Parameters after a `*` in a signature are passed by name only.
"""


_OPERATORS = {
    "__str__": "str({})",
    "__len__": "len({})",
    "__iter__": "iter({})",
    "__aiter__": "async for ... in {}",
    "__add__": "{} + other",
    "__sub__": "{} - other",
    "__mul__": "{} * times",
}


def page() -> str:
    """The whole page."""
    parts = [_OPENING]
    for heading, names in groups().items():
        parts.append(f"## {heading}\n")
        parts += [_entry(definition("extapi", name)) for name in names]
    parts.append("## extapi.testing\n")
    parts.append(paragraphs(inspect.getdoc(extapi.testing) or ""))
    parts += [_entry(definition("extapi.testing", name)) for name in extapi.testing.__all__]
    parts.append(
        "## Types that appear above\n\nThey are not to be imported: they are what the names above take and give. A type checker"
        " knows them.\n"
    )
    parts += [_entry(found) for found in _further(definition("extapi", name) for name in extapi.__all__)]
    return "\n".join(parts).rstrip() + "\n"


def groups() -> dict[str, list[str]]:
    """The promised names by the headings of ``promise.md``, in its order; what has no place there, last."""
    found: dict[str, list[str]] = {}
    left = set(extapi.__all__)
    for section in re.split(r"^## ", PROMISE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        for block in text.split("\n\n"):
            marked = block.startswith("The markers")
            # Else the first cell of each row, which may have several.
            named = block if marked else " ".join(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", block, re.MULTILINE))
            names = [name for name in re.findall(r"`(\w+)`", named) if name in left]
            if names:
                found.setdefault("Markers" if marked else heading, []).extend(names)
                left -= set(names)
    if left:
        found["Further names"] = sorted(left)
    return found


def _entry(found: Found) -> str:
    """One name: heading, signature, docstring, members."""
    node, lines = found.node, [f"### {found.name}\n"]
    if isinstance(node, ast.ClassDef):
        lines += [code(constructor(found)), paragraphs(found.text), *_members(found)]
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        begin = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
        lines += [code(begin + signature(node)), paragraphs(found.text)]
    else:
        assert node.value is not None
        lines += [code(f"{found.name} = {ast.unparse(node.value)}"), paragraphs(found.text)]
    return "\n".join(line for line in lines if line)


def _further(promised: Iterable[Found]) -> list[Found]:
    """What the signatures of the promised names speak of, is ours, and is not promised."""
    found: dict[str, Found] = {}
    for each in promised:
        hidden = INTERNAL.get(each.name, set())
        for annotation in _annotations(each, hidden):
            for name in (part.id for part in ast.walk(annotation) if isinstance(part, ast.Name)):
                if name in extapi.__all__ or name in extapi.testing.__all__ or name.startswith("_") or name in found:
                    continue
                try:
                    other = definition(each.module, name)
                except (LookupError, ModuleNotFoundError, AssertionError):
                    continue  # not ours
                if other.module.startswith("extapi") and other.text:
                    found[name] = other
    return [found[name] for name in sorted(found)]


def _annotations(found: Found, hidden: set[str]) -> Iterator[ast.expr]:
    """Of all that is shown of it."""
    node = found.node
    for function in [node] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else functions(node):
        private = function.name.startswith("_") and not (function.name == "__init__" and found.name not in GIVEN)
        if private or function.name in hidden:
            continue
        arguments = function.args
        for argument in (*arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if argument is not None and argument.annotation is not None and argument.arg not in hidden:
                yield argument.annotation
        if function.returns is not None and function.name != "__init__":
            yield function.returns
    if isinstance(node, ast.ClassDef):
        yield from (field.annotation for field in fields(found))


def _members(found: Found) -> Iterator[str]:
    """Fields with a text of their own, then properties and methods; inherited ones of classes that are not promised, too."""
    hidden = INTERNAL.get(found.name, set())
    classes = [found]
    if inherits := promised_base(found):
        verbs = "has" if found.name in GIVEN else "takes and has"
        yield f"It {verbs} what [`{inherits}`](#{inherits.lower()}) {verbs}.\n"
    else:
        classes += [base for base in bases(found) if base.name not in extapi.__all__]
    attributes = [line for each in classes for line in _attributes(each, hidden)]
    if attributes:
        yield "\n".join(attributes) + "\n"
    for each in classes:
        for method in functions(each.node):
            operator = _OPERATORS.get(method.name)
            text = ast.get_docstring(method) or ""
            public = not method.name.startswith("_") and method.name not in hidden
            if is_property(method) or (not public and not (operator and text)):
                continue
            if operator:
                yield f"#### `{operator.format(variable(found.name))}`\n"
            else:
                yield f"#### {found.name}.{method.name}\n"
                yield code(method_line(found, method))
            yield paragraphs(text)


def _attributes(found: Found, hidden: set[str]) -> Iterator[str]:
    """A line for each: fields, constants, members of an Enum, properties."""
    assert isinstance(found.node, ast.ClassDef)
    body = found.node.body
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                text = text_after(after) or described(annotation)
                constant = ast.unparse(annotation).startswith("ClassVar") and value is not None
                if name in hidden or name.startswith("_") or not (text or constant):
                    continue
                shown = f"{name} = {quoted(value)}" if constant and value is not None else name
                yield item(shown, text)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                if not isinstance(value, ast.Name) and name not in hidden:
                    yield item(f"{name} = {quoted(value)}", text_after(after))
            case ast.FunctionDef(name=name) if is_property(node) and name not in hidden:
                setter = any(ast.unparse(each).endswith(".setter") for each in node.decorator_list)
                if not setter and node.returns is not None:
                    yield item(f"{name}: {type_text(node.returns)}", ast.get_docstring(node) or "")
            case ast.FunctionDef(name="__init__"):
                yield from _set_in(node, hidden)


def _set_in(function: ast.FunctionDef, hidden: set[str]) -> Iterator[str]:
    """Attributes that a constructor sets, where a text says what they are."""
    for node, after in zip(function.body, [*function.body[1:], None], strict=True):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)]) | ast.AnnAssign(target=ast.Attribute(attr=name)):
                if (text := text_after(after)) and not name.startswith("_") and name not in hidden:
                    yield item(name, text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
