"""A kind of the twins whose schema has rules in CEL, of each sort and at each level."""

from __future__ import annotations

from typing import Any

from extapi import Kind, Scale, Version
from tests.differential.cases import cases
from tests.differential.side import APPLY, MERGE, Step


def _ruled(schema: dict[str, Any], *rules: str | dict[str, Any]) -> dict[str, Any]:
    written = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**schema, "x-kubernetes-validations": written}


def _rule(rule: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"rule": rule, **({"message": message} if message else {}), **more}


STRING = {"type": "string", "maxLength": 40}
INTEGER = {"type": "integer"}
PART = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": STRING,
        "count": _ruled(INTEGER, _rule("self >= oldSelf", "must not shrink"), "self < 10"),
        "words": {"type": "array", "maxItems": 3, "items": _ruled(STRING, "self != 'bad'")},
    },
}
SPEC = {
    "size": _ruled(INTEGER, "self % 10 == 0", _rule("self < 1000", " too large ", reason="FieldValueForbidden")),
    "fixed": _ruled(STRING, _rule("self == oldSelf", "Value is immutable")),
    "once": _ruled(STRING, _rule("!oldSelf.hasValue() || oldSelf.value() == self", "is set", optionalOldSelf=True)),
    "made": _ruled(STRING, _rule("oldSelf.hasValue()", "only on an update", optionalOldSelf=True)),
    "real": _ruled({"type": "number"}, "self > 0.5"),
    "flag": _ruled({"type": "boolean"}, "self"),
    "port": _ruled({"x-kubernetes-int-or-string": True, "maxLength": 10}, "self > 5", "type(self) == int"),
    "maybe": _ruled({**STRING, "nullable": True}, "self == 'a'"),
    "when": _ruled({"type": "string", "format": "date-time"}, "self > timestamp('2020-01-01T00:00:00Z')"),
    "wait": _ruled({"type": "string", "format": "duration"}, "self < duration('1h')"),
    "bits": _ruled({"type": "string", "format": "byte", "maxLength": 40}, "self == b'abc'"),
    "color": _ruled({"type": "string", "enum": ["red", "green"], "default": "red"}, "self != 'green'"),
    "code": _ruled({**STRING, "pattern": "^[a-z]+$"}, "self.startsWith('a')"),
    "dash-ed.name": _ruled(STRING, "self != 'bad'"),
    "1odd": _ruled(STRING, "self != 'bad'"),
    "namespace": _ruled(STRING, "self != 'bad'"),
    "tags": {
        **_ruled({"type": "array", "maxItems": 5, "items": STRING}, _rule("oldSelf.all(x, x in self)", "only added")),
        "x-kubernetes-list-type": "set",
    },
    "parts": _ruled(
        {
            "type": "array",
            "maxItems": 5,
            "items": _ruled(PART, _rule("self.name != 'bad'", reason="FieldValueDuplicate")),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        _rule("self.exists(p, p.name == 'a')", "needs a", reason="FieldValueRequired"),
        _rule("self != oldSelf", "must change"),
    ),
    "plain": {"type": "array", "maxItems": 5, "items": _ruled(INTEGER, "self > 0")},
    "labels": _ruled(
        {"type": "object", "maxProperties": 5, "additionalProperties": _ruled(STRING, "self != 'bad'")},
        _rule("self['a'] == 'x'"),
        _rule("oldSelf.all(k, k in self && self[k] == oldSelf[k])", "Keys may not be removed"),
    ),
    "deep": {
        "type": "object",
        "properties": {
            "low": INTEGER,
            "high": INTEGER,
            "names": {"type": "object", "maxProperties": 3, "additionalProperties": STRING},
        },
        "x-kubernetes-validations": [
            _rule("self.low <= self.high", "low must not be greater", fieldPath=".low"),
            _rule(
                "!has(self.names) || !('b' in self.names)",
                "no b",
                fieldPath=".names['b.c']",
                messageExpression="'no b but ' + self.names['b']",
                reason="FieldValueForbidden",
            ),
            _rule("!has(self.names) || self.names.size() < 2", "few", messageExpression="self.names['none']"),
            _rule("!has(self.names) || !('l' in self.names)", messageExpression="'a\\nb'"),
        ],
    },
    "free": _ruled({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "self != oldSelf || true"),
    "inner": _ruled(
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "self.kind == 'Inner' && self.metadata.name.size() < 5",
    ),
    "numbers": {"type": "array", "maxItems": 1000, "items": INTEGER},
}
COSTLY = "!has(self.numbers) || self.numbers.size() < 100 || self.numbers.all(a, self.numbers.all(b, a != b || a == b))"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": _ruled(
            {"type": "object", "properties": SPEC},
            _rule("!has(oldSelf.fixed) || has(self.fixed)", "Value is required once set"),
            *(f"{COSTLY} || {number} > 20" for number in range(12)),
        ),
        "status": _ruled(
            {"type": "object", "properties": {"seen": INTEGER, "word": _ruled(STRING, "self != 'bad'")}},
            _rule("!has(self.seen) || self.seen >= 0", "cannot be negative"),
        ),
    },
    "x-kubernetes-validations": [
        _rule("self.metadata.name != 'bad-name'", messageExpression="self.kind + ' must not be ' + self.metadata.name"),
        _rule("!has(self.status) || !has(self.status.seen) || self.status.seen != self.spec.size", "both are the same"),
    ],
}

