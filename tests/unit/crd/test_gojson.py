"""JSON as Go's types read it. Texts are those of ``encoding/json`` and ``sigs.k8s.io/json``."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.crd.gojson import GoTypeError, GoTypes

TYPES = GoTypes(
    """
Color = string
Names = []string

Root: name! string; color Color; size int32; big? int64; share? float64; on bool; always! bool; data bytes; when Time;
    any? JSON; part? Part; whole! Part; parts []Part; more map[Part]; names Names; words []string; free []JSON
Part: text! string; note string; under? Part  # refers to itself
"""
)


def read(**value: Any) -> dict[str, Any]:
    made, unknown = TYPES.read("Root", value)
    assert unknown == []
    return made


def test_zeros_are_written_where_go_writes_them() -> None:
    assert read() == {"name": "", "always": False, "whole": {"text": ""}}
    assert read(color="", size=0, on=False, words=[], more={}, data="") == read()
    assert read(big=0, share=0, part={}, any=False) == {
        **read(),
        "big": 0,
        "share": 0,
        "part": {"text": ""},
        "any": False,
    }
    assert read(name=None, color=None, big=None, part=None, any=None, whole=None, words=None) == read()
    assert read(parts=[None], words=[None], free=[None], more={"a": None}) == {
        **read(),
        "parts": [{"text": ""}],
        "words": [""],
        "free": [None],
        "more": {"a": {"text": ""}},
    }


def test_values_are_written_as_go_writes_them() -> None:
    assert read(share=2.0)["share"] == 2
    assert isinstance(read(share=2.0)["share"], int)
    assert read(share=1.5)["share"] == 1.5
    assert read(data="YQ\n==")["data"] == "YQ=="
    assert read(when="2024-01-01T01:00:00+01:00")["when"] == "2024-01-01T00:00:00Z"
    assert read(part={"under": {"under": {"text": "x"}}})["part"] == {
        "text": "",
        "under": {"text": "", "under": {"text": "x"}},
    }


def test_unknown_fields_are_dropped_and_told() -> None:
    value = {"x": 1, "parts": [{}, {"y": 1}], "more": {"a": {"z": {}}}, "part": {"under": {"w": 1}}, "any": {"ok": 1}}
    made, unknown = TYPES.read("Root", value)
    assert unknown == ["x", "parts[1].y", "more.a.z", "part.under.w"]
    assert made["any"] == {"ok": 1}
    assert "x" not in made
    _, many = TYPES.read("Root", {f"x{number}": 1 for number in range(1000)})
    assert len(many) == 100


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"name": 1}, "json: cannot unmarshal number into Go struct field Root.name of type string"),
        ({"color": True}, "json: cannot unmarshal bool into Go struct field Root.color of type v1.Color"),
        ({"on": "true"}, "json: cannot unmarshal string into Go struct field Root.on of type bool"),
        ({"size": "1"}, "json: cannot unmarshal string into Go struct field Root.size of type int32"),
        ({"size": 1.5}, "json: cannot unmarshal number 1.5 into Go struct field Root.size of type int32"),
        (
            {"size": 2147483648},
            "json: cannot unmarshal number 2147483648 into Go struct field Root.size of type int32",
        ),
        ({"size": True}, "json: cannot unmarshal bool into Go struct field Root.size of type int32"),
        ({"share": {}}, "json: cannot unmarshal object into Go struct field Root.share of type float64"),
        ({"data": 1}, "json: cannot unmarshal number into Go struct field Root.data of type []uint8"),
        ({"data": "a"}, "illegal base64 data at input byte 0"),
        ({"part": []}, "json: cannot unmarshal array into Go struct field Root.part of type v1.Part"),
        ({"parts": {}}, "json: cannot unmarshal object into Go struct field Root.parts of type []v1.Part"),
        ({"words": ""}, "json: cannot unmarshal string into Go struct field Root.words of type []string"),
        ({"names": ""}, "json: cannot unmarshal string into Go struct field Root.names of type v1.Names"),
        ({"more": []}, "json: cannot unmarshal array into Go struct field Root.more of type map[string]v1.Part"),
        (
            {"more": {"a": {"text": 1}}},
            "json: cannot unmarshal number into Go struct field Part.more.text of type string",
        ),
        (
            {"part": {"under": {"note": []}}},
            "json: cannot unmarshal array into Go struct field Part.part.under.note of type string",
        ),
        ({"when": 1}, "json: cannot unmarshal number into Go value of type string"),
        (
            {"when": "soon"},
            'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
        ),
    ],
)
def test_values_of_a_wrong_type_are_refused(value: dict[str, Any], text: str) -> None:
    with pytest.raises(GoTypeError) as refused:
        TYPES.read("Root", value)
    assert str(refused.value) == text


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(GoTypeError, match=r"cannot unmarshal array into Go value of type v1\.Root"):
        TYPES.read("Root", [])
    assert TYPES.read("Root", None) == (read(), [])


@pytest.mark.parametrize("table", ["A: x", "A: x B", "A: x! []B"])
def test_a_table_that_cannot_be_read_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match=r"no (field of a )?Go type"):
        GoTypes(table)
