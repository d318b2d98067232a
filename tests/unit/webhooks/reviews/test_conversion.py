"""ConversionReviews: the members of ``apiextensions.k8s.io`` (apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extapi.webhooks.reviews.conversion import converted, failed, read_conversion
from extapi.webhooks.reviews.reading import BadReview

REQUEST: dict[str, Any] = {"uid": "u-1", "desiredAPIVersion": "g/v2", "objects": [{"a": 1}, 7]}


def review(version: str = "v1", **members: Any) -> bytes:
    envelope = {"kind": "ConversionReview", "apiVersion": f"apiextensions.k8s.io/{version}", "request": REQUEST}
    return json.dumps({**envelope, **members}).encode()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_both_versions_are_answered_in_their_own(version: str) -> None:
    request = read_conversion(review(version))
    assert (request.uid, request.api_version) == ("u-1", "g/v2")
    assert [json.loads(bytes(each)) for each in request.objects] == [{"a": 1}, 7]
    good = json.loads(converted(request, [b'{"b":1}', b'{"b":2}']))
    assert good == {
        "kind": "ConversionReview",
        "apiVersion": f"apiextensions.k8s.io/{version}",
        "response": {"uid": "u-1", "convertedObjects": [{"b": 1}, {"b": 2}], "result": {"status": "Success"}},
    }
    bad = json.loads(failed(request, 'no "x"\u2028'))
    assert bad["response"] == {
        "uid": "u-1",
        "convertedObjects": [],
        "result": {"status": "Failure", "message": 'no "x"\u2028'},
    }


def test_a_review_may_have_no_objects() -> None:
    nothing: list[list[Any] | None] = [[], None]
    for objects in nothing:
        assert read_conversion(review(request={**REQUEST, "objects": objects})).objects in ([], ())


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"request": None}, "the ConversionReview has no request"),
        ({"request": {"uid": "u"}}, "the ConversionReview has no request.desiredAPIVersion"),
        ({"kind": "AdmissionReview"}, "expected ConversionReview of"),
        ({"apiVersion": "apiextensions.k8s.io/v2"}, "expected ConversionReview of"),
        ({"request": {**REQUEST, "objects": {}}}, "Expected `array | null`, got `object` - at `$.request.objects`"),
        ({"request": {**REQUEST, "uid": 1}}, "Expected `str`, got `int` - at `$.request.uid`"),
    ],
)
def test_what_is_no_review(members: dict[str, Any], text: str) -> None:
    with pytest.raises(BadReview) as raised:
        read_conversion(review(**members))
    assert text in str(raised.value)
