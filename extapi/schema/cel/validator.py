"""Runs the rules of a schema on an object: where they are, on what, in which order, and what they may cost.

Values stay as they are. A walk visits only the parts of an object for which there are rules, and makes nothing on the way
unless a rule fails.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` Validator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from extapi.fielderrors import MOST_ERRORS, FieldError
from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError
from extapi.schema.cel.expression import CALL_LIMIT, Evaluation
from extapi.schema.cel.failures import failure, made_message, rule_message
from extapi.schema.cel.rules import NEW, STORED, CompiledRule, ValidationRule, compile_rules
from extapi.schema.correlate import Correlation, old_member
from extapi.schema.structural import MISSING, Structural, join, join_key, replace

OBJECT_BUDGET: Final = 10_000_000
"""What the rules of one object may cost together."""
OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_UNDECLARED: Final = "failed to convert to declType for CEL validation rules"
_UNVERSIONED: Final = frozenset({"apiVersion", "kind"})
"""Members at the root that an update cannot leave unchanged: both objects are shown in the same version."""


class Validation(NamedTuple):
    """What came of running the rules."""

    errors: list[FieldError]
    warnings: list[str]
    """The texts of failures that an update has not caused, which are no errors."""
    remaining: int
    """The budget that is left; negative if it did not suffice, so that some rules were not run."""


def rule_validator(structural: Structural, *, root: bool = True, stored: bool = True) -> RuleValidator | None:
    """The rules of a schema; None if it has none.

    Args:
        structural: The schema.
        root: Whether it is that of a whole object, which has apiVersion, kind and names.
        stored: Whether the rules are stored already, so that they may use more than new ones.
    """
    if not structural.has_rules:
        return None
    node = _node(structural, structural, declare(structural, root=root), stored=stored)
    return None if node is None else RuleValidator(node)


class RuleValidator:
    """The rules of a schema. Immutable; rules are compiled when they are first run. Can be used in any thread."""

    __slots__ = ("_root",)

    def __init__(self, root: _Node) -> None:
        self._root = root

    def validate(
        self,
        value: Any,
        old: Any = MISSING,
        *,
        budget: int = OBJECT_BUDGET,
        call_limit: int = CALL_LIMIT,
        path: str = "",
        ratchets: bool = True,
        expired: Callable[[], bool] | None = None,
    ) -> Validation:
        """Run all rules on a value.

        Args:
            value: The value, JSON of the schema.
            old: On an update, the value that it replaces.
            budget: What all rules may cost together.
            call_limit: What each of them may cost.
            path: Where the value is.
            ratchets: Whether failures are warnings where nothing has changed.
            expired: Asked now and then; true stops the evaluation.
        """
        if old is None:
            old = MISSING
        walk = _Walk(budget, call_limit, expired, ratchets=ratchets)
        walk.visit(self._root, value, old, None, path, correlated=old is not MISSING, above=None)
        return Validation(walk.errors, walk.warnings, walk.remaining)


class _Node:
    """A node of the schema that has rules, or something below that has."""

    __slots__ = ("_declared", "_rules", "_stored", "additional", "all_of", "items", "only", "properties", "structural")

    def __init__(self, structural: Structural, declared: Declared | None, *, stored: bool) -> None:
        self.structural = structural
        """The schema, with the rules that are run."""
        self._declared = declared
        self._stored = stored
        self._rules: tuple[CompiledRule, ...] | None = None
        self.items: _Node | None = None
        self.additional: _Node | None = None
        self.properties: Mapping[str, _Node] = {}
        self.only = ""
        """The name of the only property."""
        self.all_of: tuple[_Node, ...] = ()

    def rules(self, expired: Callable[[], bool] | None) -> tuple[CompiledRule, ...] | None:
        """The rules, compiled; None if they cannot be, since CEL cannot see such values.

        Raises:
            DeadlineExceededError: There was no time to compile them.
        """
        if self._rules is None and self._declared is not None:
            made = []
            for rule in compile_rules(self.structural, self._declared, stored=STORED if self._stored else NEW):
                if expired is not None and expired():
                    raise DeadlineExceededError
                made.append(rule)
            self._rules = tuple(made)
        return self._rules

    @property
    def is_empty(self) -> bool:
        """Whether there are no rules here or below."""
        return not (self.structural.validations or self.items or self.additional or self.properties or self.all_of)


def _node(rules: Structural, structural: Structural, declared: Declared | None, *, stored: bool) -> _Node | None:
    """The node of a schema; ``rules``: what has the rules: the schema, or a branch of an ``allOf``."""
    if rules is not structural:
        structural = replace(structural, validations=rules.validations)
    node = _Node(structural, declared, stored=stored)
    element = None if declared is None else declared.element
    if rules.items is not None and structural.items is not None:
        node.items = _node(rules.items, structural.items, element, stored=stored)
    if rules.additional is not None and structural.additional is not None:
        node.additional = _node(rules.additional, structural.additional, element, stored=stored)
    properties: dict[str, _Node] = {}
    for key, sub in rules.properties.items():
        of = structural.properties.get(key)
        seen = None if of is None or declared is None else declared.properties.get(key)
        if of is None or seen is None:
            continue  # what CEL cannot see has no rules
        made = _node(sub, of, seen, stored=stored)
        if made is not None:
            properties[key] = made
    node.properties = properties
    node.only = next(iter(properties)) if len(properties) == 1 else ""
    branches = (_node(branch, structural, declared, stored=stored) for branch in rules.all_of)
    node.all_of = tuple(branch for branch in branches if branch is not None)
    return None if node.is_empty else node


class _Place(NamedTuple):
    """A value that is being visited: where it is, and what it was."""

    up: _Place | None
    segment: str
    """Its name as errors write it after the path of the object around: ``.name``, ``[key]`` or ``[0]``; at the root the path."""
    structural: Structural
    value: Any
    old: Any


class _Walk:
    """One walk along a schema through an object and its old state."""

    __slots__ = (
        "_call_limit",
        "_correlation",
        "_expired",
        "_ratchets",
        "_unchanged",
        "errors",
        "remaining",
        "warnings",
    )

    def __init__(self, budget: int, call_limit: int, expired: Callable[[], bool] | None, *, ratchets: bool) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.remaining = budget
        self._call_limit = call_limit
        self._expired = expired
        self._ratchets = ratchets
        self._correlation = Correlation()
        self._unchanged: dict[int, tuple[_Place, bool]] = {}
        """What is known of places, by identity; each entry keeps its place alive."""

    def visit(
        self,
        node: _Node,
        value: Any,
        old: Any,
        up: _Place | None,
        segment: str,
        *,
        correlated: bool,
        above: _Place | None,
    ) -> bool:
        """Run the rules of a node and of all below.

        Args:
            node: The node.
            value: The value.
            old: The value that it replaces, or MISSING.
            up: The place of the value around.
            segment: The name of this one.
            correlated: Whether ``old`` is the old state of this very value, as far as unchanged values are concerned.
            above: The nearest place around for which that is so.

        Returns:
            False if no further rule is to be run.
        """
        if value is None:
            return True
        if node.structural.validations:
            place = _Place(up, segment, node.structural, value, old)
            try:
                rules = node.rules(self._expired)
            except DeadlineExceededError as late:
                first = ValidationRule.read(node.structural.validations[0])
                return self._stop(place, node.structural.type, f"{late} evaluating rule: {first.text}")
            if not self._run(rules, place, place if correlated else above):
                return False
        for branch in node.all_of:
            # Nothing in an allOf is correlated, but what is around it may be.
            if not self.visit(branch, value, old, up, segment, correlated=False, above=above):
                return False
        if isinstance(value, dict):
            if node.properties or node.additional is not None:
                place = _Place(up, segment, node.structural, value, old)
                return self._members(node, place, correlated=correlated, above=place if correlated else above)
        elif node.items is not None and isinstance(value, list):
            place = _Place(up, segment, node.structural, value, old)
            nearest = place if correlated else above
            most = self._found() + MOST_ERRORS
            for index, item in enumerate(value):
                if self._found() >= most:
                    break
                before = self._correlation.old_item(node.structural, item, old)
                correlates = correlated and before is not MISSING
                at = f"[{index}]"
                if not self.visit(node.items, item, before, place, at, correlated=correlates, above=nearest):
                    return False
        return True

    def _members(self, node: _Node, place: _Place, *, correlated: bool, above: _Place | None) -> bool:
        value, old = place.value, place.old
        if node.additional is not None:
            most = self._found() + MOST_ERRORS
            for key, member in value.items():
                if self._found() >= most:
                    break
                before = _known(old_member(old, key))
                correlates = correlated and before is not MISSING
                if not self.visit(
                    node.additional, member, before, place, f"[{key}]", correlated=correlates, above=above
                ):
                    return False
        names = (node.only,) if node.only else value if node.properties else ()
        for key in names:
            sub = node.properties.get(key)
            member = value.get(key) if sub is not None else None
            if sub is None or member is None:
                continue
            before = _known(old_member(old, key))
            correlates, nearest = correlated and before is not MISSING, above
            if place.up is None and correlated and key in _UNVERSIONED:
                correlates, nearest = False, None
            if not self.visit(sub, member, before, place, f".{key}", correlated=correlates, above=nearest):
                return False
        return True

    def _found(self) -> int:
        return len(self.errors) + len(self.warnings)

    def _run(self, rules: tuple[CompiledRule, ...] | None, place: _Place, nearest: _Place | None) -> bool:
        """Run the rules of one node; False if no further rule is to be run."""
        kind = place.structural.type
        if rules is None:
            self._add(place, kind, f"rule compiler initialization error: {_UNDECLARED}")
            return True
        if self.remaining <= 0:
            return self._stop(place, kind, OUT_OF_BUDGET)
        values = (place.value, place.old)
        for compiled in rules:
            expression = compiled.expression
            if expression is None:
                if compiled.error:
                    self._add(place, kind, f"rule compile error: {compiled.error}")
                continue
            if compiled.uses_old_self and place.old is MISSING and not compiled.rule.optional_old_self:
                continue  # a transition needs both
            found = expression.evaluate(values, limit=min(self._call_limit, self.remaining), expired=self._expired)
            if found.cost > self.remaining:
                return self._stop(place, kind, OUT_OF_BUDGET)
            self.remaining -= found.cost
            if found.value is True:
                continue
            if found.error is None:
                if not self._failed(compiled, place, nearest):
                    return False
            elif not self._broke(compiled.rule, found, place, kind):
                return False
        return True

    def _broke(self, rule: ValidationRule, found: Evaluation, place: _Place, kind: str) -> bool:
        """Report a rule that has no value; False if no further rule is to be run."""
        text = str(found.error)
        if isinstance(found.error, CostLimitExceededError):
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            return self._stop(place, kind, f"'{text}': {why}: {rule.text}")
        if text.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            self._add(place, kind, f"'{text}': {why}: {rule.text}")
            return True
        self._add(place, kind, f"{text} evaluating rule: {rule.text}")
        # kube-apiserver runs the rest in vain: the client has been answered.
        return not isinstance(found.error, DeadlineExceededError)

    def _failed(self, compiled: CompiledRule, place: _Place, nearest: _Place | None) -> bool:
        """Report a rule that is false; False if no further rule is to be run."""
        rule, kind = compiled.rule, place.structural.type
        path = _path(place)
        if compiled.field_path:
            path = join(path, compiled.field_path)
        is_warning = not compiled.uses_old_self and self._ratchets and self._is_unchanged(nearest)
        text = ""
        if compiled.message is not None:
            found = compiled.message.evaluate(
                (place.value, place.old), limit=min(self._call_limit, self.remaining), expired=self._expired
            )
            made = made_message(found, rule.message_expression, self.remaining)
            if made.fatal:
                self._report(FieldError.invalid(path, kind, made.fatal), is_warning=is_warning)
                self.remaining = -1
                return False
            self.remaining -= found.cost
            text = made.text
        error = failure(rule, path, kind, place.value, text or rule_message(rule))
        self._report(error, is_warning=is_warning)
        return True

    def _is_unchanged(self, place: _Place | None) -> bool:
        """Whether a value is as it was, apart from the order of map lists."""
        if place is None or place.old is MISSING:
            return False
        known = self._unchanged.get(id(place))
        if known is None:
            known = place, self._correlation.unchanged(place.structural, place.value, place.old)
            self._unchanged[id(place)] = known
        return known[1]

    def _report(self, error: FieldError, *, is_warning: bool) -> None:
        if is_warning:
            self.warnings.append(error.text())
        else:
            self.errors.append(error)

    def _add(self, place: _Place, kind: str, text: str) -> None:
        self.errors.append(FieldError.invalid(_path(place), kind, text))

    def _stop(self, place: _Place, kind: str, text: str) -> bool:
        self._add(place, kind, text)
        self.remaining = -1
        return False


def _known(old: Any) -> Any:
    return MISSING if old is None else old


def _path(place: _Place) -> str:
    segments: list[str] = []
    at: _Place | None = place
    while at is not None:
        segments.append(at.segment)
        at = at.up
    path = segments.pop()
    for segment in reversed(segments):
        path = join(path, segment[1:]) if segment[0] == "." else join_key(path, segment[1:-1])
    return path
