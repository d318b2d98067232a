"""Writes ``docs/reference/api.md``: every promised name with its signature, its docstring and its members.

All of it is read from the sources, and never from memory: what a name is, from its definition; how names are grouped, from
``promise.md``. A name that has no place there comes last. ``python -m tests.docs.apireference`` writes the page anew.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import extapi
import extapi.testing
from tests.docs.samples import ROOT

PAGE = ROOT / "docs" / "reference" / "api.md"
PROMISE = ROOT / "docs" / "reference" / "promise.md"
COMMAND = ".venv/bin/python -m tests.docs.apireference"
_WIDTH = 120
_OPENING = f"""# API reference

Every name that may be imported from `extapi` and from `extapi.testing`, with signature and docstring. This page is made of the
code by `{COMMAND}`; a test holds it to that. [The promise](promise.md) is the same in short, and
[types, markers and kinds](types.md) says how they go together.

The samples on this page begin with:

```python
from typing import Annotated, Any, Literal

from extapi import *
```

Names are listed as they are imported. A `*` in a signature begins what is given by name only.
"""
_GIVEN = frozenset({"Context", "Informer", "WorkQueue", "EventRecorder", "DynamicClient"})
"""Classes that authors get and do not make: their constructors are no part of the promise."""
_INTERNAL = {
    "Kind": {"native"},
    "Review": {"converter", "obj", "old", "old_version", "warned", "result", "called"},
    "Context": {"own", "stop", "close"},
    "DynamicClient": {"own", "stop"},
    "EventRecorder": {"stop"},
    "Informer": {"start"},
    "ApiError": {"with_details", "metadata"},
    "FieldError": {"type", "value"},
    "InMemoryServer": {"log_health"},
    "Namespaces": {"wait_synced", "synced", "live", "get"},
    "Stream": {"read", "reply"},
}
"""What has no underscore and is no part of the promise all the same."""
_WRITTEN = frozenset({"Strategy"})
"""Classes that authors inherit from: their methods are shown as they are written, as those of protocols are."""
_OPERATORS = {
    "__str__": "str({})",
    "__len__": "len({})",
    "__iter__": "iter({})",
    "__aiter__": "async for ... in {}",
    "__add__": "{} + other",
    "__sub__": "{} - other",
    "__mul__": "{} * times",
}

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Found:
    """Where a name is defined: its statement, and the docstring."""

    name: str
    module: str
    node: Definition
    text: str


def page() -> str:
    """The whole page."""
    parts = [_OPENING]
    for heading, names in groups().items():
        parts.append(f"## {heading}\n")
        parts += [_entry(definition("extapi", name)) for name in names]
    parts.append("## extapi.testing\n")
    parts.append(_paragraphs(inspect.getdoc(extapi.testing) or ""))
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


def definition(module: str, name: str) -> Found:
    """Where ``name`` of ``module`` is defined, followed through imports."""
    body = _module(module).body
    body = [*body, *(each for node in body if isinstance(node, ast.If) for each in node.body)]  # if TYPE_CHECKING
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.ImportFrom(module=str(source)) if any(each.name == name for each in node.names):
                return definition(source, name)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                return Found(name, module, node, ast.get_docstring(node) or "")
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                return Found(name, module, node, _text_after(after))
            case ast.AnnAssign(target=ast.Name(id=target)) if target == name:
                return Found(name, module, node, _text_after(after))
    raise LookupError(f"{module} does not define {name}")


@cache
def _module(name: str) -> ast.Module:
    file = importlib.import_module(name).__file__
    assert file is not None
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _text_after(node: ast.stmt | None) -> str:
    """The docstring of an attribute is a statement of its own after it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


def _entry(found: Found) -> str:
    """One name: heading, signature, docstring, members."""
    node, lines = found.node, [f"### {found.name}\n"]
    if isinstance(node, ast.ClassDef):
        lines += [_code(_constructor(found)), _paragraphs(found.text), *_members(found)]
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        begin = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
        lines += [_code(begin + _signature(node)), _paragraphs(found.text)]
    else:
        assert node.value is not None
        lines += [_code(f"{found.name} = {ast.unparse(node.value)}"), _paragraphs(found.text)]
    return "\n".join(line for line in lines if line)


