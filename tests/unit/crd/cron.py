"""A definition that says everything that one can say, as a manifest of two versions."""

from __future__ import annotations

import copy
from typing import Any

import yaml

_MANIFEST = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cronSpec, description: When it runs}
    - {name: Replicas, type: integer, format: int32, jsonPath: .spec.replicas, priority: 1}
    selectableFields: [{jsonPath: .spec.image}]
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.labels}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              cronSpec: {type: string, pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$'}
              image: {type: string, default: busybox}
              replicas: {type: integer, minimum: 1}
          status:
            type: object
            properties: {replicas: {type: integer}, labels: {type: string}}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
"""


def crontabs(**spec: Any) -> dict[str, Any]:
    """The definition; ``spec`` replaces members of its spec."""
    found: dict[str, Any] = yaml.safe_load(_MANIFEST)
    found["spec"] |= copy.deepcopy(spec)
    return found
