"""The short forms of :mod:`tests.differential.cel`: all corpora, and a part of what can be made up without end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from extapi.schema.cel.environment import COMPATIBLE, STORED, base_environment
from extapi.schema.cel.types import format_type
from tests.differential.cel import celspec, corpora, every, fetching, libraries
from tests.differential.cel.comparison import Comparison, disagreements, unlisted
from tests.differential.cel.judge import Judge, judge as built
from tests.differential.cel.manifests import real_schemas, rules

pytestmark = pytest.mark.kubernetes

SHORT: dict[str, Callable[[Judge], Comparison]] = {
    "real-objects": partial(every.real_objects, count=8),
    "generated": partial(every.generated, pairs=1000),
    "libraries": partial(every.libraries_calls, each=6),
    "extremes": lambda judge: every.extremes_of_expressions(judge, 250, 251),
}


@pytest.fixture(scope="module")
def judge() -> Judge:
    """kube-apiserver's own CEL; compiled ahead where all tests run."""
    return built()


def _compared(judge: Judge, name: str) -> Comparison:
    comparison = SHORT.get(name, every.COMPARISONS[name])(judge)
    assert unlisted(comparison, disagreements()) == []
    return comparison


@pytest.mark.parametrize("name", sorted(every.COMPARISONS.keys() - every.RECORDED))
def test_we_answer_as_kubernetes_does(judge: Judge, name: str) -> None:
    comparison = _compared(judge, name)
    assert sum(comparison.same.values()) > 40


@pytest.mark.parametrize("name", sorted(every.RECORDED))
def test_we_answer_recorded_cases_as_kubernetes_does(judge: Judge, name: str) -> None:
    lacking = corpora.missing()
    if lacking:
        pytest.skip(lacking)
    _compared(judge, name)


def test_the_corpora_are_whole(judge: Judge) -> None:
    answers = judge.expressions([case.text for case in celspec.cases()])
    assert len(answers) == 2344
    assert sum("value" in answer for answer in answers) == 1202
    assert sum("evaluationError" in answer for answer in answers) == 71
    assert sum(len(list(rules(real.schema))) for real in real_schemas()) >= 587


def test_the_judge_answers_as_was_recorded(judge: Judge) -> None:
    lacking = corpora.missing()
    if lacking:
        pytest.skip(lacking)
    cases = list(corpora.validated())
    answers = judge.ask({"op": "schema", **request} for _, request, _ in cases)
    same = sum(
        answer["objects"][0]["cost"] == case["cost"] and len(answer["objects"][0]["errors"]) == len(case["errors"])
        for answer, (_, _, case) in zip(answers, cases, strict=True)
    )
    # The others lost rules in branches, or a number's fraction, when they were written down.
    assert (len(cases), same >= 1200) == (1218, True)


def test_each_overload_is_called_with_a_value_and_many_with_an_error(judge: Judge) -> None:
    overloads = judge.ask([{"op": "environment"}])[0]["overloads"]
    calls = [(name.rpartition(" ")[0], text) for name, text in libraries.calls(overloads, 6, "1")]
    answers = judge.expressions([text for _, text in calls])
    named = {name for name, _ in calls}
    with_value = {name for (name, _), answer in zip(calls, answers, strict=True) if "value" in answer}
    with_error = {
        name
        for (name, _), answer in zip(calls, answers, strict=True)
        if "evaluationError" in answer or "error" in answer
    }
    assert named - with_value == {"int64_to_duration"}  # declared, and never a value
    assert len(named) > 300
    assert len(with_error) > 90


@pytest.mark.parametrize(("stored", "version"), [(False, COMPATIBLE), (True, STORED)])
def test_the_same_functions_and_macros_are_there(judge: Judge, *, stored: bool, version: tuple[int, int]) -> None:
    theirs = judge.ask([{"op": "environment", "stored": stored}])[0]
    environment = base_environment(version)
    ours = {
        (each.id, name, each.member, tuple(map(format_type, each.arguments)), format_type(each.result))
        for name, overloads in environment.language.functions.items()
        for each in overloads
    }
    expected = {
        (each["id"], each["function"], each["member"], tuple(each["arguments"]), each["result"])
        for each in theirs["overloads"]
        # Old names of operators, which no expression can call.
        if each["function"] not in {"in", "_in_", "__not_strictly_false__"}
    }
    assert ours == expected


def test_a_module_that_is_not_what_was_pinned_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "versions", lambda: {"cel.dev/expr": "v0.0.0-of-nobody"})
    fetching.directory.cache_clear()
    with pytest.raises(RuntimeError, match=r"cel\.dev/expr"):
        fetching.directory("cel.dev/expr")
    fetching.directory.cache_clear()