GAUGE = Kind(
    "Gauge",
    storage="v1",
    versions={"v1": Version(SCHEMA)},
    scale=Scale(spec_replicas_path=".spec.size", status_replicas_path=".status.seen"),
)
GAUGES = "/apis/{g}/v1/namespaces/{ns}/gauges"


def gauge(name: str = "one", **spec: Any) -> dict[str, Any]:
    """A gauge."""
    return {"apiVersion": "{g}/v1", "kind": "Gauge", "metadata": {"name": name}, "spec": {"size": 10, **spec}}


def make(obj: Any, query: str = "") -> Step:
    """A create of a gauge."""
    return Step("POST", GAUGES + query, obj, {"Content-Type": "application/json"})


def change(patch: Any, part: str = "") -> Step:
    """A merge patch of the gauge ``one``."""
    return Step("PATCH", f"{GAUGES}/one{part}", patch, {"Content-Type": MERGE})


def apply(obj: Any, name: str = "one", query: str = "?fieldManager=m&force=true") -> Step:
    """A server-side apply."""
    return Step("PATCH", f"{GAUGES}/{name}{query}", obj, {"Content-Type": APPLY})


def replace(obj: Any) -> Step:
    """An update of the gauge ``one``."""
    obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": "{rv}"}}
    return Step("PUT", f"{GAUGES}/one", obj, {"Content-Type": "application/json"})


def see() -> Step:
    """A read of all gauges."""
    return Step("GET", GAUGES, None, {})


VALUES: dict[str, list[Any]] = {
    "size": [5, 1000, 1005, -10, "x", 2**62],
    "fixed": ["a"],
    "once": ["a"],
    "made": ["a"],
    "real": [0.5, 1, 0, -1e300, 0.75, 1e-7],
    "flag": [True, False],
    "port": [5, 6, "a", "9", ""],
    "maybe": ["a", "b", None, 'b"\n\u00e9\U0001f600'],
    "when": ["2019-12-31T23:59:59Z", "2020-01-01T00:00:00.5+00:00"],
    "wait": ["59m", "2h", "1d"],
    "bits": ["YWJj", "YWJk"],
    "color": ["red", "green", "blue"],
    "code": ["abc", "b", "1", "x" * 41],
    "dash-ed.name": ["bad", "good"],
    "1odd": ["bad", "good"],
    "namespace": ["bad", "good"],
    "tags": [["a", "b"], ["a", "a"]],
    "parts": [
        [{"name": "a"}],
        [{"name": "b"}],
        [],
        [{"name": "a", "count": 10, "words": ["ok", "bad", "bad"]}, {"name": "bad", "words": ["bad"]}],
        [{"count": 1}],
        [{"name": "a"}, {"name": "a"}],
    ],
    "plain": [[1, 2], [0, 1, -1], [1] * 6],
    "labels": [{}, {"a": "x"}, {"a": "y"}, {"a": "x", "b.c/d": "bad", "e f": "bad"}],
    "deep": [
        {},
        {"low": 1, "high": 2},
        {"low": 2, "high": 1},
        {"low": 1},
        {"low": 1, "high": 1, "names": {"b": "x"}},
        {"low": 1, "high": 1, "names": {"c": "x", "d": "y"}},
        {"low": 1, "high": 1, "names": {"l": "x"}},
        {"low": 3, "high": 1, "names": {"l": "x", "b": "y"}},
    ],
    "free": [{"a": 1}],
    "inner": [
        {"apiVersion": "a/v1", "kind": "Inner", "metadata": {"name": "a"}},
        {"apiVersion": "a/v1", "kind": "Inner", "metadata": {"name": "abcde"}},
        {"apiVersion": "a/v1", "kind": "Inner", "metadata": {"namespace": "a"}},
        {"apiVersion": "a/v1", "kind": "Other"},
    ],
    "numbers": [[1] * 99, list(range(300)), list(range(380)), list(range(430)), list(range(900))],
}
FULL: dict[str, Any] = {
    "fixed": "a",
    "once": "a",
    "tags": ["a", "b"],
    "parts": [{"name": "a", "count": 5}, {"name": "b", "count": 5}],
}
GOOD = (make(gauge(**FULL, labels={"a": "x"})),)


