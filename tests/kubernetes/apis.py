"""APIs of the tests' own, for ``extapi serve tests.kubernetes.apis:NAME``."""

from __future__ import annotations

from extapi import Api, Column, Group, Kind, Scale, Version
from tests.differential.twin import PROBE
from tests.kubernetes.twin_schema import COLUMNS, KIND, OURS, SCHEMA, VERSION

gadgets = Api(
    Group(
        OURS,
        Kind(
            KIND,
            short_names=["gd"],
            categories=["things"],
            storage=VERSION,
            versions={VERSION: Version(SCHEMA)},
            scale=Scale(spec_replicas_path=".spec.size", status_replicas_path=".status.size"),
            columns=[
                Column(
                    column["name"],
                    column["jsonPath"],
                    column["type"],
                    description=column.get("description", ""),
                    priority=column.get("priority", 0),
                )
                for column in COLUMNS
            ],
        ),
    )
)
"""The kind that kube-apiserver serves as a custom resource, too; no code of an author's."""

away = Api(
    Group(
        "away.example.com",
        Kind("Trace", storage="v1", status=False, versions={"v1": Version({"type": "object"})}),
    )
)
"""A kind whose server is stopped and started again."""

shared = Api(Group("shared.example.com", PROBE))
"""The same kind, served from several processes."""

probes = Api(Group("probes.example.com", PROBE))
"""A kind that preserves whatever is sent, in a group that no other test serves."""
