"""Audit annotations: which are kept."""

from __future__ import annotations

import pytest
from twisted.logger import capturedLogs, formatEvent

from extapi.admission.audit import LONGEST, MOST, add_audit_annotation


def test_the_first_writer_of_a_key_wins() -> None:
    """``addAuditAnnotationLocked``: the same value again is no news, another one is dropped with a warning."""
    kept: dict[str, str] = {}
    with capturedLogs() as logs:
        add_audit_annotation(kept, "lots.example.com/state", "open")
        add_audit_annotation(kept, "lots.example.com/state", "open")
    assert logs == []
    with capturedLogs() as logs:
        add_audit_annotation(kept, "lots.example.com/state", "closed")
    assert kept == {"lots.example.com/state": "open"}
    (event,) = logs
    assert formatEvent(event) == "audit annotation lots.example.com/state is dropped: it already has another value"
    assert event["log_level"].name == "warn"


@pytest.mark.parametrize("key", ["state", "/state", "a/b/c", "Lots/state", "lots/", "lots/sp ace", "lots/" + "x" * 64])
def test_keys_are_qualified_names_with_a_prefix(key: str) -> None:
    """``checkKeyFormat`` of k8s.io/apiserver/pkg/admission/attributes.go."""
    kept: dict[str, str] = {}
    with capturedLogs() as logs:
        add_audit_annotation(kept, key, "open")
    assert kept == {}
    assert len(logs) == 1


def test_annotations_are_bounded() -> None:
    kept: dict[str, str] = {}
    with capturedLogs() as logs:
        for number in range(MOST + 1):
            add_audit_annotation(kept, f"lots.example.com/{number}", "x" * (LONGEST + 1))
    assert len(kept) == MOST
    assert {len(value) for value in kept.values()} == {LONGEST}
    assert len(logs) == 1
