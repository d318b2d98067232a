"""``size``, ``type``, and the functions that are called as a type: ``int``, ``string``, ``timestamp``.

Source: ``github.com/google/cel-go/common/stdlib``.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.library.standard_costs import estimate_to_bytes, estimate_to_string, first_tenth
from extapi.schema.cel.values import conversions as to
from extapi.schema.cel.values.values import of_type

SIZES: Final[tuple[Overload, ...]] = (
    overload("size_bytes", "size(bytes) -> int", len),
    overload("bytes_size", ".size(bytes) -> int", len),
    overload("size_list", "size(list(A)) -> int", len),
    overload("list_size", ".size(list(A)) -> int", len),
    overload("size_map", "size(map(A, B)) -> int", len),
    overload("map_size", ".size(map(A, B)) -> int", len),
    overload("size_string", "size(string) -> int", len),
    overload("string_size", ".size(string) -> int", len),
)
"""How many elements a value has."""

CONVERSIONS: Final[tuple[Overload, ...]] = (
    overload("type", "type(A) -> type(A)", of_type),
    overload("bool_to_bool", "bool(bool) -> bool", to.identity),
    overload("string_to_bool", "bool(string) -> bool", to.string_to_bool),
    overload("bytes_to_bytes", "bytes(bytes) -> bytes", to.identity),
    overload(
        "string_to_bytes",
        "bytes(string) -> bytes",
        to.string_to_bytes,
        cost=first_tenth,
        estimate=estimate_to_bytes,
    ),
    overload("double_to_double", "double(double) -> double", to.identity),
    overload("int64_to_double", "double(int) -> double", to.int_to_double),
    overload("string_to_double", "double(string) -> double", to.string_to_double),
    overload("uint64_to_double", "double(uint) -> double", to.int_to_double),
    overload("duration_to_duration", "duration(duration) -> duration", to.identity),
    overload("int64_to_duration", "duration(int) -> duration", to.int_to_duration),
    overload("string_to_duration", "duration(string) -> duration", to.string_to_duration),
    overload("to_dyn", "dyn(A) -> dyn", to.identity),
    overload("int64_to_int64", "int(int) -> int", to.identity),
    overload("double_to_int64", "int(double) -> int", to.double_to_int),
    overload("duration_to_int64", "int(duration) -> int", to.duration_to_int),
    overload("string_to_int64", "int(string) -> int", to.string_to_int),
    overload("timestamp_to_int64", "int(timestamp) -> int", to.timestamp_to_int),
    overload("uint64_to_int64", "int(uint) -> int", to.uint_to_int),
    overload("string_to_string", "string(string) -> string", to.identity),
    overload("bool_to_string", "string(bool) -> string", to.bool_to_string),
    overload(
        "bytes_to_string",
        "string(bytes) -> string",
        to.bytes_to_string,
        cost=first_tenth,
        estimate=estimate_to_string,
    ),
    overload("double_to_string", "string(double) -> string", to.double_to_string),
    overload("duration_to_string", "string(duration) -> string", to.duration_to_string),
    overload("int64_to_string", "string(int) -> string", to.int_to_string),
    overload("timestamp_to_string", "string(timestamp) -> string", to.timestamp_to_string),
    overload("uint64_to_string", "string(uint) -> string", to.int_to_string),
    overload("timestamp_to_timestamp", "timestamp(timestamp) -> timestamp", to.identity),
    overload("int64_to_timestamp", "timestamp(int) -> timestamp", to.int_to_timestamp),
    overload("string_to_timestamp", "timestamp(string) -> timestamp", to.string_to_timestamp),
    overload("uint64_to_uint64", "uint(uint) -> uint", to.identity),
    overload("double_to_uint64", "uint(double) -> uint", to.double_to_uint),
    overload("int64_to_uint64", "uint(int) -> uint", to.int_to_uint),
    overload("string_to_uint64", "uint(string) -> uint", to.string_to_uint),
)
"""From one type to another."""
