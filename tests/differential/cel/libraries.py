"""Calls of each overload that Kubernetes' environment declares, with arguments that have a value and with some that fail."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tests.differential.cel.templates import Type, read

_OPERATORS: Final = {
    "_&&_": "{0} && {1}", "_||_": "{0} || {1}", "!_": "!{0}", "-_": "-{0}", "_?_:_": "{0} ? {1} : {2}", "_[_]": "{0}[{1}]", "_[?_]": "{0}[?{1}]",
    "@in": "{0} in {1}", "_?._": "{0}.?a",
    **{f"_{mark}_": f"{{0}} {mark} {{1}}" for mark in ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")},
}  # fmt: skip
_UNWRITABLE: Final = frozenset(
    {"in", "_in_", "__not_strictly_false__", "@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys"}
)
"""What only macros call, or what has no way to be written."""
_POOL: Final = {
    "bool": ("true", "false", "1 / 0 == 1"),
    "int": ("0", "1", "-1", "2", "3", "7", "100", "-5", "9223372036854775807", "-9223372036854775808", "1700000000", "253402300800"),
    "uint": ("0u", "1u", "2u", "18446744073709551615u", "9223372036854775808u"),
    "double": ("0.0", "-0.0", "1.0", "1.5", "-2.5", "1e21", "1e-7", "1e300", "9223372036854775807.0", "1.7976931348623157e308", "0.1", "123456789.0", "1.0 / 0.0", "0.0 / 0.0"),
    "string": ("''", "'a'", "'b'", "'abc'", "'a-b.c'", "'A1'", "' x\\t'", "'é☃😀'", "'12'", "'-7'", "'1.5'", "'true'", "'TRUE'", "'1h30m'", "'1.2.3'", "'v1.2'", "'1.2.3-rc.1+b'",
               "'10.0.0.1'", "'::1'", "'::ffff:1.2.3.4'", "'10.0.0.0/8'", "'2001:db8::/32'", "'https://a.example.com:8080/p%20q?x=1&x=2#f'", "'1Gi'", "'500m'", "'1.5e3'",
               "'2024-02-29T23:59:59.123456789Z'", "'2024-01-01'", "'aGVsbG8='", "'123e4567-e89b-12d3-a456-426614174000'", "'[a-c]+'", "'('", "'Europe/Berlin'", "'-07:30'", "'UTC'",
               "'Nowhere/Place'", "'a,b,c'", "','", "'uri'", "'%s'", "'" + "x" * 70 + "'", "'host:80'", "'0x10'", "'dns1123Label'"),
    "bytes": ("b''", "b'abc'", "b'\\xff\\xfe'", "b'é'"),
    "timestamp": ("timestamp('2024-02-29T23:59:59.123456789Z')", "timestamp('0001-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59Z')", "timestamp(0)", "timestamp('1969-12-31T23:59:59.5Z')"),
    "duration": ("duration('0s')", "duration('1h30m')", "duration('-1.5s')", "duration('1ns')", "duration('2562047h')", "duration('999ms')"),
    "null": ("null",),
    "kubernetes.Quantity": ("quantity('1')", "quantity('1.5Gi')", "quantity('500m')", "quantity('-2k')", "quantity('9223372036854775807')", "quantity('1e30')", "quantity('0')"),
    "kubernetes.URL": ("url('https://user@a.example.com:8080/p%20q?x=1&x=2&y#f')", "url('/only/path')", "url('http://[::1]/')"),
    "kubernetes.Semver": ("semver('1.2.3')", "semver('1.2.3-rc.1')", "semver('v2.0', true)", "semver('0.0.0+build')"),
    "kubernetes.NamedFormat": tuple(f"format.{name}()" for name in (
        "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue",
        "uri", "uuid", "byte", "date", "datetime")),
    "net.IP": ("ip('10.0.0.1')", "ip('127.0.0.1')", "ip('::1')", "ip('ff02::1')", "ip('fe80::1')", "ip('0.0.0.0')", "ip('224.0.0.1')"),
    "net.CIDR": ("cidr('10.0.0.0/8')", "cidr('10.1.2.3/8')", "cidr('2001:db8::/32')", "cidr('0.0.0.0/0')"),
}  # fmt: skip
_FREE: Final = (
    "int",
    "string",
    "double",
    "bool",
    "uint",
    "bytes",
    "timestamp",
    "duration",
    "list(int)",
    "map(string, int)",
    "kubernetes.Quantity",
)

_SURE: Final = {
    "cidr_contains_cidr_string": "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    "cidr_contains_ip_string": "cidr('10.0.0.0/8').containsIP('10.1.2.3')",
    "index_map": "{'a': 1}['a']",
    "ip_is_canonical": "ip.isCanonical('::1')",
    "list_slice": "[1, 2, 3].slice(1, 2)",
    "quantity_get_int": "quantity('2k').asInteger()",
    "string_bool_to_semver": "semver('v1.2', true)",
    "string_to_bool": "bool('true')",
    "string_to_duration": "duration('1h30m')",
    "string_to_int64": "int('-7')",
    "string_to_ip": "ip('10.0.0.1')",
    "string_to_semver": "semver('1.2.3')",
    "string_to_timestamp": "timestamp('2024-02-29T23:59:59.123456789Z')",
    "string_to_uint64": "uint('12')",
    "string_to_url": "url('https://a.example.com/')",
    "subtract_timestamp_timestamp": "timestamp('2024-02-29T23:59:59Z') - timestamp(0)",
    "timestamp_to_day_of_month_with_tz": "timestamp('2024-02-29T23:59:59Z').getDayOfMonth('Europe/Berlin')",
    "timestamp_to_day_of_year_with_tz": "timestamp('2024-02-29T23:59:59Z').getDayOfYear('Europe/Berlin')",
    "timestamp_to_hours_with_tz": "timestamp('2024-02-29T23:59:59Z').getHours('America/New_York')",
    "timestamp_to_minutes_with_tz": "timestamp('2024-02-29T23:59:59Z').getMinutes('-07:30')",
    "timestamp_to_year_with_tz": "timestamp('2024-12-31T23:59:59Z').getFullYear('+02:00')",
}
"""Calls that have a value, of overloads for which chance seldom finds one."""
_MORE: Final = (
    "cidr('::/0').containsIP('10.1.2.3')", "{1: 'b'}[1]", "duration(5)", "[1, 2, 3].slice(2, 1)", "[1].slice(0, 5)", "semver('v1.2', true).minor()", "bool('False')",
    "duration('1h30m').getMinutes()", "int('12')", "int('1_0')", "ip('10.0.0.1').family()", "uint('-1')", "[3, 1, 2].sortBy(x, -x)", "['b', 'a'].sortBy(x, x)",
    "[2.5, 1.5].sortBy(x, x)", "[true, false].sortBy(x, x)",
    "[b'b', b'a'].sortBy(x, x)", "[2u, 1u].sortBy(x, x)", "[1, 2].sortBy(x, duration(-x))", "[1, 2].sortBy(x, timestamp(-x))", "{'a': 1}.transformMapEntry(k, v, {v: k})",
    "{'a': 1}.transformMap(k, v, k + string(v))", "[1, 2].transformMapEntry(i, v, {'same': v})", "[1, 2, 3].transformMap(i, v, v > 1, v * 2)", "[1, 2].transformList(i, v, i + v)",
    "optional.of(1).optMap(x, x + 1)", "optional.none().optMap(x, 1)", "optional.of(1).optFlatMap(x, optional.of(string(x)))", "[1, 2].exists_one(x, x > 1)", "[1, 2].existsOne(i, x, x > i)",
    "{'a': 1}.all(k, v, v > 0)", "{'a': 1}.exists(k, v, v / 0 > 1)", "[1, 0].exists(x, 1 / x > 0)", "[0, 1].exists(x, 1 / x > 0)", "[0, 1].all(x, 1 / x > 5)",
    "authorizer.path('/a').check('get').allowed()",
)  # fmt: skip
"""Macros, and what else no overload stands for."""


def calls(overloads: list[dict[str, Any]], each: int, seed: str) -> Iterator[tuple[str, str]]:
    """So many calls of each overload, with names."""
    for number, text in enumerate(_MORE):
        yield f"more {number}", text
    for overload in overloads:
        if overload["function"] in _UNWRITABLE or any("authorization" in of for of in overload["arguments"]):
            continue
        random = Random(f"{seed} {overload['id']}")  # noqa: S311 - the same each time
        sure = [_SURE[overload["id"]]] if overload["id"] in _SURE else []
        written = dict.fromkeys((*sure, *(_call(overload, random) for _ in range(each))))
        for number, text in enumerate(written):
            yield f"{overload['id']} {number}", text


def _call(overload: dict[str, Any], random: Random) -> str:
    if overload["id"] == "lists_range":  # the original takes as much memory as it is asked for
        return f"lists.range({random.randint(-1, 20)})"
    bound: dict[str, Type] = {}
    arguments = [_argument(read(of), bound, random) for of in overload["arguments"]]
    template = _OPERATORS.get(overload["function"])
    if template:
        return template.format(*(f"({each})" if " " in each and each[0] not in "'[{" else each for each in arguments))
    name = overload["function"]
    if overload["member"]:
        target = arguments.pop(0)
        name = f"{f'({target})' if target[0] == '-' or ' / ' in target else target}.{name}"
    return f"{name}({', '.join(arguments)})"


def _argument(of: Type, bound: dict[str, Type], random: Random) -> str:
    name = str(of[0])
    inner = [each for each in of[1:] if isinstance(each, tuple)]
    if len(name) == 1:
        if name not in bound:
            bound[name] = read(random.choice(_FREE if random.random() < 0.5 else ("int", "string")))
        return _argument(bound[name], bound, random)
    match name:
        case "dyn":
            return f"dyn({_argument(read(random.choice(_FREE)), bound, random)})"
        case "list":
            return f"[{', '.join(_argument(inner[0], bound, random) for _ in range(random.choice((0, 1, 2, 3, 4))))}]"
        case "map":
            keys = {
                _argument(inner[0], bound, random): _argument(inner[1], bound, random)
                for _ in range(random.choice((0, 1, 1)))
            }
            return f"{{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}"
        case "optional_type":
            return f"optional.of({_argument(inner[0], bound, random)})" if random.random() < 0.7 else "optional.none()"
        case "type":
            return random.choice(("int", "string", "type"))
    return random.choice(_POOL[name])
