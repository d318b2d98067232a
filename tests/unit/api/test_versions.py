"""How versions are written; their order has its tests in ``test_definition``."""

from __future__ import annotations

from extapi.api.versions import group_version


def test_the_core_group_has_no_name() -> None:
    """``apimachinery/pkg/runtime/schema`` GroupVersion.String."""
    assert group_version("apps", "v1") == "apps/v1"
    assert group_version("", "v1") == "v1"