def _further(promised: Iterable[Found]) -> list[Found]:
    """What the signatures of the promised names speak of, is ours, and is not promised."""
    found: dict[str, Found] = {}
    for each in promised:
        hidden = _INTERNAL.get(each.name, set())
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
    functions = [node] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else list(_functions(node))
    for function in functions:
        private = function.name.startswith("_") and not (function.name == "__init__" and found.name not in _GIVEN)
        if private or function.name in hidden:
            continue
        arguments = function.args
        for argument in (*arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if argument is not None and argument.annotation is not None and argument.arg not in hidden:
                yield argument.annotation
        if function.returns is not None and function.name != "__init__":
            yield function.returns
    if isinstance(node, ast.ClassDef):
        yield from (field.annotation for field in _fields(found))


# -- classes


def _bases(found: Found) -> Iterator[Found]:
    """The classes of ours that a class inherits from, the nearest first, without itself."""
    assert isinstance(found.node, ast.ClassDef)
    for base in found.node.bases:
        name = ast.unparse(base)
        if name in {"Protocol", "Marker"}:
            continue
        try:
            parent = definition(found.module, name)
        except (LookupError, ModuleNotFoundError, AssertionError):
            continue  # not ours
        if parent.module.startswith("extapi") and isinstance(parent.node, ast.ClassDef):
            yield parent
            yield from _bases(parent)


def _constructor(found: Found) -> str:
    """How an object of the class is made; what the class is where nobody makes one."""
    node = found.node
    assert isinstance(node, ast.ClassDef)
    names = [ast.unparse(base) for base in node.bases]
    if "Protocol" in names:
        return f"class {found.name}(Protocol)"
    if found.name in _GIVEN:
        return f"class {found.name}"
    if any(name.endswith("Enum") for name in names):
        return f"class {found.name}({', '.join(names)})"
    chain = [found, *_bases(found)]
    for each in chain:
        for method in _functions(each.node):
            if method.name == "__init__":
                return _signature(method, name=found.name, hidden=_INTERNAL.get(found.name, set()), returns=False)
    fields = [field for each in reversed(chain) for field in _fields(each)]
    inherits = _promised_base(found)
    if not fields or (inherits and not list(_fields(found))):
        if names == ["Marker"]:
            return f"{found.name}()"
        return f"class {found.name}" + (f"({', '.join(names)})" if names else "")
    by_name = any(
        each.name == "Struct" or "kw_only=True" in "".join(map(ast.unparse, _decorators(each))) for each in chain
    )
    positional = [_parameter(field) for field in fields if not by_name or "kw_only=False" in _value(field)]
    named = [_parameter(field) for field in fields if by_name and "kw_only=False" not in _value(field)]
    return _call(found.name, [*positional, *(["*", *named] if named else [])])


def _promised_base(found: Found) -> str:
    """The promised class that it inherits its members from, if any; of a type that is its fields, each says all."""
    return next(
        (each.name for each in _bases(found) if each.name in extapi.__all__ and each.name not in {"Struct", "Object"}),
        "",
    )


def _decorators(found: Found) -> list[ast.expr]:
    return found.node.decorator_list if isinstance(found.node, ast.ClassDef) else []


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in getattr(node, "body", ()):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each


def _fields(found: Found) -> Iterator[ast.AnnAssign]:
    """Of a dataclass or a Struct."""
    assert isinstance(found.node, ast.ClassDef)
    for each in found.node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            name, annotation = each.target.id, ast.unparse(each.annotation)
            hidden = name.startswith("_") or name in _INTERNAL.get(found.name, ())
            if not hidden and not annotation.startswith("ClassVar"):
                yield each


def _value(field: ast.AnnAssign) -> str:
    return ast.unparse(field.value) if field.value is not None else ""


def _parameter(field: ast.AnnAssign) -> str:
    text = f"{ast.unparse(field.target)}: {_type(field.annotation)}"
    made = re.fullmatch(r"(?:msgspec\.)?field\((.*)\)", _value(field))
    if made is None:
        return text + (f" = {_quoted(field.value)}" if field.value is not None else "")
    if factory := re.search(r"default_factory=(\w+)", made[1]):
        return text + " = " + {"dict": "{}", "list": "[]"}.get(factory[1], f"{factory[1]}()")
    default = re.search(r"default=([^,]+)", made[1])
    return text + (f" = {default[1]}" if default else "")


def _type(annotation: ast.expr) -> str:
    """As it is written, without markers."""
    if (
        isinstance(annotation, ast.Subscript)
        and ast.unparse(annotation.value) == "Annotated"
        and isinstance(annotation.slice, ast.Tuple)
    ):
        return _type(annotation.slice.elts[0])
    return ast.unparse(annotation).replace("'", '"')


def _quoted(node: ast.expr) -> str:
    """Code with the quotes that we use."""
    return repr(node.value).replace("'", '"') if isinstance(node, ast.Constant) else ast.unparse(node).replace("'", '"')


def _members(found: Found) -> Iterator[str]:
    """Fields with a text of their own, then properties and methods; inherited ones of classes that are not promised, too."""
    hidden = _INTERNAL.get(found.name, set())
    classes = [found]
    if inherits := _promised_base(found):
        yield f"It is made as [`{inherits}`](#{inherits.lower()}), and has what that has.\n"
    else:
        classes += [base for base in _bases(found) if base.name not in extapi.__all__]
    attributes = [line for each in classes for line in _attributes(each, hidden)]
    if attributes:
        yield "\n".join(attributes) + "\n"
    for each in classes:
        for method in _functions(each.node):
            operator = _OPERATORS.get(method.name)
            text = ast.get_docstring(method) or ""
            public = not method.name.startswith("_") and method.name not in hidden
            if _is_property(method) or (not public and not (operator and text)):
                continue
            if operator:
                yield f"#### `{operator.format(_variable(found.name))}`\n"
            else:
                yield f"#### {found.name}.{method.name}\n"
                yield _code(_method(found, method))
            yield _paragraphs(text)


def _method(found: Found, method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """As it is written, where an author writes it; else as it is called."""
    assert isinstance(found.node, ast.ClassDef)
    if found.name in _WRITTEN or "Protocol" in {ast.unparse(base) for base in found.node.bases}:
        begin = "async def" if isinstance(method, ast.AsyncFunctionDef) else "def"
        return f"{begin} {_signature(method, bound=False)}"
    begin = "await " if isinstance(method, ast.AsyncFunctionDef) else ""
    return begin + _signature(method, name=f"{_receiver(found.name, method)}.{method.name}")


def _variable(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _receiver(name: str, method: ast.AST) -> str:
    """Class methods are called on the class."""
    decorators = {ast.unparse(each) for each in getattr(method, "decorator_list", ())}
    return name if decorators & {"classmethod", "staticmethod"} else _variable(name)


def _is_property(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each).endswith(("property", ".setter")) for each in method.decorator_list)


def _attributes(found: Found, hidden: set[str]) -> Iterator[str]:
    """A line for each: fields, constants, members of an Enum, properties."""
    assert isinstance(found.node, ast.ClassDef)
    body = found.node.body
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                text = _text_after(after) or _described(annotation)
                constant = ast.unparse(annotation).startswith("ClassVar") and value is not None
                if name in hidden or name.startswith("_") or not (text or constant):
                    continue
                shown = f"{name} = {_quoted(value)}" if constant and value is not None else name
                yield _item(shown, text)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                if not isinstance(value, ast.Name) and name not in hidden:
                    yield _item(f"{name} = {_quoted(value)}", _text_after(after))
            case ast.FunctionDef(name=name) if _is_property(node) and name not in hidden:
                setter = any(ast.unparse(each).endswith(".setter") for each in node.decorator_list)
                if not setter and node.returns is not None:
                    yield _item(f"{name}: {_type(node.returns)}", ast.get_docstring(node) or "")
            case ast.FunctionDef(name="__init__"):
                yield from _set_in(node, hidden)


def _set_in(function: ast.FunctionDef, hidden: set[str]) -> Iterator[str]:
    """Attributes that a constructor sets, where a text says what they are."""
    for node, after in zip(function.body, [*function.body[1:], None], strict=True):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)]) | ast.AnnAssign(target=ast.Attribute(attr=name)):
                if (text := _text_after(after)) and not name.startswith("_") and name not in hidden:
                    yield _item(name, text)


