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
_POLICIES: Final = """
ValidatingAdmissionPolicy: 1 metadata ObjectMeta; 2 spec ValidatingAdmissionPolicySpec;
    3 status ValidatingAdmissionPolicyStatus
ValidatingAdmissionPolicySpec: 1 paramKind? ParamKind; 2 matchConstraints? MatchResources; 3 validations []Validation;
    4 failurePolicy?; 5 auditAnnotations []AuditAnnotation; 6 matchConditions []MatchCondition; 7 variables []Variable
ValidatingAdmissionPolicyStatus: 1 observedGeneration int64; 2 typeChecking? TypeChecking; 3 conditions []Condition
Validation: 1 expression!; 2 message; 3 reason?; 4 messageExpression
AuditAnnotation: 1 key!; 2 valueExpression!
TypeChecking: 1 expressionWarnings []ExpressionWarning
ExpressionWarning: 2 fieldRef!; 3 warning!
ValidatingAdmissionPolicyBinding: 1 metadata ObjectMeta; 2 spec ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec: 1 policyName; 2 paramRef? ParamRef; 3 matchResources? MatchResources;
    4 validationActions []string
MutatingAdmissionPolicy: 1 metadata ObjectMeta; 2 spec MutatingAdmissionPolicySpec
MutatingAdmissionPolicySpec: 1 paramKind? ParamKind; 2 matchConstraints? MatchResources; 3 variables []Variable;
    4 mutations []Mutation; 5 failurePolicy?; 6 matchConditions []MatchCondition; 7 reinvocationPolicy
Mutation: 2 patchType!; 3 applyConfiguration? ApplyConfiguration; 4 jsonPatch? JSONPatch
ApplyConfiguration: 1 expression
JSONPatch: 1 expression
MutatingAdmissionPolicyBinding: 1 metadata ObjectMeta; 2 spec MutatingAdmissionPolicyBindingSpec
MutatingAdmissionPolicyBindingSpec: 1 policyName; 2 paramRef? ParamRef; 3 matchResources? MatchResources
ParamKind: 1 apiVersion; 2 kind
ParamRef: 1 name; 2 namespace; 3 selector? LabelSelector; 4 parameterNotFoundAction?
MatchResources: 1 namespaceSelector? LabelSelector; 2 objectSelector? LabelSelector;
    3 resourceRules []NamedRuleWithOperations; 4 excludeResourceRules []NamedRuleWithOperations; 7 matchPolicy?
NamedRuleWithOperations: 1 resourceNames []string; 2 ruleWithOperations RuleWithOperations
Variable: 1 name!; 2 expression!
"""

ADMISSION: Final = Messages(META + _RULES + _WEBHOOKS + _POLICIES)
