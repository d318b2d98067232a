from __future__ import annotations

import pytest

from extapi.codec import plainjson, strictyaml
from extapi.codec.yamlnodes import MAX_NODES


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, -2, true, null, "y", "1.0", "<<"], "b": {"c\\u00e9\\/": {}}}',
        '{"a": [1.0, 1e3, -0.0]}',
        ' \n{"a": 9223372036854775807, "on": "off", "1": "0x1"}\n',
    ],
)
def test_json_has_the_value_that_it_has_as_yaml(text: str) -> None:
    found = plainjson.decode(text.encode())
    assert found == strictyaml.decode(text.encode())


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": [{"b": 1.5}]}',
        b'{"a": 9223372036854775808}',  # a float
        b'{"a": 1, "a": 2}',  # told with its line
        b"{a: b}",
        b'{"a": 1} # JSON has no comments',
        b'{"a": "\xff"}',
        b"[]",
        b"a: 1",
        b"",
        b'{"a":' * 300 + b"1" + b"}" * 300,
    ],
)
def test_what_the_yaml_reader_has_to_judge_is_left_to_it(data: bytes) -> None:
    assert plainjson.decode(data) is None


def test_a_document_has_no_more_nodes_than_one_in_yaml() -> None:
    assert plainjson.decode(b'{"a": [' + b"[]," * MAX_NODES + b"1]}") is None
