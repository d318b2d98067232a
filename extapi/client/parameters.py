"""Parameters and options of requests, as the dynamic client sends them.

Pure. Knows nothing of requests or objects.
"""

from __future__ import annotations

from typing import Any, Literal

Propagation = Literal["", "Background", "Foreground", "Orphan"]


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """The query parameters of selectors; empty ones are left out."""
    given = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in given.items() if value}


def dry_run_query(wanted: bool) -> dict[str, str]:
    """The query parameter of a dry run."""
    return {"dryRun": "All"} if wanted else {}


def delete_options(uid: str, resource_version: str, propagation: Propagation) -> dict[str, Any] | None:
    """DeleteOptions with these preconditions and policy; None without any."""
    given = {"uid": uid, "resourceVersion": resource_version}
    preconditions = {name: value for name, value in given.items() if value}
    options: dict[str, Any] = {}
    if preconditions:
        options["preconditions"] = preconditions
    if propagation:
        options["propagationPolicy"] = propagation
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
