"""Bounds on what a request selects by, and one parse for all who ask."""

from __future__ import annotations

import gc
import weakref

import pytest

from extapi.api.requestselectors import LENGTH, TERMS, Selectors, too_large
from extapi.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("", False),
        ("a=" + "b" * (LENGTH - 2), False),
        ("a=" + "b" * (LENGTH - 1), True),
        (",".join(["a"] * TERMS), False),
        (",".join(["a"] * (TERMS + 1)), True),
        ("a in (" + ",".join(["b"] * (TERMS + 1)) + ")", True),
    ],
)
def test_bounds(text: str, *, refused: bool) -> None:
    assert too_large(text) is refused
    if refused:
        for labels, fields, what in ((text, "", "label"), ("", text, "field")):
            with pytest.raises(BadRequest, match=f"^invalid {what} selector: may not have more than 65536 characters"):
                Selectors(labels, fields)
    else:
        Selectors(text, text)


def test_parsed_when_asked_for_and_once() -> None:
    selectors = Selectors("a=b", "metadata.name=c")
    assert selectors.labels is selectors.labels
    assert selectors.fields is selectors.fields
    assert selectors.labels.matches({"a": "b"})
    assert selectors.fields.exact("metadata.name") == "c"


def test_what_cannot_be_parsed_says_so_each_time() -> None:
    selectors = Selectors("a in (", "b")
    found = []
    for _ in range(2):
        with pytest.raises(BadRequest, match=r"^unable to parse requirement: found ''") as caught:
            _ = selectors.labels
        found.append(caught.value)
        with pytest.raises(BadRequest, match=r"^invalid selector: 'b'"):
            _ = selectors.fields
    assert found[0] is not found[1]


@pytest.mark.parametrize("what", ["labels", "fields"])
def test_what_cannot_be_parsed_keeps_nobody_alive(what: str) -> None:
    """The frames that an error went through hold the request; the request holds its selectors."""

    class Held:
        pass

    selectors = Selectors("a in (", "b")

    def asked() -> weakref.ref[Held]:
        held = Held()
        with pytest.raises(BadRequest):
            getattr(selectors, what)
        return weakref.ref(held)

    reference = asked()
    gc.collect()
    assert reference() is None


def test_equal_texts_are_equal() -> None:
    assert Selectors("a", "b=c") == Selectors("a", "b=c")
    assert hash(Selectors("a", "b=c")) == hash(Selectors("a", "b=c"))
    assert Selectors("a", "") != Selectors("", "a")
    assert Selectors("a") != "a"
