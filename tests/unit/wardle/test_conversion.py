"""Between the two versions nothing is lost of a flunder that is valid."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from examples.wardle import api, conversion, v1alpha1
from extapi.conversion.hub import HubConverter
from extapi.registry.served import ServedKind
from tests.unit.wardle.nursery import GROUP

(FLUNDER,) = [kind for kind in api.groups[0].kinds if kind.name == "Flunder"]
CONVERTER = HubConverter(FLUNDER, GROUP)
SERVED = ServedKind(FLUNDER, GROUP)

metadata = st.fixed_dictionaries(
    {"name": st.just("a")}, optional={"labels": st.dictionaries(st.text(), st.text(), max_size=2)}
)
references = st.text(min_size=1)
types = st.sampled_from(["Flunder", "Fischer"])


def flunder(version: str, spec: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Flunder", "metadata": meta, "spec": spec, "status": {}}


def converted(obj: dict[str, Any], there: str, back: str) -> dict[str, Any]:
    """To the other version and back, each time with the defaults filled in."""
    other = CONVERTER.convert(obj, back, there)
    SERVED.prune_and_default(other, there)
    again = CONVERTER.convert(other, there, back)
    SERVED.prune_and_default(again, back)
    return again


@given(references, types, metadata)
def test_v1alpha1_through_v1beta1_and_back(reference: str, kind: str, meta: dict[str, Any]) -> None:
    obj = flunder("v1alpha1", {"reference": reference, "referenceType": kind}, meta)
    assert CONVERTER.convert(obj, "v1alpha1", "v1beta1")["spec"] == {
        f"{kind.lower()}Reference": reference,
        "referenceType": kind,
    }
    assert converted(obj, "v1beta1", "v1alpha1") == obj


@given(references, types, metadata)
def test_v1beta1_through_v1alpha1_and_back(reference: str, kind: str, meta: dict[str, Any]) -> None:
    obj = flunder("v1beta1", {f"{kind.lower()}Reference": reference, "referenceType": kind}, meta)
    assert CONVERTER.convert(obj, "v1beta1", "v1alpha1")["spec"] == {"reference": reference, "referenceType": kind}
    assert converted(obj, "v1alpha1", "v1beta1") == obj


@given(references)
def test_a_reference_of_no_known_type_is_kept_until_it_is_refused(reference: str) -> None:
    flunder = v1alpha1.Flunder(spec=v1alpha1.FlunderSpec(reference=reference, reference_type="Foo"))
    assert conversion.to_v1alpha1(conversion.from_v1alpha1(flunder)).spec == flunder.spec


@given(metadata)
def test_what_refers_to_nothing_is_the_same_in_both(meta: dict[str, Any]) -> None:
    for version, other in (("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1")):
        obj = flunder(version, {}, meta)
        assert converted(obj, other, version) == obj
