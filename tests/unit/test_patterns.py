"""No pattern that backtracks reads what a client sends.

It may take quadratic or exponential time, and a bound comes after the match as easily as before it. Each use of such an
engine is listed here with whose bytes it reads; a new one has to be argued for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

EXTAPI = Path(__file__).parents[2] / "extapi"

AUTHOR = "an author's code, read at start"
OPERATOR = "a flag or the environment of an operator"
PROXY = "an operator's proxy answers CONNECT, with 64 KiB at most"
ETCD = "the operator's etcd answers, with 16 KiB of headers at most; each part has its bound"
CLUSTER = "the developer's own cluster or machine"
OUR_OWN = "what we have written ourselves"
RULE = "a rule, which an author writes, of 100,000 characters at most"
DEFINITION = "a definition, which an administrator writes: linear, since no two parts can match the same character"
POSSESSIVE = "a value in a rule: each repetition keeps what it has matched, or ends where no other could begin"

ALLOWED = {
    ("api/scale.py", "_NAMES"): AUTHOR,
    ("api/definition.py", "_LABEL"): AUTHOR,
    ("api/definition.py", "_KIND"): AUTHOR,
    ("api/definition.py", "_PATH"): AUTHOR,
    ("api/definition.py", "_SUBDOMAIN"): AUTHOR,
    ("authentication/configmap.py", "_USER"): "a refusal of kube-apiserver, which names this server's own user",
    ("certs/command.py", "_DURATION"): OPERATOR,
    ("client/proxyhandshake.py", "_CHALLENGE"): PROXY,
    ("client/proxyhandshake.py", "_HEAD_END"): PROXY,
    ("client/proxyhandshake.py", "_STATUS"): PROXY,
    ("api/arguments.py", "difflib"): AUTHOR,
    ("client/http.py", "urlsplit"): OPERATOR,
    ("storage/etcd/connection.py", "unquote"): ETCD,
    ("storage/etcd/dialling.py", "_VERSION"): ETCD,
    ("storage/etcd/endpoints.py", "urlsplit"): OPERATOR,
    ("storage/etcd/wire.py", "_ENTRY"): ETCD,
    ("storage/etcd/wire.py", "_HEADER"): ETCD,
    ("client/credentials.py", "urlsplit"): OPERATOR,
    ("client/proxy.py", "unquote"): OPERATOR,
    ("client/proxy.py", "urlsplit"): OPERATOR,
    ("client/proxyenvironment.py", "urlsplit"): OPERATOR,
    ("codec/jsonpath.py", "_NAME"): AUTHOR,
    ("codec/jsonpath.py", "_QUOTED"): AUTHOR,
    ("codec/jsonpath.py", "_WILDCARD"): AUTHOR,
    ("codec/jsonpath.py", "_ALL"): AUTHOR,
    ("codec/jsonpath.py", "_UNION"): AUTHOR,
    ("codec/jsonpath.py", "_MEMBER"): AUTHOR,
    ("codec/jsonpath.py", "_INDEX"): AUTHOR,
    ("codec/jsonpath.py", "_SLICE"): AUTHOR,
    ("codec/jsonpath.py", "_FILTER"): AUTHOR,
    ("codec/jsonpath.py", "_NUMBER"): AUTHOR,
    ("codec/jsonpath.py", "_unescaped"): AUTHOR,
    ("codec/protobuftable.py", "_FIELD"): "tables of messages, which are ours",
    ("codec/protobuftable.py", "read_table"): "tables of messages, which are ours",
    ("codec/columnpath.py", "_COMPARISON"): DEFINITION,
    ("codec/columnpath.py", "_DICT_KEY"): DEFINITION,
    ("codec/columnpath.py", "_NUMBER"): DEFINITION,
    ("codec/columnpath.py", "_Parser._number"): DEFINITION,
    ("codec/columnpath.py", "_SLICE"): DEFINITION,
    ("codec/columnpath.py", "_bound"): DEFINITION,
    ("codec/columnpath.py", "_unquoted"): DEFINITION,
    ("controlplane/customresources/review.py", "_PROTECTED"): DEFINITION,
    ("controlplane/customresources/review.py", "_URL"): DEFINITION,
    ("crd/command.py", "_SERVICE"): OPERATOR,
    ("crd/command.py", "_URL"): OPERATOR,
    ("client/webhookcall.py", "unquote"): DEFINITION,
    ("client/webhookcall.py", "urlsplit"): DEFINITION,
    (
        "client/webhookreply.py",
        "_MEDIA",
    ): "a header of a webhook, whose head is bounded; each part begins where no other could",
    ("client/webhookreply.py", "_PARAMETERS"): "the same header",
    ("schema/openapi/blockyaml.py", "_PLAIN"): DEFINITION,
    ("schema/openapi/blockyaml.py", "_UNPRINTABLE"): DEFINITION,
    ("crd/gojson.py", "GoTypes.__init__"): "tables of Go's types, which are ours",
    ("crd/gojson.py", "GoTypes._field"): "tables of Go's types, which are ours",
    ("crd/manifests.py", "_CONTENT"): OPERATOR,
    ("crd/manifests.py", "_LINE"): "messages of the YAML reader, of a manifest that the operator has written",
    ("crd/manifests.py", "_SEPARATOR"): OPERATOR,
    ("crd/manifests.py", "_nearest"): "paths of errors, which are ours",
    ("controlplane/kinds/parts.py", "spelled"): "names of fields of our own types",
    ("dev/command.py", "shlex"): OUR_OWN,
    ("dev/kube.py", "parse_qsl"): OUR_OWN,
    ("dev/golang.py", "rglob"): CLUSTER,
    ("dev/toolchain.py", "_numbers"): CLUSTER,
    ("doctor/checks/namespaces.py", "_TOKENS"): CLUSTER,
    ("doctor/checks/probefailures.py", "_CAUSES"): CLUSTER,
    ("doctor/checks/webhooks.py", "_CAUSES"): CLUSTER,
    ("doctor/command.py", "_ACCOUNT"): OPERATOR,
    ("doctor/command.py", "_NUMBER"): OPERATOR,
    ("doctor/hookreading.py", "urlsplit"): CLUSTER,
    ("doctor/registration.py", "_NO_LABEL"): CLUSTER,
    ("doctor/report.py", "textwrap"): OUR_OWN,
    ("manifests/command.py", "shlex"): OUR_OWN,
    ("manifests/settings.py", "_LABEL"): OPERATOR,
    ("manifests/settings.py", "_NAMESPACE"): OPERATOR,
    ("manifests/settings.py", "_CLUSTERS_OWN"): OPERATOR,
    ("manifests/settings.py", "_IMAGE"): OPERATOR,
    ("manifests/yamltext.py", "_PLAIN"): OUR_OWN,
    ("registry/schemapaths.py", "difflib"): AUTHOR,
    ("schema/cel/declarations.py", "_SIGNATURE"): OUR_OWN,
    ("schema/cel/escaping.py", "_ESCAPABLE"): POSSESSIVE,
    ("schema/cel/escaping.py", "_ESCAPED"): POSSESSIVE,
    ("schema/cel/escaping.py", "_SEQUENCE"): POSSESSIVE,
    ("schema/cel/library/addresses.py", "_FIRST"): POSSESSIVE,
    ("schema/cel/library/amounts.py", "_WRITTEN"): POSSESSIVE,
    ("schema/cel/library/neturl.py", "_NOT_UTF8"): POSSESSIVE,
    ("schema/pattern_syntax.py", "_NAME"): POSSESSIVE,
    ("schema/pattern_syntax.py", "_REPEAT"): POSSESSIVE,
    ("schema/cel/syntax/literals.py", "_ESCAPE"): RULE,
    ("schema/cel/syntax/mistakes/recognizer.py", "_KEYWORD_AS_NAME"): RULE,
    ("schema/cel/syntax/mistakes/scanner.py", "_INSIDE"): RULE,
    ("schema/cel/syntax/mistakes/scanner.py", "_OPENING"): RULE,
    ("schema/cel/syntax/mistakes/scanner.py", "_PARTIAL_ESCAPE"): RULE,
    ("schema/cel/syntax/mistakes/scanner.py", "_PARTIAL_NAME"): RULE,
    ("schema/cel/syntax/mistakes/scanner.py", "_PLAIN"): RULE,
    ("schema/cel/syntax/mistakes/scanner.py", "_RAW_INSIDE"): RULE,
    ("schema/cel/syntax/tokens.py", "_PIECES"): RULE,
    ("schema/cel/syntax/tokens.py", "_WHOLE_STRING"): RULE,
    ("schema/cel/values/conversions.py", "_DECIMAL"): POSSESSIVE,
    ("schema/cel/values/conversions.py", "_HEXADECIMAL"): POSSESSIVE,
    ("schema/cel/values/durations.py", "_LOOSE"): POSSESSIVE,
    ("schema/cel/values/durations.py", "_WRITTEN"): POSSESSIVE,
    ("schema/cel/values/time.py", "_COMMON"): POSSESSIVE,
    ("loading/module.py", "difflib"): AUTHOR,
}
"""Module, and the name that a pattern is given or the function that has it: whose bytes it reads."""

_ENGINES = {"re", "_sre", "sre_compile", "regex", "fnmatch", "glob", "difflib", "shlex", "textwrap"}
"""Modules that match patterns by backtracking, or are made of such."""
_HARMLESS = {"Pattern", "Match", "error", "RegexFlag"}
"""Types: what is made of them was made elsewhere. Flags are written in capitals."""
_CALLS = {
    "urlsplit",
    "urlparse",
    "unquote",
    "unquote_plus",
    "unquote_to_bytes",
    "parse_qs",
    "parse_qsl",
    "normalize",
    "Template",
}
"""Of ``urllib.parse``, ``unicodedata`` and ``string``: patterns, and normalisation, which is quadratic in marks."""
_METHODS = {"glob", "rglob"}


class _Uses(ast.NodeVisitor):
    """Collects, of one module, the places where an engine is used."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._modules: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._inside: list[str] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] in _ENGINES:
                self._modules[alias.asname or alias.name.split(".")[0]] = alias.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = (node.module or "").split(".")[0]
        for alias in node.names:
            if module in _ENGINES or alias.name in _CALLS:
                self._names[alias.asname or alias.name] = module if module in _ENGINES - {"re"} else alias.name

    def visit_Call(self, node: ast.Call) -> None:
        named = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        if named in {"import_module", "__import__"} and isinstance(first, ast.Constant) and first.value in _ENGINES:
            self.found.add(str(first.value))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        of = self._modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if of == "re":
            if node.attr not in _HARMLESS and not node.attr.isupper():
                self._use()
        elif of is not None:
            self.found.add(of)
        elif node.attr in _METHODS or (node.attr in _CALLS and not isinstance(node.value, ast.Call)):
            self.found.add(node.attr)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        origin = self._names.get(node.id)
        if origin is None or origin in _HARMLESS or origin.isupper():
            return
        if origin in _ENGINES or origin in _CALLS:
            self.found.add(origin)
        else:
            self._use()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._within(node.name, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within(node.name, node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._within(node.name, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._assigned(node.targets[0], node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._assigned(node.target, node)

    def _assigned(self, target: ast.expr, node: ast.stmt) -> None:
        """At the top of a module or class a pattern goes by the name that it is given."""
        if isinstance(target, ast.Name) and target.id.isupper():
            self._within(target.id, node)
        else:
            self.generic_visit(node)

    def _within(self, name: str, node: ast.AST) -> None:
        self._inside.append(name)
        self.generic_visit(node)
        self._inside.pop()

    def _use(self) -> None:
        self.found.add(".".join(self._inside))


def uses(source: str) -> set[str]:
    visitor = _Uses()
    visitor.visit(ast.parse(source))
    return visitor.found


def all_uses() -> Iterator[tuple[str, str]]:
    for file in sorted(EXTAPI.rglob("*.py")):
        for name in uses(file.read_text()):
            yield file.relative_to(EXTAPI).as_posix(), name


def test_no_pattern_of_ours_reads_what_a_client_sends() -> None:
    found = set(all_uses())
    new = sorted(found - ALLOWED.keys())
    assert not new, f"these match patterns: write a scan or use re2, or list them with whose bytes they read: {new}"
    stale = sorted(ALLOWED.keys() - found)
    assert not stale, f"these are listed and are gone: {stale}"


_GROUP_KEEPS = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+")
"""A possessive quantifier after a group."""


def written() -> Iterator[tuple[str, str]]:
    """Where each pattern is that has a name at the top of a module, and the pattern."""
    for module, name in all_uses():
        if name.isupper():
            made: Any = getattr(import_module("extapi." + module.removesuffix(".py").replace("/", ".")), name)
            for each in made.values() if isinstance(made, dict) else (made,):
                pattern = getattr(each, "pattern", "")
                yield f"{module}: {name}", pattern.decode() if isinstance(pattern, bytes) else pattern


def test_no_possessive_quantifier_follows_a_group() -> None:
    """Before Python 3.11.5 it fails where the group has more than one way to match (CPython's gh-106052); Debian 12 has 3.11.2.

    An atomic group says the same: ``(?>(?:ab|c)*)`` for ``(?:ab|c)*+``. A single character or set may have one.
    """
    found = list(written())
    assert len(found) > 40
    assert [where for where, pattern in found if _GROUP_KEEPS.search(pattern)] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import re\n_A = re.compile('a')", {"_A"}),
        ("import re as r\ndef f(x):\n return r.fullmatch('a', x)", {"f"}),
        ("import re\nclass A:\n def f(self):\n  return map(re.compile, 'a')", {"A.f"}),
        ("from re import compile as c\nfind = c('a').search", {""}),
        ("from re import sub\nasync def f():\n return sub", {"f"}),
        ("def f():\n import re\n return re.split('a', 'b')", {"f"}),
        ("import re\n_A: re.Pattern[str] = re.compile('a', re.ASCII | re.DOTALL)", {"_A"}),
        ("import re\ndef f(x: re.Match[str]) -> None: ...", set()),
        ("from importlib import import_module\nimport_module('re')", {"re"}),
        ("__import__('re').compile('a')", {"re"}),
        ("import fnmatch\nfnmatch.filter([], 'a*')", {"fnmatch"}),
        ("from fnmatch import fnmatch\nfnmatch('a', 'b')", {"fnmatch"}),
        ("from glob import iglob\niglob('*')", {"glob"}),
        ("from pathlib import Path\nPath().rglob('*')", {"rglob"}),
        ("from urllib.parse import unquote as u\nu('a')", {"unquote"}),
        ("import urllib.parse\nurllib.parse.urlsplit('a')", {"urlsplit"}),
        ("import unicodedata\nunicodedata.normalize('NFC', 'a')", {"normalize"}),
        ("from string import Template\nTemplate('a')", {"Template"}),
        ("import re2\nre2.compile('a')", set()),
    ],
)
def test_each_way_to_use_an_engine_is_found(source: str, found: set[str]) -> None:
    assert uses(source) == found
