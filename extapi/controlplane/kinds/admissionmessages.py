"""The kinds of admissionregistration.k8s.io/v1 in protobuf: numbers, names and types of their fields.

The format is that of :func:`extapi.codec.protobuftable.read_table`.
Source: ``generated.proto`` and ``types.go`` of ``k8s.io/api/admissionregistration/v1``.
"""

from __future__ import annotations

from typing import Final

from extapi.codec.protobufmeta import META
from extapi.controlplane.builtin.protobuf import Messages

_RULES: Final = """
Rule: 1 apiGroups []string; 2 apiVersions []string; 3 resources []string; 4 scope?
RuleWithOperations: 1 operations []string; 2 rule Rule
MatchCondition: 1 name!; 2 expression!
"""
_WEBHOOKS: Final = """
MutatingWebhookConfiguration: 1 metadata ObjectMeta; 2 webhooks []MutatingWebhook
MutatingWebhook: 1 name!; 2 clientConfig WebhookClientConfig; 3 rules []RuleWithOperations; 4 failurePolicy?;
    5 namespaceSelector? LabelSelector; 6 sideEffects?; 7 timeoutSeconds? int32; 8 admissionReviewVersions []string;
    9 matchPolicy?; 10 reinvocationPolicy?; 11 objectSelector? LabelSelector; 12 matchConditions []MatchCondition
ValidatingWebhookConfiguration: 1 metadata ObjectMeta; 2 webhooks []ValidatingWebhook
ValidatingWebhook: 1 name!; 2 clientConfig WebhookClientConfig; 3 rules []RuleWithOperations; 4 failurePolicy?;
    5 namespaceSelector? LabelSelector; 6 sideEffects?; 7 timeoutSeconds? int32; 8 admissionReviewVersions []string;
    9 matchPolicy?; 10 objectSelector? LabelSelector; 11 matchConditions []MatchCondition
WebhookClientConfig: 1 service? ServiceReference; 2 caBundle bytes; 3 url?
ServiceReference: 1 namespace!; 2 name!; 3 path?; 4 port? int32
"""

ADMISSION: Final = Messages(META + _RULES + _WEBHOOKS)
