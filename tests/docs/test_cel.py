"""The page on rules has every function that a rule may use, and the limits that the code has."""

from __future__ import annotations

import re

import extapi.schema.cel
from extapi.api.rule import Rule
from extapi.schema.cel import checks, expression, validator
from extapi.schema.cel.environment import COMPATIBLE, base_environment
from extapi.schema.cel.library.authorization import AUTHORIZATION, AUTHORIZATION_SELECTORS
from extapi.schema.cel.rules import MEMBERS
from tests.docs.samples import ROOT
from tests.docs.tables import rows_of

PAGE = ROOT / "docs" / "reference" / "cel.md"
OPERATOR = re.compile(r"[^\w.]")


def test_every_function_has_its_place() -> None:
    known = {name for name in base_environment(COMPATIBLE).language.functions if not OPERATOR.search(name)}
    only = {overload.function for overload in (*AUTHORIZATION, *AUTHORIZATION_SELECTORS)}
    told = {name for row in rows_of(PAGE, "Functions") for name in re.findall(r"`([^`]+)`", row.split("|")[2])}
    assert told - known == set()
    assert known - told - only == set()


def test_the_members_of_a_rule() -> None:
    rows = [re.findall(r"`(\w+)`", row)[:2] for row in rows_of(PAGE, "Writing a rule")]
    assert rows == [[name, key] for key, name in MEMBERS.items()]
    assert [name for name, _ in rows] == list(Rule.__dataclass_fields__)


def test_the_limits() -> None:
    wanted = [checks.RULE_LIMIT, checks.SCHEMA_LIMIT, expression.CALL_LIMIT, validator.OBJECT_BUDGET]
    told = [int(row.split("|")[2].replace(",", "")) for row in rows_of(PAGE, "What a rule may cost")]
    assert told == wanted


def test_what_authors_may_use_is_there() -> None:
    assert all(hasattr(extapi.schema.cel, name) for name in extapi.schema.cel.__all__)
