"""Numbers that no int64 or no float64 holds, and other values that only some programs can read, at every entrance.

Bodies are texts: what Python writes for a float would hide what is asked.
"""

from __future__ import annotations

import urllib.parse
from typing import Any

from tests.differential.cases import cases
from tests.differential.side import JSON_PATCH, MERGE, YAML, Step, delete, get, merge, post, put

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STRICT = "?fieldValidation=Strict"
IGNORE = "?fieldValidation=Ignore"
FAR = "1" + "0" * 400
"""No float64 holds it, though nothing in it is odd but its length."""

JSON_NUMBERS = (
    "1e400", "-1e400", "1E400", FAR, "-" + FAR, "1e309", "1.7976931348623157e308", "1.7976931348623159e308", "1e-400",
    "2e-324", "5e-324", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "123456789012345678901", "123456789012345678901234567890",
    "999999999999999999999", "1e15", "1e18", "1e20", "1e21", "-0", "-0.0", "1.0", "1e2", "100.5e1", "1e-6", "1e-7",
    "9007199254740993", "9007199254740993.0", "9.223372036854775807e18", "0." + "1" * 3000, "0.1" + "0" * 3000,
)  # fmt: skip
FIELD_NUMBERS = (
    "1e400", FAR, "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e30", "1e18", "1e2", "2.0", "-0.0",
    "1e-400", "2147483648", "1.0000000001", "5e-324",
)  # fmt: skip
YAML_NUMBERS = (
    "1e400", FAR, "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
    "-9223372036854775809", "+9223372036854775808", "0x" + "f" * 16, "0x" + "f" * 17, "0x" + "f" * 300,
    "-0x8000000000000000", "0b" + "1" * 64, "0b" + "1" * 65, "0o777", "0777", "0888", "1_000", "1_000.5", "0x_f", "_1", "1_",
    "1:30", "190:20:30", ".inf", "-.inf", ".nan", "inf", "NaN", "-0.0", "1e20", "1e21", "!!int 5.0", "!!float 5",
    "!!float 1e400", "!!float .inf", "!!int 0xffffffffffffffffff", "!!binary /w==", "!!binary 7aCA", '"\\0"', '"\\ud800"',
    '"\\U00110000"', "1.5e1_0",
)  # fmt: skip
YAML_KEYS = (
    "1",
    "1.5",
    "true",
    "1e400",
    "18446744073709551615",
    "0x10",
    "1e20",
    "1e21",
    "2020-01-01",
    "!!binary /w==",
    '"\\0"',
)
METADATA_NUMBERS = (
    "1e400",
    FAR,
    "9223372036854775808",
    "-9223372036854775809",
    "1e2",
    "2.0",
    "1.5",
    "9223372036854775807",
)
INTEGER_TEXTS = (
    "0" * 5000 + "1",
    "9" * 5000,
    "0" * 5000,
    "18446744073709551616",
    "\u0663",
    "\u00b2",
    "+1",
    "-1",
    "1_0",
    "0x1",
)
TIMES = (
    "0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0000-02-29T00:00:00Z", "0000-13-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
    "1700-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "1900-01-01T00:00:00.999999999Z", "",
)  # fmt: skip


def text(spec: str, name: str = "new", metadata: str = "") -> str:
    """A probe as text."""
    size = "" if spec.startswith('"size"') else '"size":1,'
    meta = f'{{"name":"{name}"{metadata and "," + metadata}}}'
    return f'{{"apiVersion":"{{g}}/v1","kind":"Probe","metadata":{meta},"spec":{{{size}{spec}}}}}'


def manifest(spec: str) -> str:
    """A probe as YAML, in which ``spec`` is a line."""
    size = "" if spec.startswith("size:") else "  size: 1\n"
    return f"apiVersion: {{g}}/v1\nkind: Probe\nmetadata:\n  name: new\nspec:\n{size}  {spec}\n"


def operation(value: str, path: str = "/spec/free", op: str = "add") -> str:
    """A JSON patch of one operation."""
    return f'[{{"op":"{op}","path":"{path}","value":{value}}}]'


def _short(value: str) -> str:
    return value if len(value) < 40 else f"{value[:8]}..{len(value)}"


