"""Kubernetes' sample-apiserver, drop-in: the group wardle.example.com in Python. Imports only the promise.

``extapi serve wardle:api`` serves it from the folder above this one; ``python -m wardle`` does so with the flags, and
without the subcommand, that sample-apiserver is started with. Source of what it does: ``k8s.io/sample-apiserver``.
"""

from __future__ import annotations

from extapi import CLUSTER, Api, Column, Group, Kind, Version

from . import conversion, internal, v1alpha1, v1beta1
from .admission import GROUP, BanFlunder
from .strategy import FischerStrategy, FlunderStrategy

# The warning of sample-apiserver, word for word.
DEPRECATED = f"{GROUP}/v1alpha1 {{}} is deprecated in v1.3+, unavailable in v1.10+"

# A date is printed as an age; sample-apiserver prints the time itself.
CREATED_AT = Column("Created At", ".metadata.creationTimestamp", description="When the object was created.")

api = Api(
    Group(
        GROUP,
        Kind(
            "Flunder",
            storage="v1alpha1",
            hub=internal.Flunder,
            versions={
                "v1beta1": Version(v1beta1.Flunder, to_hub=conversion.from_v1beta1, from_hub=conversion.to_v1beta1),
                "v1alpha1": Version(
                    v1alpha1.Flunder,
                    to_hub=conversion.from_v1alpha1,
                    from_hub=conversion.to_v1alpha1,
                    deprecated=DEPRECATED.format("Flunder"),
                ),
            },
            columns=[CREATED_AT],
            status=False,
            strategy=FlunderStrategy(),
        ),
        Kind(
            "Fischer",
            scope=CLUSTER,
            storage="v1alpha1",
            versions={"v1alpha1": Version(v1alpha1.Fischer, deprecated=DEPRECATED.format("Fischer"))},
            columns=[CREATED_AT],
            status=False,
            strategy=FischerStrategy(),
        ),
        preferred="v1beta1",
    ),
    admission=[BanFlunder()],
)
