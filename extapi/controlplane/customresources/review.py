"""What the conditions of a definition have to say of its content. Functions of objects.

There is no NonStructuralSchema: only definitions that were created as v1beta1 could have such schemas.

Source: ``apiextensions-apiserver/pkg/controller`` apiapproval and establish.
"""

from __future__ import annotations

import base64
import re
from typing import Final

from cryptography import x509

from extapi.api.types import Obj
from extapi.crd.conditions import APPROVED, ESTABLISHED, DefinitionCondition
from extapi.errors import go_quote

ANNOTATION: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_ABOUT: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]\S*")

ESTABLISHED_NOW = DefinitionCondition(
    ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted"
)
INVALID_CA_BUNDLE = DefinitionCondition(
    ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid"
)


def approval_condition(definition: Obj) -> DefinitionCondition | None:
    """Whether a kind in a group of Kubernetes has been approved; None if its group is no such group."""
    if not _PROTECTED.fullmatch(definition["spec"].get("group", "")):
        return None
    value = (definition["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    required = f"protected groups must have approval annotation {go_quote(ANNOTATION)}"
    if not value:
        return DefinitionCondition(APPROVED, "False", "MissingAnnotation", f"{required}, {_ABOUT}")
    if value.startswith("unapproved"):
        return DefinitionCondition(APPROVED, "False", "UnapprovedAnnotation", f"not approved: {go_quote(value)}")
    if _URL.fullmatch(value):
        return DefinitionCondition(APPROVED, "True", "ApprovedAnnotation", f"approved in {value}")
    text = f'{required} with either a URL or a reason starting with "unapproved", {_ABOUT}'
    return DefinitionCondition(APPROVED, "False", "InvalidAnnotation", text)


def established_condition(definition: Obj) -> DefinitionCondition:
    """The condition of a definition that is served from now on; one with authorities that cannot be read is not."""
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    return INVALID_CA_BUNDLE if bundle and not _is_bundle(bundle) else ESTABLISHED_NOW


def _is_bundle(bundle: str) -> bool:
    """Whether this is PEM with at least one certificate, in base64 (``webhook.ValidateCABundle``)."""
    try:
        return bool(x509.load_pem_x509_certificates(base64.b64decode(bundle)))
    except ValueError:
        return False