def _free(value: str) -> tuple[Step, ...]:
    """A value where everything is preserved: created, read in all forms."""
    return (
        post(text(f'"free":{{"x":{value}}}')),
        get("/new"),
        get("/new", TABLE),
        get("", TABLE),
    )


def _field(field: str, value: str) -> tuple[Step, ...]:
    spec = f'"{field}":{value}'
    return (
        post(text(spec)),
        merge("/one", f'{{"spec":{{{spec}}}}}'),
        merge("/one", operation(value, f"/spec/{field}"), JSON_PATCH),
    )


def _patches(value: str) -> tuple[Step, ...]:
    patch = f'{{"spec":{{"free":{{"x":{value}}}}}}}'
    return (
        merge("/one", patch),
        merge(f"/one{STRICT}", patch),
        merge("/one", operation(f'{{"x":{value}}}'), JSON_PATCH),
        merge("/one", operation(value, "/spec/free/y"), JSON_PATCH),
        merge("/one", operation(value, "/spec/free/y", "test"), JSON_PATCH),
        put("/one", text(f'"free":{{"x":{value}}}', "one", '"resourceVersion":"{rv}"')),
        merge("/one/status", f'{{"status":{{"seen":{value}}}}}'),
        get("/one"),
        delete("/one"),
    )


def _metadata(field: str, value: str) -> tuple[Step, ...]:
    given = f'"{field}":{value}'
    return (post(text('"size":1', "new", given)), merge("/one", f'{{"metadata":{{{given}}}}}'))


def _options(given: Any, form: str = "application/json") -> Step:
    return delete("/one", given, form)


