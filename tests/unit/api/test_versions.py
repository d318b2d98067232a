"""How versions are written; their order has its tests in ``test_definition``."""

from __future__ import annotations

from extapi.api.versions import by_priority, group_version


def test_the_core_group_has_no_name() -> None:
    """``apimachinery/pkg/runtime/schema`` GroupVersion.String."""
    assert group_version("apps", "v1") == "apps/v1"
    assert group_version("", "v1") == "v1"


def test_the_first_number_counts_before_the_second() -> None:
    """``apimachinery/pkg/version``: "v2beta1" is greater than "v1beta2"."""
    versions = ["v1alpha2", "v2alpha1", "v1beta2", "v2beta1", "v10beta1"]
    assert by_priority(versions) == ["v10beta1", "v2beta1", "v1beta2", "v2alpha1", "v1alpha2"]


def test_numbers_that_go_cannot_hold_make_a_version_like_any_other() -> None:
    """``apimachinery/pkg/version``: what ``Atoi`` refuses is compared as text, behind all that it takes."""
    huge, beta, text = f"v{'9' * 5000}", f"v1beta{'9' * 5000}", "v01"
    assert by_priority([text, huge, beta, "foo", "v1alpha1", "v1beta2", "v1", "v2", "v1beta"]) == [
        "v2",
        "v1",
        "v1beta2",
        "v1alpha1",
        *sorted([text, huge, beta, "foo", "v1beta"]),
    ]
