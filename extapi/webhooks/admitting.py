"""What mutating and validating reviews have in common: objects taken out of a review, and refusals put into an answer.

One kind per :class:`AdmittedKind`. Must not know HTTP. The objects, the chain of plugins and the strategy are used exactly as
:mod:`extapi.registry.writing` uses them when extapi itself writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from twisted.internet.defer import CancelledError

from extapi.admission.audit import add_audit_annotation
from extapi.admission.base import Operation
from extapi.admission.chain import AdmissionChain
from extapi.api.types import Obj
from extapi.codec.scale import API_VERSION as SCALE_API_VERSION, VERSION as SCALE_VERSION, coerce_scale
from extapi.errors import ApiError, BadRequest, Forbidden, InternalError, go_quote
from extapi.registry.base import Admission, RequestScope
from extapi.registry.reviewed import RequestPath
from extapi.registry.ruling import RuleRunner
from extapi.registry.scale import scale_kind
from extapi.registry.served import ServedKind
from extapi.registry.virtual import PathWrite
from extapi.registry.writing import Write
from extapi.webhooks.reporting import report
from extapi.webhooks.reviews.admission import AdmissionRequest, AdmissionVerdict
from extapi.webhooks.reviews.reading import read_object, shortened

STATUS, SCALE = "status", "scale"
LONGEST_KEY: Final = 63
"""Characters of an audit annotation's name, which is what comes after the webhook's."""


class Objects(NamedTuple):
    """What a review holds: the objects as kube-apiserver sent them."""

    new: Obj | None
    old: Obj | None


class AdmittedKind:
    """A kind, and how its reviews are read.

    Args:
        kind: The kind.
        chain: Gives the plugins that are asked.
        rules: Runs rules, for the errors of an object that breaks its schema.
    """

    def __init__(self, kind: ServedKind, chain: Callable[[], AdmissionChain], rules: RuleRunner) -> None:
        self.kind = kind
        self.scale = scale_kind(kind.kind)
        self.chain = chain
        self.rules = rules


class ReviewedWrite:
    """One review of one write: the objects, checked to be of the kind, and the write that author's code is asked about.

    Raises:
        BadRequest: The review does not fit the kind.
    """

    def __init__(self, admitted: AdmittedKind, request: AdmissionRequest) -> None:
        self.request = request
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}
        self.chain = admitted.chain()
        self.operation = Operation(request.operation)
        declared = admitted.kind
        self.subresource = request.subresource
        _check_type(declared, request)
        self.kind = admitted.scale if self.subresource == SCALE else declared
        self.version = SCALE_VERSION if self.subresource == SCALE else request.kind.version
        self.has_status = self.subresource != SCALE and declared.versions[self.version].status
        self.objects = Objects(self._object(request.object, "object"), self._object(request.old_object, "oldObject"))
        self._check_objects()
        admit = Admission(
            chain=self.chain,
            user=request.user,
            dry_run=request.dry_run,
            options=request.options,
            warn=self.warnings.append,
            subresource=self.subresource,
            annotate=partial(add_audit_annotation, self.annotations),
            rules=admitted.rules,
        )
        scope = RequestScope(self.version, request.namespace, request.user)
        self.write = (
            PathWrite(self.kind, scope, admit, RequestPath(declared, declared.kind.storage, request.name))
            if self.subresource == SCALE
            else Write(self.kind, scope, admit)
        )

    def completed(self, obj: Obj) -> Obj:
        """``obj``, pruned and defaulted in place, as what an author's code may see.

        Raises:
            BadRequest: Its metadata has a wrong type.
        """
        if self.subresource == SCALE:
            coerce_scale(obj)
        else:
            self.kind.coerce_and_default(obj, self.version)
        return obj

    def name_of(self, old: Obj) -> str:
        """The name of an object that is deleted; a review of one in a collection has none."""
        return self.request.name or str(old.get("metadata", {}).get("name", ""))

    def verdict(self, *, refusal: Mapping[str, Any] | None = None, patch: bytes = b"") -> AdmissionVerdict:
        """The verdict, with what was noted on the way."""
        return AdmissionVerdict(
            refusal=refusal,
            patch=patch,
            warnings=list(dict.fromkeys(self.warnings)),
            audit_annotations=webhook_annotations(self.annotations),
        )

    def _object(self, data: bytes, member: str) -> Obj | None:
        if data == b"null":
            return None
        try:
            obj = read_object(data)
        except ValueError as error:
            raise BadRequest(f"request.{member}: {shortened(str(error))}") from None
        wanted = SCALE_API_VERSION if self.subresource == SCALE else self.kind.versions[self.version].api_version
        if obj.get("kind") != self.kind.kind.name or obj.get("apiVersion") != wanted:
            raise BadRequest(
                f"request.{member} is not the {self.kind.kind.name} of {wanted} that request.kind announces"
            )
        if not isinstance(obj.get("metadata", {}), dict):
            raise BadRequest(f"request.{member}.metadata is no object")
        return obj

    def _check_objects(self) -> None:
        new, old = self.objects
        if new is None and self.operation in (Operation.CREATE, Operation.UPDATE):
            raise BadRequest(f"request.object is missing in a review of {self.operation}")
        if old is None and self.operation is Operation.UPDATE:
            raise BadRequest("request.oldObject is missing in a review of UPDATE")


def _check_type(kind: ServedKind, request: AdmissionRequest) -> None:
    """Check that a review is about this kind.

    Raises:
        BadRequest: It is about something else.
    """
    found, sub = request.kind, request.subresource
    if request.operation == Operation.CONNECT:
        raise BadRequest("custom resources have no CONNECT")
    if sub == SCALE:
        known = (
            any(version.scale is not None for version in kind.versions.values())
            and request.resource == kind.kind.plural
        )
    else:
        of_kind = (found.group, found.kind) == (kind.group, kind.kind.name) and found.version in kind.versions
        known = of_kind and (not sub or (sub == STATUS and kind.versions[found.version].status))
    if not known:
        what = f"{found.group}/{found.version}, Kind={found.kind}" + (f", subresource {sub}" if sub else "")
        versions = ", ".join(kind.versions)
        raise BadRequest(
            f"this path is for {kind.kind.name} of {kind.group} in {versions}, got {go_quote(shortened(what))}; "
            "correct the rules or the path of the webhook configuration"
        )


async def verdict_on(
    kind: AdmittedKind, request: AdmissionRequest, ask: Callable[[ReviewedWrite], Awaitable[AdmissionVerdict]]
) -> AdmissionVerdict:
    """The verdict of ``ask`` on one write. Whatever an author's code raises refuses it."""
    asked = None
    try:
        asked = ReviewedWrite(kind, request)
        return await ask(asked)
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything
        refusal = refusal_of(error)
        return AdmissionVerdict(refusal=refusal) if asked is None else asked.verdict(refusal=refusal)


