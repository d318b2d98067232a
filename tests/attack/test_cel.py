"""Rules that do much for little, that nest deeply, that are very long, and that want to reach Python."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import pytest

from extapi.registry.ruling import INLINE, INLINE_TIME
from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.emit import program
from extapi.schema.cel.environment import base_environment
from extapi.schema.cel.errors import CompileError, CostLimitExceededError, DeadlineExceededError, EvaluationError
from extapi.schema.cel.expression import CALL_LIMIT, Evaluation
from extapi.schema.structural import MISSING
from tests.attack.cel import RULES, compiled, deadline, main, measured, obj, run
from tests.differential.cel.extremes import LONG, LONG_TEXTS, nested

REACTOR = 150.0
"""Milliseconds of CPU that a rule may take of the reactor's thread."""
PAST = 200.0
"""Milliseconds of CPU that an evaluation may run past its deadline; some 20 are usual, and thrice that beside a tracer."""


@pytest.fixture(scope="module")
def worst() -> dict[str, Any]:
    return obj(3000)


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_runs_long_past_its_deadline(rule: str, worst: dict[str, Any]) -> None:
    expression = compiled(rule)
    expression.evaluate((worst, MISSING), limit=100)
    # The better of two runs: what else the machine does, such as a collection of garbage, may fall into one.
    ended = min((run(expression, worst, expired=deadline(0.01)) for _ in range(2)), key=attrgetter("milliseconds"))
    assert ended.milliseconds < 10 + PAST
    if ended.evaluation.error is not None:
        assert isinstance(ended.evaluation.error, (DeadlineExceededError, CostLimitExceededError, EvaluationError))


@pytest.mark.parametrize("limit", [0, 1, 100, 10_000])
@pytest.mark.parametrize("rule", RULES)
def test_no_rule_costs_more_than_its_limit_unnoticed(rule: str, limit: int, worst: dict[str, Any]) -> None:
    found = compiled(rule).evaluate((worst, MISSING), limit=limit, expired=deadline(0.02))
    if found.cost > limit:
        assert found.value is None
        assert isinstance(found.error, (CostLimitExceededError, DeadlineExceededError))


def test_values_are_left_as_they_are() -> None:
    value = obj(20)
    for rule in RULES:
        compiled(rule).evaluate((value, MISSING))
    assert value == obj(20)


def test_the_long_form_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    cheap = "self.l.all(a, a >= 0)"
    assert main(["--size", "50", "--most", "5000", "--past", "5000", cheap]) == 0
    assert f"| `{cheap}` |" in capsys.readouterr().out
    assert main(["--size", "50", "--most", "0", cheap]) == 1


def test_a_rule_is_run_within_each_bound() -> None:
    found = measured("self.l.all(a, a >= 0)", obj(5), after=1000)
    assert found.whole.evaluation.value is True
    assert found.whole.per_unit > 0
    assert found.inline > 0
    assert found.past == 0


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_keeps_the_reactor_for_long(rule: str, worst: dict[str, Any]) -> None:
    expression = compiled(rule)
    expression.evaluate((worst, MISSING), limit=100)
    runs = [run(expression, worst, limit=INLINE, expired=deadline(INLINE_TIME)) for _ in range(2)]
    assert min(each.milliseconds for each in runs) < REACTOR


# Nesting


def _deep(levels: int, work: Callable[[], Any]) -> Any:
    """Do it so many calls down, as a server does that has a long chain."""
    return work() if levels == 0 else _deep(levels - 1, work)


def _outcome(text: str) -> Evaluation | str:
    """What comes of an expression; the text of its errors if it does not compile."""
    try:
        expression = compile_expression(text, base_environment())
    except CompileError as error:
        return str(error)
    return expression.evaluate(())


@pytest.mark.parametrize(("kind", "text"), list(nested(240)), ids=[name for name, _ in nested(1)])
def test_deep_nesting_is_the_same_from_a_deep_stack(kind: str, text: str) -> None:
    here = _outcome(text)
    below = _deep(300, lambda: _outcome(text))
    assert str(here) == str(below), kind


