"""What a verb is given: the request, the resource it points at, and what writing needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from extapi.admission.chain import AdmissionChain
from extapi.api.types import Obj
from extapi.api.user import ANONYMOUS, User
from extapi.client.clock import Clock
from extapi.codec.deletion import DeleteOptions
from extapi.codec.options import WriteOptions
from extapi.codec.protobuf import Messages
from extapi.listener.call import Call
from extapi.registry.base import Admission, Place, Resource

R_co = TypeVar("R_co", bound=Resource, covariant=True)


@dataclass(frozen=True, slots=True)
class Target(Generic[R_co]):
    """One request on one resource."""

    call: Call
    resource: R_co
    at: Place
    name: str
    chain: AdmissionChain
    clock: Clock

    @property
    def api_version(self) -> str:
        """What is sent and answered has this as its ``apiVersion``."""
        return self.resource.api_version(self.at)

    @property
    def messages(self) -> Messages | None:
        """What reads and writes the resource in protobuf; None: only its metadata is written so."""
        native = self.resource.native
        return None if native is None else native.protobuf

    def admission(self, kind: str, options: WriteOptions | DeleteOptions) -> Admission:
        """Who writes and how, for the plugins; ``kind`` of the options as they see them: CreateOptions and so on."""
        shown: Obj = {"apiVersion": "meta.k8s.io/v1", "kind": kind}
        if options.dry_run:
            shown["dryRun"] = ["All"]
        if isinstance(options, DeleteOptions):
            if options.propagation_policy is not None:
                shown["propagationPolicy"] = options.propagation_policy
        elif options.field_manager:
            shown["fieldManager"] = options.field_manager
        return Admission(
            self.chain,
            self.call.user or User(ANONYMOUS),
            options.dry_run,
            shown,
            self.call.warnings.append,
            self.resource.subresource,
        )