def refusal_of(error: Exception) -> Mapping[str, Any]:
    """The Status that a refused write, or one about which an author's code failed, is answered with.

    kube-apiserver puts ``admission webhook "NAME" denied the request:`` in front of the message. So the beginning that a
    refusal by ``review.refuse`` has, with resource and name, is left out.
    """
    if not isinstance(error, ApiError):
        report("the code that reviews a write failed", error)
        return InternalError.because("the code that reviews the write failed").status()
    cause = error.__cause__
    if error.code >= 500 and cause is not None:  # what a client causes needs no traceback
        report(error.message, cause)
    status = error.status()
    if isinstance(error, Forbidden):
        beginning = Forbidden.on(error.kind, error.group, error.name, "").message
        status["message"] = error.message.removeprefix(beginning) or error.message
    return status


def webhook_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Audit annotations without the prefix of the plugin: kube-apiserver wants keys without one, and adds the webhook's name.

    ``plugin/key`` becomes ``plugin.key``, or if that is too long ``key``; of two that are then alike the first one stays.
    """
    made: dict[str, str] = {}
    for full, value in annotations.items():
        plugin, _, key = full.partition("/")
        name = f"{plugin}.{key}"
        made.setdefault(name if len(name) <= LONGEST_KEY else key, value)
    return made