@pytest.mark.parametrize("depth", [1_000, 20_000])
@pytest.mark.parametrize("kind", [name for name, _ in nested(1)])
def test_deeper_nesting_is_refused_or_evaluated(kind: str, depth: int) -> None:
    text = dict(nested(depth))[kind][:LONG]
    found = _outcome(text)
    assert isinstance(found, (str, Evaluation))


def test_fifteen_nested_loops_are_evaluated_from_a_deep_stack() -> None:
    text = "true"
    for level in range(15):
        text = f"[{level}].all(v{level}, {text} && v{level} == {level})"
    assert _deep(300, lambda: _outcome(text)) == Evaluation(True, None, _outcome(text).cost)  # type: ignore[union-attr]
    mixed = "1"
    for level in range(15):
        mixed = f"[1].map(v{level}, {mixed})[0]" if level % 2 else f"[1, 2].filter(v{level}, {mixed} == 1)[0]"
    assert _deep(300, lambda: _outcome(mixed)).value == 1


# Long inputs


@pytest.mark.parametrize("kind", sorted(LONG_TEXTS))
def test_the_work_grows_with_the_length_of_the_text(kind: str) -> None:
    # Four times the length: nine times the work leaves room for noise, sixteen times is quadratic.
    found: list[tuple[float, float]] = []
    while not found or found[-1][1] >= min(12.0, max(1.0, found[-1][0] * 9)):
        assert len(found) < 3, found
        found.append(_seconds(kind))


def _seconds(kind: str) -> tuple[float, float]:
    """Of CPU, for a quarter of the longest text and for the whole."""
    times = []
    for size in (LONG // 4, LONG - 30):
        text = LONG_TEXTS[kind](size)
        gc.freeze()  # garbage is searched for among what the work makes, not among all that other tests have left
        begun = time.process_time()
        outcome = _outcome(text)
        times.append(time.process_time() - begun)
        gc.unfreeze()
        assert isinstance(outcome, (str, Evaluation))
    return times[0], times[1]


def test_longer_texts_are_refused_unread() -> None:
    begun = time.process_time()
    found = _outcome("(" * 3_000_000)
    assert isinstance(found, str)
    assert "limit 100000" in found
    assert time.process_time() - begun < 0.5


# Python's names

PYTHON = (
    "__class__", "__globals__", "__dict__", "__builtins__", "__import__", "__init__", "__subclasses__", "__mro__", "__code__", "__name__", "__doc__",
    "__getattribute__", "__len__", "mro", "format_map", "encode", "keys", "items", "get", "pop", "append", "exec", "eval", "open", "print", "globals", "locals",
    "getattr", "setattr", "os", "sys", "re", "None", "True", "lambda", "self_", "L", "H", "c", "f", "v0", "v1", "t0", "t1", "K0", "check", "limit", "cost", "values",
)  # fmt: skip
MARK = "marker_of_the_user"


@pytest.mark.parametrize("name", PYTHON)
def test_names_of_python_are_names_like_others(name: str) -> None:
    """As variables they are not there; as fields of values without fields neither; as keys they are keys."""
    environment = base_environment()
    for text in (
        name,
        f"{name}()",
        f"{name}(1)",
        f"''.{name}",
        f"''.{name}()",
        f"[].{name}",
        f"1.0.{name}",
        f"int.{name}",
        f"type(1).{name}()",
    ):
        try:
            found = compile_expression(text, environment).evaluate(())
        except CompileError:
            continue
        assert found.error is not None or name in {"c", "True", "None"}, (text, found)
    for text in (
        f"dyn('').{name}",
        f"dyn([]).{name}",
        f"dyn(1).{name}",
        f"dyn({{}}).{name}",
        f"dyn(type(1)).{name}",
        f"dyn(duration('1s')).{name}",
    ):
        assert compile_expression(text, environment).evaluate(()).error is not None, text
    assert compile_expression(f"{{'{name}': 7}}.{name} == 7", environment).evaluate(()).value is True
    assert (
        compile_expression(f"{{'{name}': 7}}['{name}'] == 7 && has({{'{name}': 7}}.{name})", environment)
        .evaluate(())
        .value
        is True
    )
    assert compile_expression(f"[1, 2].map({name}, {name} * 2) == [2, 4]", environment).evaluate(()).value is True
    assert (
        compile_expression(f"[1, 2].all({name}, [3].exists({name}x, {name} < {name}x))", environment).evaluate(()).value
        is True
    )


@pytest.mark.parametrize("name", [each for each in PYTHON if "__" not in each])
def test_fields_with_names_of_python_are_fields(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}, "other": {"type": "integer"}}}
    for text in (
        f"self.{name} == 'x'",
        f"has(self.{name}) && self.{name}.size() == 1",
        f"oldSelf.{name} != self.{name}",
    ):
        found = compiled(text, schema).evaluate(({name: "x", "other": 1}, {name: "y"}))
        assert found.value is True, (text, found)
        assert compiled(text, schema).evaluate(({"other": 1}, {})).value is not True


