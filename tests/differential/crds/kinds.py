"""The kinds of the manifests, made of the very texts: ``extapi serve tests.differential.crds.kinds:api`` serves them."""

from __future__ import annotations

from extapi import Api, Group
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from tests.differential.crds.every import OURS, definitions

KINDS = [kind_of(Definition(definition)) for definition in definitions(OURS)]

api = Api(Group(OURS, *KINDS))
