"""Leases, by which several processes agree on a leader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from extapi import Column, Description, FieldError, Object, Strategy, Struct
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import AGE, Int32, Text, Time, kind_of


class LeaseSpec(Struct):
    """The holder of a lease, and its duration."""

    holder_identity: Annotated[Text, Description("The holder.")] = None
    lease_duration_seconds: Annotated[Int32 | None, Description("Seconds after renewTime for which others wait.")] = (
        None
    )
    acquire_time: Annotated[Time, Description("When the holder took it.")] = None
    renew_time: Annotated[Time, Description("When the holder renewed it last.")] = None
    lease_transitions: Annotated[Int32 | None, Description("How often the holder changed.")] = None
    strategy: Annotated[Text, Description("How a coordinated election chooses the holder.")] = None
    preferred_holder: Annotated[Text, Description("The preferred next holder.")] = None


class Lease(Object):
    """Held by one process at a time."""

    spec: LeaseSpec = LeaseSpec()


class LeaseStrategy(Strategy):
    """Numbers are not negative. Source: ``kubernetes/pkg/apis/coordination/validation`` ValidateLeaseSpec."""

    def prepare(self, obj: Lease, old: Lease | None) -> None:
        """Drop the fields of coordinated elections, which are disabled, as in kube-apiserver by default."""
        del old
        obj.spec.strategy = obj.spec.preferred_holder = None

    def validate(self, obj: Lease, old: Lease | None) -> Iterable[FieldError]:
        """Check durations and counts."""
        del old
        spec = obj.spec
        if spec.lease_duration_seconds is not None and spec.lease_duration_seconds <= 0:
            path = "spec.leaseDurationSeconds"
            yield FieldError.invalid(path, spec.lease_duration_seconds, "must be greater than 0")
        if spec.lease_transitions is not None and spec.lease_transitions < 0:
            path = "spec.leaseTransitions"
            yield FieldError.invalid(path, spec.lease_transitions, "must be greater than or equal to 0")


LEASE = kind_of(
    Lease,
    status=False,
    columns=[Column("Holder", cell=lambda obj: obj.get("spec", {}).get("holderIdentity", "")), AGE],
    strategy=LeaseStrategy(),
    behaviour=built_in(MESSAGES, unconditional_update=False, qualified_finalizers=False, zero={"spec": {}}),
)
