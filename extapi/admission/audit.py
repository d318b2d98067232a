"""Audit annotations: what admission plugins note about a write, kept per request for the log and for an audit.

Pure functions on a dict; must not know requests.

Source: ``k8s.io/apiserver/pkg/admission`` AddAnnotation, ``k8s.io/apiserver/pkg/audit`` AddAuditAnnotation.
"""

from __future__ import annotations

from typing import Final

from twisted.logger import Logger

from extapi.api.names import qualified_name

MOST: Final = 64
"""Annotations per request; more are dropped."""
LONGEST: Final = 10 * 1024
"""Characters of a value, as in ``ValidatingAdmissionPolicy.spec.auditAnnotations``; the rest is cut off."""

_log = Logger()


def add_audit_annotation(annotations: dict[str, str], key: str, value: str) -> None:
    """Add an annotation, unless its key is wrong or has another value already: the first one stays, and a warning is logged.

    Args:
        annotations: Those of the request so far.
        key: A DNS subdomain, a slash and a name, such as ``lots.parking.example.com/state``.
        value: Any text.
    """
    value = str(value)[:LONGEST]
    problems = qualified_name(key) if key.count("/") == 1 else ["it must be a DNS subdomain prefix, a '/' and a name"]
    if problems:
        _log.warn("audit annotation {key} is dropped: {why}", key=repr(key[:LONGEST]), why=", ".join(problems))
    elif annotations.setdefault(key, value) != value:
        _log.warn("audit annotation {key} is dropped: it already has another value", key=key)
    elif len(annotations) > MOST:
        del annotations[key]
        _log.warn("audit annotation {key} is dropped: there are {most} already", key=key, most=MOST)