def _fields() -> dict[str, tuple[Step, ...]]:
    return {
        f"{field} {position}": (
            make(gauge("new", **{field: value})),
            make(gauge()),
            change({"spec": {field: value}}),
            change({"spec": {field: value}, "metadata": {"labels": {"a": "b"}}}),
            see(),
        )
        for field, values in VALUES.items()
        for position, value in enumerate(values)
    }


CASES = cases(
    {
        **_fields(),
        "several": make(gauge("bad-name", size=5, code="b", plain=[0], labels={"b": "bad"}, flag=False)),
        "several and one that stops": make(gauge("bad-name", size=5, code=1, plain=[0])),
        "several and one that does not stop": make(gauge("bad-name", size=5, code="1", plain=[0])),
        "a bad label": make({**gauge(size=5), "metadata": {"name": "one", "labels": {"a": "_"}}}),
        "no name": make(gauge("", size=5)),
        "no spec": make({"apiVersion": "{g}/v1", "kind": "Gauge", "metadata": {"name": "one"}}),
        "dry run": make(gauge(size=5), "?dryRun=All"),
        "generated name": make({**gauge(size=5), "metadata": {"generateName": "gen-"}}),
        "immutable": (*GOOD, change({"spec": {"fixed": "b", "once": "b"}}), change({"spec": {"fixed": None}})),
        "immutable, replaced": (*GOOD, replace(gauge(fixed="b")), replace(gauge()), replace(gauge(**{**FULL, "size": 5}))),
        "immutable, applied": (apply(gauge(fixed="a")), apply(gauge(fixed="b")), apply(gauge()), see()),
        "created by an apply": (apply(gauge("two", size=5), "two"), apply(gauge("two", size=20), "two")),
        "only added": (*GOOD, change({"spec": {"tags": ["b"]}}), change({"spec": {"tags": ["c", "b", "a"]}}), see()),
        "keys stay": (
            *GOOD,
            change({"spec": {"labels": {"a": "y"}}}),
            change({"spec": {"labels": {"b": "z"}}}),
            change({"spec": {"labels": {"b": None}}}),
        ),
        "items by key": (
            *GOOD,
            change({"spec": {"parts": [{"name": "b", "count": 4}, {"name": "a", "count": 6}]}}),
            change({"spec": {"parts": [{"name": "b", "count": 5}, {"name": "a", "count": 5}]}}),
            change({"spec": {"parts": [{"name": "c", "count": 1}, {"name": "a", "count": 7}]}}),
        ),
        "status": (
            *GOOD,
            change({"status": {"seen": -1, "word": "bad"}}, "/status"),
            change({"status": {"seen": 10}}, "/status"),
            change({"status": {"seen": 3}}, "/status"),
            change({"spec": {"size": 20}, "status": {"word": "bad"}}),
        ),
        "status of a wrong type": (*GOOD, change({"status": {"seen": "x"}}, "/status")),
        "scale": (
            *GOOD,
            change({"spec": {"replicas": 5}}, "/scale"),
            change({"spec": {"replicas": 1010}}, "/scale"),
            change({"spec": {"replicas": 20}}, "/scale"),
        ),
    }
)  # fmt: skip
