"""A replacement for Kubernetes' sample-apiserver: the group wardle.example.com. Imports only promised names.

In the parent directory, ``extapi serve wardle:api`` serves it; ``python -m wardle`` does the same with the command line of
sample-apiserver, which has no subcommand.

Source: ``k8s.io/sample-apiserver``.
"""

from __future__ import annotations

from extapi import CLUSTER, Api, Column, Group, Kind, Version

from . import conversion, internal, v1alpha1, v1beta1
from .admission import GROUP, BanFlunder
from .strategy import FischerStrategy, FlunderStrategy

# sample-apiserver's warning, verbatim.
DEPRECATED = f"{GROUP}/v1alpha1 {{}} is deprecated in v1.3+, unavailable in v1.10+"

# Not of type date, which kubectl prints as an age: sample-apiserver prints the time itself.
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