CASES = cases(
    {
        **{f"free {_short(value)}": _free(value) for value in JSON_NUMBERS},
        **{
            f"{field} {_short(value)}": _field(field, value)
            for field in ("size", "weight", "small", "even", "port")
            for value in FIELD_NUMBERS
        },
        **{
            f"{field} {_short(value)}": post(text(f'"{field}":{value}'))
            for field in ("text", "when", "on", "parts")
            for value in ("1000.0", "1000", "-0", "1e+300", "1.5", "-1e-300")
        },
        **{f"{field} 123456789.0": post(text(f'"{field}":123456789.0')) for field in ("weight", "even", "level")},
        "list 1000.0": post(text('"tags":[1000.0,1000.0]')),
        **{f"patches {_short(value)}": _patches(value) for value in ("1e400", FAR, "9223372036854775808", "1e20", "-0.0")},
        **{
            f"ignored {kind} {_short(value)}": merge(f"/one{IGNORE}", patch, kind)
            for value in ("1e400", FAR)
            for kind, patch in (
                (MERGE, f'{{"spec":{{"free":{{"x":{value}}}}}}}'),
                (JSON_PATCH, operation(value, "/spec/free")),
            )
        },
        **{f"yaml {_short(value)}": post(manifest(f"free: {{x: {value}}}"), form=YAML) for value in YAML_NUMBERS},
        **{f"yaml key {_short(value)}": post(manifest(f"free: {{? {value} : 1}}"), form=YAML) for value in YAML_KEYS},
        **{
            f"yaml {field} {_short(value)}": post(manifest(f"{field}: {value}"), form=YAML)
            for field in ("size", "weight", "port")
            for value in ("1e400", FAR, "9223372036854775808", "5.0", ".inf", "0x" + "f" * 300)
        },
        "yaml out": (post(text('"free":{"a":1e20,"b":1e21,"c":1e-7,"d":9223372036854775808}')), get("/new", YAML)),
        **{
            f"{field} {_short(value)}": _metadata(field, value)
            for field in ("generation", "deletionGracePeriodSeconds")
            for value in METADATA_NUMBERS
        },
        **{
            f"metadata {number}": post(text('"size":1', "new", given))
            for number, given in enumerate((
                '"labels":{"a":1e400}', '"labels":{"a":9223372036854775808}', '"nope":1e400', '"resourceVersion":1e400',
                '"finalizers":[1e400]', '"managedFields":[{"manager":"m","fieldsV1":{"f:x":1e400}}]',
                '"creationTimestamp":1e400', f'"annotations":{{"a":{FAR}}}',
            ))
        },
        "of another kind": post(text('"free":{"x":1e400}').replace("Probe", "Nothing")),
        "of another version": post(text('"free":{"x":1e400}').replace("/v1", "/v9")),
        "without a kind": post('{"apiVersion":"{g}/v1","x":1e400}'),
        "for a kind": post('{"apiVersion":"{g}/v1","kind":1e400}'),
        "for a version": post('{"apiVersion":1e400,"kind":"Probe"}'),
        "and a syntax error": post('{"x":1e400'),
        "twice": post(text('"free":{"x":1e400,"x":1e401}'), STRICT),
        "beside unknown fields": post(text('"nope":1e400'), STRICT),
        "in a list": post("[1e400]"),
        "patch of a list": merge("/one", "[1e400]"),
        "patch of unknown fields": merge("/one", '{"spec":{"nope":1e400}}'),
        "patch of a wrong operation": merge("/one", '[{"op":1e400}]', JSON_PATCH),
        # Options and queries.
        **{
            f"grace {_short(value)}": _options(f'{{"gracePeriodSeconds":{value}}}')
            for value in ("1e400", FAR, "9223372036854775808", "9223372036854775807", "1.5", "-5")
        },
        **{
            f"yaml grace {value}": _options(f"gracePeriodSeconds: {value}\n", YAML)
            for value in ("18446744073709551615", "1.5", "1e2", "0x10")
        },
        "option of no name": _options('{"nope":1e400}'),
        "uid": _options('{"preconditions":{"uid":1e400}}'),
        "dry run": _options('{"dryRun":[1e400]}'),
        **{
            f"query {query[:40]}": delete(f"/one?{query}")
            for query in (
                "gracePeriodSeconds=1e400", "gracePeriodSeconds=" + "9" * 19, "gracePeriodSeconds=" + "9" * 400,
                "gracePeriodSeconds=0x10", "gracePeriodSeconds=1_0", "gracePeriodSeconds=%D9%A1",
            )
        },
        **{
            f"list {query[:40]}": get(f"?{query}")
            for query in (
                "limit=" + "9" * 19, "limit=" + "9" * 400, "limit=1e2", "limit=1_0", "limit=%D9%A1",
                "timeoutSeconds=" + "9" * 19, "resourceVersion=1e2", "resourceVersion=1_0", "resourceVersion=%D9%A1",
                "labelSelector=a%3E1e400", "labelSelector=a%3E" + "9" * 19, "labelSelector=a%3E1_0",
                "labelSelector=a%3E%D9%A1",
            )
        },
        # Integers in text. Python's int() stops at 4300 digits, zeros included, and reads any script.
        **{
            f"revision {_short(value)}": (
                post(text('"size":1', "new", f'"resourceVersion":"{value}"')),
                put("/one", text('"size":2', "one", f'"resourceVersion":"{value}"')),
                merge("/one", f'{{"metadata":{{"resourceVersion":"{value}"}}}}'),
            )
            for value in INTEGER_TEXTS
        },
        **{
            f"query {_short(value)}": tuple(
                get(f"?{name}{urllib.parse.quote(value)}")
                for name in ("limit=", "timeoutSeconds=", "resourceVersion=", "labelSelector=a%3E")
            )
            for value in INTEGER_TEXTS
        },
        # Texts and times.
        **{
            f"time {moment}": (post(text(f'"free":{{"x":"{moment}"}}')), get("/new", TABLE), get("", TABLE))
            for moment in TIMES
        },
        "nul": (post(text('"free":{"\\u0000":"\\u0000"},"text":"a\\u0000"')), get("/new"), get("/new", YAML)),
        "lone surrogates": (post(text('"free":{"\\ud800":"\\udfff\\ud800"},"text":"\\ud800\\ud800"')), get("/new")),
        "surrogates in a patch": (merge("/one", '{"spec":{"free":{"\\ud800":"\\udc00"}}}'), get("/one")),
        "surrogates in a JSON patch": (merge("/one", operation('"\\ud800"'), JSON_PATCH), get("/one")),
        "bad UTF-8 in a patch": (merge("/one", b'{"spec":{"free":{"\xff":"\xed\xa0\x80"}}}'), get("/one")),
    }
)  # fmt: skip
