"""The arguments of a verb: the request, its resource, and what a write needs."""

from __future__ import annotations

from functools import partial
from typing import Generic, TypeVar

import msgspec

from extapi.admission.audit import add_audit_annotation
from extapi.admission.chain import AdmissionChain
from extapi.api.behaviour import Serializer
from extapi.api.types import Obj
from extapi.api.user import ANONYMOUS, User
from extapi.clock import Clock
from extapi.codec.deletion import DeleteOptions
from extapi.codec.options import WriteOptions
from extapi.http.request import Request
from extapi.registry.base import Admission, RequestScope, Resource
from extapi.registry.ruling import RuleRunner

R_co = TypeVar("R_co", bound=Resource, covariant=True)


class ResourceRequest(msgspec.Struct, Generic[R_co], frozen=True):
    """One request on one resource."""

    http: Request
    resource: R_co
    scope: RequestScope
    name: str
    chain: AdmissionChain
    clock: Clock
    rules: RuleRunner = RuleRunner()

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of bodies and answers."""
        return self.resource.api_version(self.scope)

    @property
    def protobuf(self) -> Serializer | None:
        """Reads and writes the resource in protobuf; None: only its metadata is written in it."""
        return self.resource.behaviour.protobuf

    def admission(self, kind: str, options: WriteOptions | DeleteOptions) -> Admission:
        """What admission plugins need to know; ``kind``: of the options, such as CreateOptions."""
        shown: Obj = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if options.dry_run:
            shown["dryRun"] = ["All"]
        if isinstance(options, DeleteOptions):
            shown |= _delete_members(options)
        elif options.field_manager:
            shown["fieldManager"] = options.field_manager
        return Admission(
            self.chain,
            self.http.user or User(ANONYMOUS),
            options.dry_run,
            shown,
            self.http.warnings.append,
            self.resource.subresource,
            partial(add_audit_annotation, self.http.audit_annotations),
            self.rules,
            partial(_expired, self.clock, self.http),  # no method: an old catalogue is let go once no request holds it
            self.http.deadline,
        )


def _delete_members(options: DeleteOptions) -> Obj:
    """What DeleteOptions say besides the dry run."""
    preconditions = {"uid": options.precondition_uid, "resourceVersion": options.precondition_resource_version}
    members = {
        "gracePeriodSeconds": options.grace_period_seconds,
        "preconditions": {name: value for name, value in preconditions.items() if value is not None} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.propagation_policy,
    }
    return {name: value for name, value in members.items() if value is not None}


def _expired(clock: Clock, request: Request) -> bool:
    """Whether the time of a request is up."""
    return clock.seconds() >= request.deadline
