"""The language as a list of templates: what has which type, made of what.

``T`` and ``U`` stand for any type, ``#`` for a variable that a macro declares, of the type of the elements of its range.
"""

from __future__ import annotations

from typing import Final, NamedTuple

Type = tuple[object, ...]


class Part(NamedTuple):
    """What a template is filled in with."""

    type: Type
    variable: Type | None
    """The type of the macro's variable, within which it stands."""


class Template(NamedTuple):
    """A way to write a value of a type."""

    result: Type
    text: str
    """``{0}`` and so on are the parts."""
    parts: tuple[Part, ...]


def read(text: str) -> Type:
    """A type as a tuple: ``map(string, list(T))`` is ``("map", ("string",), ("list", ("T",)))``."""
    name, _, inner = text.partition("(")
    if not inner:
        return (name,)
    parts, depth, start = [], 0, 0
    inner = inner[:-1]
    for index, char in enumerate(inner):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append(inner[start:index].strip())
            start = index + 1
    parts.append(inner[start:].strip())
    return (name, *map(read, parts))


_WRITTEN: Final = """
bool: !{0} | bool
bool: {0} && {1} | bool; bool
bool: {0} || {1} | bool; bool
bool: {0} && {1} && {2} || {3} | bool; bool; bool; bool
T: ({0} ? {1} : {2}) | bool; T; T
bool: {0} == {1} | T; T
bool: {0} != {1} | T; T
bool: {0} < {1} | int; int
bool: {0} <= {1} | double; double
bool: {0} > {1} | string; string
bool: {0} >= {1} | timestamp; timestamp
bool: {0} < {1} | duration; duration
bool: {0} > {1} | int; double
bool: {0} <= {1} | uint; int
bool: {0} < {1} | bytes; bytes
bool: {0} < {1} | bool; bool
bool: {0} in {1} | T; list(T)
bool: {0} in {1} | string; map(string, T)
int: {0} + {1} | int; int
int: {0} - {1} | int; int
int: {0} * {1} | int; int
int: {0} / {1} | int; int
int: {0} % {1} | int; int
int: -{0} | int
double: {0} + {1} | double; double
double: {0} - {1} | double; double
double: {0} * {1} | double; double
double: {0} / {1} | double; double
double: -({0}) | double
uint: {0} + {1} | uint; uint
uint: {0} - {1} | uint; uint
uint: {0} % {1} | uint; uint
string: {0} + {1} | string; string
bytes: {0} + {1} | bytes; bytes
list(T): {0} + {1} | list(T); list(T)
timestamp: {0} + {1} | timestamp; duration
timestamp: {0} - {1} | timestamp; duration
duration: {0} - {1} | timestamp; timestamp
duration: {0} + {1} | duration; duration
T: {0}[{1}] | list(T); int
T: {0}[{1}] | map(string, T); string
optional(T): {0}[?{1}] | list(T); int
optional(T): {0}[?{1}] | map(string, T); string
list(T): [{0}, {1}] | T; T
list(T): [{0}, ?{1}] | T; optional(T)
map(string, T): {{{0}: {1}}} | string; T
map(string, T): {{?{0}: {1}}} | string; optional(T)
int: size({0}) | string
int: {0}.size() | list(T)
int: {0}.size() | map(string, T)
int: size({0}) | bytes
int: int({0}) | double
int: int({0}) | string
int: int({0}) | timestamp
int: int({0}) | uint
uint: uint({0}) | int
double: double({0}) | int
double: double({0}) | string
string: string({0}) | int
string: string({0}) | double
string: string({0}) | bool
string: string({0}) | timestamp
string: string({0}) | duration
string: string({0}) | bytes
bytes: bytes({0}) | string
bool: bool({0}) | string
timestamp: timestamp({0}) | string
timestamp: timestamp({0}) | int
duration: duration({0}) | string
bool: type({0}) == type({1}) | T; U
dyn: dyn({0}) | T
T: dyn({0}) | T
T: dyn({0}) | U
T: [{0}, dyn({1})][0] | T; U
T: {{'a': dyn({0}), 'b': dyn({1})}}.a | T; U
T: dyn({{'a': {0}}}).a | T
bool: has(dyn({{'a': {0}}}).a) | T
bool: {0} == {1} | T; U
bool: dyn({0}) in dyn({1}) | T; list(U)
bool: {0} == {1} | dyn; T
int: {0}.getFullYear() | timestamp
int: {0}.getMonth() | timestamp
int: {0}.getDayOfYear('Europe/Berlin') | timestamp
int: {0}.getDayOfMonth() | timestamp
int: {0}.getDayOfWeek('-07:30') | timestamp
int: {0}.getHours() | timestamp
int: {0}.getMilliseconds() | timestamp
int: {0}.getHours() | duration
int: {0}.getSeconds() | duration
bool: {0}.startsWith({1}) | string; string
bool: {0}.endsWith({1}) | string; string
bool: {0}.contains({1}) | string; string
bool: {0}.matches('^[a-z]+([.-][a-z0-9]+)*$') | string
bool: {0}.matches({1}) | string; string
string: {0}.charAt({1}) | string; int
int: {0}.indexOf({1}) | string; string
int: {0}.indexOf({1}, {2}) | string; string; int
int: {0}.lastIndexOf({1}) | string; string
string: {0}.lowerAscii() | string
string: {0}.upperAscii() | string
string: {0}.replace({1}, {2}) | string; string; string
string: {0}.replace({1}, {2}, {3}) | string; string; string; int
list(string): {0}.split({1}) | string; string
list(string): {0}.split({1}, {2}) | string; string; int
string: {0}.substring({1}) | string; int
string: {0}.substring({1}, {2}) | string; int; int
string: {0}.trim() | string
string: {0}.join({1}) | list(string); string
string: {0}.join() | list(string)
string: strings.quote({0}) | string
string: '%s and %d'.format([{0}, {1}]) | string; int
string: '%.2f|%e|%s'.format([{0}, {0}, {1}]) | double; T
string: '%x %X %b %o'.format([{0}, {1}, {0}, {0}]) | int; string
string: {0}.find('[a-z]+') | string
list(string): {0}.findAll('[a-z0-9]+', {1}) | string; int
bool: {0}.all(#, {1}) | list(T); bool#T
bool: {0}.exists(#, {1}) | list(T); bool#T
bool: {0}.exists_one(#, {1}) | list(T); bool#T
list(T): {0}.filter(#, {1}) | list(T); bool#T
list(U): {0}.map(#, {1}) | list(T); U#T
list(U): {0}.map(#, {1}, {2}) | list(T); bool#T; U#T
bool: {0}.all(#, {1}) | map(string, T); bool#string
bool: {0}.exists(#, {1}) | map(string, T); bool#string
list(U): {0}.map(#, {1}) | map(string, T); U#string
bool: {0}.all(i, #, {1} || i > 1) | list(T); bool#T
bool: {0}.exists(k, #, {1} && k != 'a') | map(string, T); bool#T
bool: {0}.existsOne(i, #, {1}) | list(T); bool#T
list(U): {0}.transformList(i, #, {1}) | list(T); U#T
list(U): {0}.transformList(i, #, i < 2, {1}) | list(T); U#T
map(string, U): {0}.transformMap(k, #, {1}) | map(string, T); U#T
map(string, U): {0}.transformMapEntry(i, #, {{string(i): {1}}}) | list(T); U#T
bool: {0}.isSorted() | list(int)
bool: {0}.isSorted() | list(string)
int: {0}.sum() | list(int)
double: {0}.sum() | list(double)
duration: {0}.sum() | list(duration)
int: {0}.min() | list(int)
string: {0}.max() | list(string)
timestamp: {0}.max() | list(timestamp)
int: {0}.indexOf({1}) | list(T); T
int: {0}.lastIndexOf({1}) | list(T); T
list(T): {0}.slice({1}, {2}) | list(T); int; int
list(T): {0}.flatten() | list(list(T))
list(T): {0}.distinct() | list(T)
list(T): {0}.reverse() | list(T)
list(int): {0}.sort() | list(int)
list(string): {0}.sort() | list(string)
list(T): {0}.sortBy(#, {1}) | list(T); int#T
list(int): lists.range(3)
optional(T): {0}.first() | list(T)
optional(T): {0}.last() | list(T)
bool: sets.contains({0}, {1}) | list(T); list(T)
bool: sets.equivalent({0}, {1}) | list(T); list(T)
bool: sets.intersects({0}, {1}) | list(T); list(T)
optional(T): optional.of({0}) | T
optional(T): optional.ofNonZeroValue({0}) | T
optional(T): {0}.or({1}) | optional(T); optional(T)
T: {0}.orValue({1}) | optional(T); T
T: {0}.value() | optional(T)
bool: {0}.hasValue() | optional(T)
optional(U): {0}.optMap(#, {1}) | optional(T); U#T
optional(U): {0}.optFlatMap(#, {1}) | optional(T); optional(U)#T
bool: isURL({0}) | string
url: url({0}) | string
string: {0}.getHost() | url
string: {0}.getHostname() | url
string: {0}.getPort() | url
string: {0}.getScheme() | url
string: {0}.getEscapedPath() | url
map(string, list(string)): {0}.getQuery() | url
bool: isQuantity({0}) | string
quantity: quantity({0}) | string
quantity: quantity('1500m')
quantity: {0}.add({1}) | quantity; quantity
quantity: {0}.add({1}) | quantity; int
quantity: {0}.sub({1}) | quantity; quantity
bool: {0}.isLessThan({1}) | quantity; quantity
bool: {0}.isGreaterThan({1}) | quantity; quantity
int: {0}.compareTo({1}) | quantity; quantity
int: sign({0}) | quantity
bool: {0}.isInteger() | quantity
int: {0}.asInteger() | quantity
double: {0}.asApproximateFloat() | quantity
bool: isIP({0}) | string
ip: ip({0}) | string
ip: ip('10.1.2.3')
int: {0}.family() | ip
bool: {0}.isLoopback() | ip
bool: {0}.isGlobalUnicast() | ip
bool: {0}.isUnspecified() | ip
bool: {0}.isLinkLocalMulticast() | ip
string: string({0}) | ip
bool: ip.isCanonical({0}) | string
bool: isCIDR({0}) | string
cidr: cidr({0}) | string
cidr: cidr('10.0.0.0/8')
bool: {0}.containsIP({1}) | cidr; ip
bool: {0}.containsIP({1}) | cidr; string
bool: {0}.containsCIDR({1}) | cidr; cidr
cidr: {0}.masked() | cidr
int: {0}.prefixLength() | cidr
ip: {0}.ip() | cidr
bool: isSemver({0}) | string
semver: semver({0}) | string
semver: semver('1.2.3')
semver: semver({0}, true) | string
bool: {0}.isLessThan({1}) | semver; semver
int: {0}.major() | semver
int: {0}.compareTo({1}) | semver; semver
bool: !format.dns1123Label().validate({0}).hasValue() | string
bool: format.named('uuid').hasValue()
optional(list(string)): format.dns1123Subdomain().validate({0}) | string
optional(list(string)): format.datetime().validate({0}) | string
bool: format.uri().validate({0}).hasValue() | string
"""


def _part(text: str) -> Part:
    of, _, variable = text.partition("#")
    return Part(read(of), read(variable) if variable else None)


def _template(line: str) -> Template:
    head, bar, parts = line.rpartition(" | ")
    result, _, text = (head if bar else line).partition(": ")
    return Template(read(result), text, tuple(map(_part, parts.split("; "))) if bar else ())


TEMPLATES: Final = tuple(_template(line) for line in _WRITTEN.strip().splitlines())
"""All of them."""