STRANGE = (
    "'",
    '"',
    "\\",
    "\n",
    "'''",
    '"""',
    "{",
    "}",
    "{0}",
    "%s",
    "#",
    "\x00",
    "\u2028",
    "\ud7ff",
    "😀",
    "); import os; (",
    "__import__('os').system('x')",
    "' + str(1) + '",
    "\\x41",
    "\r",
    "\ufeff",
)


@pytest.mark.parametrize("strange", STRANGE)
def test_strings_are_only_strings(strange: str) -> None:
    text = "".join(f"\\U{ord(char):08x}" for char in strange)
    environment = base_environment()
    assert compile_expression(f"'{text}'", environment).evaluate(()).value == strange
    assert (
        compile_expression(f"{{'{text}': '{text}'}}['{text}'] + 'x'", environment).evaluate(()).value == strange + "x"
    )
    schema = {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}}
    value = {"m": {strange: strange}}
    assert (
        compiled(f"self.m['{text}'] == '{text}' && '{text}' in self.m", schema).evaluate((value, MISSING)).value is True
    )
    assert compiled("self.m.all(k, self.m[k] == k)", schema).evaluate((value, MISSING)).value is True


def test_code_holds_no_text_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def recorded(source: str, *arguments: Any, **options: Any) -> Any:
        written.append(source)
        return compile(source, *arguments, **options)

    monkeypatch.setattr(program, "compile", recorded, raising=False)
    schema = {
        "type": "object",
        "properties": {MARK: {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    for text in (
        f"self.{MARK} == '{MARK}'",
        f"has(self.{MARK}) && self.{MARK}.startsWith('{MARK}') && self.{MARK} in ['{MARK}']",
        f"self.m.all({MARK}, {MARK} != '{MARK}')",
        f"self.m['{MARK}'] == '' || self.m.{MARK} == '{MARK}'",
        f"[b'{MARK}', bytes(self.{MARK})].size() == 2",
        f"{{'{MARK}': self.{MARK}}}.{MARK} == self.{MARK}",
        f"self.{MARK}.matches('{MARK}') && dyn(self.{MARK}) == '{MARK}'",
        f"optional.of(self.{MARK}).optMap({MARK}, {MARK} + '{MARK}').hasValue()",
    ):
        compiled(text, schema).evaluate(({MARK: MARK, "m": {MARK: MARK}}, MISSING))
    assert len(written) == 8
    for source in written:
        assert MARK not in source
        assert source.isascii()


# What is touched


class Counting(dict[str, Any]):
    """Counts which members are asked for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: list[str] = []

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.append(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.asked.append("*")
        return super().__iter__()

    def items(self) -> Any:
        self.asked.append("*")
        return super().items()

    def values(self) -> Any:
        self.asked.append("*")
        return super().values()


def test_only_what_a_rule_names_is_touched() -> None:
    value = Counting(obj(1000))
    found = compiled("self.s.size() > 3 && self.l.size() == 1000").evaluate((value, MISSING))
    assert found.value is True
    assert set(value.asked) == {"s", "l"}
    assert len(value.asked) <= 4


def test_the_deepest_stack_is_as_it_was() -> None:
    """Nothing raises the limit of the interpreter for good."""
    before = sys.getrecursionlimit()
    for _, text in nested(240):
        _outcome(text)
    assert sys.getrecursionlimit() == before
    assert CALL_LIMIT == 1_000_000