def _described(annotation: ast.expr) -> str:
    """The text of a ``Description`` in it."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Description":
            return str(ast.literal_eval(node.args[0]))
    return ""


def _item(code: str, text: str) -> str:
    first, *rest = _markdown(text).split("\n\n") if text else [""]
    item = _wrapped(f"- `{code}`: {first}" if first else f"- `{code}`", "  ")
    return "\n".join([item, *(textwrap.indent("\n" + _wrapped(each), "  ") for each in rest)])


# -- signatures


def _signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    *,
    name: str = "",
    hidden: Iterable[str] = (),
    bound: bool = True,
    returns: bool = True,
) -> str:
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    pairs = list(zip(plain, defaults, strict=True))
    if bound and pairs and pairs[0][0].arg in {"self", "cls"}:
        pairs = pairs[1:]
    words = [_argument(argument, default) for argument, default in pairs]
    named = [
        _argument(argument, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if argument.arg not in hidden
    ]
    if arguments.vararg:
        words.append("*" + _argument(arguments.vararg, None))
    elif named:
        words.append("*")
    words += named
    if arguments.kwarg:
        words.append("**" + _argument(arguments.kwarg, None))
    result = f" -> {_type(node.returns)}" if returns and node.returns is not None else ""
    return _call(name or node.name, words, result)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg + (f": {_type(argument.annotation)}" if argument.annotation is not None else "")
    if default is None:
        return text
    return text + (" = " if argument.annotation is not None else "=") + _quoted(default)


def _call(name: str, words: list[str], result: str = "") -> str:
    """On one line if it fits."""
    line = f"{name}({', '.join(words)}){result}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){result}"])


# -- text


def _code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _paragraphs(text: str) -> str:
    """A docstring as Markdown: paragraphs, lists of parameters and errors, samples."""
    if not text:
        return ""
    done = []
    for block in _markdown(text).split("\n\n"):
        if block.startswith("```"):
            done.append(block.replace("\n\0", "\n\n"))
        elif block.startswith("- "):
            done.append("\n".join(_wrapped(line, "  ") for line in block.split("\n")))
        else:
            done.append(_wrapped(block))
    return "\n\n".join(done) + "\n"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()), _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _markdown(text: str) -> str:
    """ReStructuredText as our docstrings use it; blank lines of samples are marked by a NUL."""
    blocks: list[str] = []
    sample: list[str] = []
    in_sample = False
    for line in text.splitlines():
        if in_sample and (line.startswith("    ") or not line.strip()):
            sample.append(line)
            continue
        if in_sample:
            blocks += _sample(sample)
            in_sample, sample = False, []
        if line.rstrip().endswith("::"):
            in_sample = True
            said = line.rstrip().removesuffix("::").strip()
            blocks += [_inline(said) + ":", ""] if said != "Example" else [""]
            continue
        field = re.match(r":(param|raises?|returns?)\s*([\w.]*):\s*(.*)", line)
        if field:
            kind, name, rest = field.groups()
            opening = {"p": f"`{name}`:", "ra": f"raises {_linked(name)}:", "re": "returns"}
            opening = opening["p" if kind == "param" else kind[:2]]  # type: ignore[assignment]
            if blocks and blocks[-1] and not blocks[-1].startswith(("- ", "  ")):
                blocks.append("")
            blocks.append(f"- {opening} {_inline(rest)}")
        elif blocks and blocks[-1].startswith("- ") and line.strip():
            blocks[-1] += " " + _inline(line.strip())
        else:
            blocks.append(_inline(line))
    blocks += _sample(sample)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(blocks)).strip()


def _sample(lines: list[str]) -> list[str]:
    code = textwrap.dedent("\n".join(lines)).strip()
    return ["", "```python", *code.replace("\n\n", "\n\0").splitlines(), "```", ""] if code else []


def _inline(text: str) -> str:
    def role(match: re.Match[str]) -> str:
        target = match[1].lstrip("~").rpartition(".")[2] if match[1].startswith("~") else match[1]
        return _linked(target)

    text = re.sub(r":\w+:`([^`]+)`", role, text)
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _linked(name: str) -> str:
    last = name.rpartition(".")[2]
    if last in extapi.__all__ or last in extapi.testing.__all__:
        return f"[`{last}`](#{last.lower()})"
    return f"`{name.removeprefix('extapi.')}`" if name.startswith("extapi.") else f"`{name}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
