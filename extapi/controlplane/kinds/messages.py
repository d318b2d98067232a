"""The kinds in protobuf: numbers, names and types of their fields.

The format is that of :func:`extapi.codec.protobuftable.read_table`. Lists are left out, since all have the same fields.
Source: the ``generated.proto`` and ``types.go`` of ``k8s.io/api`` and ``k8s.io/kube-aggregator``.
"""

from __future__ import annotations

from extapi.codec.protobufmeta import META
from extapi.controlplane.builtin.protobuf import Messages

_REFERENCE = """
ObjectReference: 1 kind; 2 namespace; 3 name; 4 uid; 5 apiVersion; 6 resourceVersion; 7 fieldPath
EventSource: 1 component; 2 host
"""

MESSAGES = Messages(
    META
    + """
# core v1
"""
    + _REFERENCE
    + """
Namespace: 1 metadata ObjectMeta; 2 spec NamespaceSpec; 3 status NamespaceStatus
NamespaceSpec: 1 finalizers []string
NamespaceStatus: 1 phase; 2 conditions []NamespaceCondition
NamespaceCondition: 1 type!; 2 status!; 4 lastTransitionTime Time; 5 reason; 6 message
ConfigMap: 1 metadata ObjectMeta; 2 data map<string,string>; 3 binaryData map<string,bytes>; 4 immutable? bool
Secret: 1 metadata ObjectMeta; 2 data map<string,bytes>; 3 type; 4 stringData map<string,string>; 5 immutable? bool
ServiceAccount: 1 metadata ObjectMeta; 2 secrets []ObjectReference; 3 imagePullSecrets []LocalObjectReference;
    4 automountServiceAccountToken? bool
LocalObjectReference: 1 name
Service: 1 metadata ObjectMeta; 2 spec ServiceSpec; 3 status ServiceStatus
ServiceSpec: 1 ports []ServicePort; 2 selector map<string,string>; 3 clusterIP; 4 type; 5 externalIPs []string;
    7 sessionAffinity; 8 loadBalancerIP; 9 loadBalancerSourceRanges []string; 10 externalName;
    11 externalTrafficPolicy; 12 healthCheckNodePort int32; 13 publishNotReadyAddresses bool;
    14 sessionAffinityConfig? SessionAffinityConfig; 17 ipFamilyPolicy?; 18 clusterIPs []string;
    19 ipFamilies []string; 20 allocateLoadBalancerNodePorts? bool; 21 loadBalancerClass?; 22 internalTrafficPolicy?;
    23 trafficDistribution?
ServicePort: 1 name; 2 protocol; 3 port! int32; 4 targetPort IntOrString; 5 nodePort int32; 6 appProtocol?
SessionAffinityConfig: 1 clientIP? ClientIPConfig
ClientIPConfig: 1 timeoutSeconds? int32
ServiceStatus: 1 loadBalancer LoadBalancerStatus; 2 conditions []Condition
LoadBalancerStatus: 1 ingress []LoadBalancerIngress
LoadBalancerIngress: 1 ip; 2 hostname; 3 ipMode?; 4 ports []PortStatus
PortStatus: 1 port! int32; 2 protocol!; 3 error?
Event: 1 metadata ObjectMeta; 2 involvedObject ObjectReference; 3 reason; 4 message; 5 source EventSource;
    6 firstTimestamp Time; 7 lastTimestamp Time; 8 count int32; 9 type; 10 eventTime MicroTime; 11 series? EventSeries;
    12 action; 13 related? ObjectReference; 14 reportingComponent!; 15 reportingInstance!
EventSeries: 1 count int32; 2 lastObservedTime MicroTime

# coordination.k8s.io/v1
Lease: 1 metadata ObjectMeta; 2 spec LeaseSpec
LeaseSpec: 1 holderIdentity?; 2 leaseDurationSeconds? int32; 3 acquireTime? MicroTime; 4 renewTime? MicroTime;
    5 leaseTransitions? int32; 6 strategy?; 7 preferredHolder?

# rbac.authorization.k8s.io/v1
Role: 1 metadata ObjectMeta; 2 rules []PolicyRule
ClusterRole: 1 metadata ObjectMeta; 2 rules []PolicyRule; 3 aggregationRule? AggregationRule
RoleBinding: 1 metadata ObjectMeta; 2 subjects []Subject; 3 roleRef RoleRef
ClusterRoleBinding: 1 metadata ObjectMeta; 2 subjects []Subject; 3 roleRef RoleRef
PolicyRule: 1 verbs []string; 2 apiGroups []string; 3 resources []string; 4 resourceNames []string;
    5 nonResourceURLs []string
AggregationRule: 1 clusterRoleSelectors []LabelSelector
RoleRef: 1 apiGroup!; 2 kind!; 3 name!
Subject: 1 kind!; 2 apiGroup; 3 name!; 4 namespace

# authentication.k8s.io/v1
TokenRequest: 1 metadata ObjectMeta; 2 spec TokenRequestSpec; 3 status TokenRequestStatus
TokenRequestSpec: 1 audiences []string; 3 boundObjectRef? BoundObjectReference; 4 expirationSeconds? int64
TokenRequestStatus: 1 token!; 2 expirationTimestamp Time
BoundObjectReference: 1 kind; 2 apiVersion; 3 name; 4 uid
TokenReview: 1 metadata ObjectMeta; 2 spec TokenReviewSpec; 3 status TokenReviewStatus
TokenReviewSpec: 1 token; 2 audiences []string
TokenReviewStatus: 1 authenticated bool; 2 user UserInfo; 3 error; 4 audiences []string
UserInfo: 1 username; 2 uid; 3 groups []string; 4 extra map<string,ExtraValue>
SelfSubjectReview: 1 metadata ObjectMeta; 2 status SelfSubjectReviewStatus
SelfSubjectReviewStatus: 1 userInfo UserInfo

# authorization.k8s.io/v1
SubjectAccessReview: 1 metadata ObjectMeta; 2 spec SubjectAccessReviewSpec; 3 status SubjectAccessReviewStatus
LocalSubjectAccessReview: 1 metadata ObjectMeta; 2 spec SubjectAccessReviewSpec; 3 status SubjectAccessReviewStatus
SelfSubjectAccessReview: 1 metadata ObjectMeta; 2 spec SelfSubjectAccessReviewSpec; 3 status SubjectAccessReviewStatus
SelfSubjectRulesReview: 1 metadata ObjectMeta; 2 spec SelfSubjectRulesReviewSpec; 3 status SubjectRulesReviewStatus
SubjectAccessReviewSpec: 1 resourceAttributes? ResourceAttributes; 2 nonResourceAttributes? NonResourceAttributes;
    3 user; 4 groups []string; 5 extra map<string,ExtraValue>; 6 uid
SelfSubjectAccessReviewSpec: 1 resourceAttributes? ResourceAttributes; 2 nonResourceAttributes? NonResourceAttributes
SelfSubjectRulesReviewSpec: 1 namespace
SubjectAccessReviewStatus: 1 allowed! bool; 2 reason; 3 evaluationError; 4 denied bool
SubjectRulesReviewStatus: 1 resourceRules []ResourceRule; 2 nonResourceRules []NonResourceRule; 3 incomplete! bool;
    4 evaluationError
ResourceAttributes: 1 namespace; 2 verb; 3 group; 4 version; 5 resource; 6 subresource; 7 name;
    8 fieldSelector? FieldSelectorAttributes; 9 labelSelector? LabelSelectorAttributes
NonResourceAttributes: 1 path; 2 verb
FieldSelectorAttributes: 1 rawSelector; 2 requirements []FieldSelectorRequirement
LabelSelectorAttributes: 1 rawSelector; 2 requirements []LabelSelectorRequirement
ResourceRule: 1 verbs []string; 2 apiGroups []string; 3 resources []string; 4 resourceNames []string
NonResourceRule: 1 verbs []string; 2 nonResourceURLs []string

# apiregistration.k8s.io/v1
APIService: 1 metadata ObjectMeta; 2 spec APIServiceSpec; 3 status APIServiceStatus
APIServiceSpec: 1 service? ServiceReference; 2 group; 3 version; 4 insecureSkipTLSVerify bool; 5 caBundle bytes;
    7 groupPriorityMinimum! int32; 8 versionPriority! int32
APIServiceStatus: 1 conditions []APIServiceCondition
APIServiceCondition: 1 type!; 2 status!; 3 lastTransitionTime Time; 4 reason; 5 message
ServiceReference: 1 namespace; 2 name; 3 port? int32
"""
)

EVENTS = Messages(
    META
    + _REFERENCE
    + """
# events.k8s.io/v1, whose Event is not that of the core group
Event: 1 metadata ObjectMeta; 2 eventTime MicroTime; 3 series? EventSeries; 4 reportingController; 5 reportingInstance;
    6 action; 7 reason; 8 regarding ObjectReference; 9 related? ObjectReference; 10 note; 11 type;
    12 deprecatedSource EventSource; 13 deprecatedFirstTimestamp Time; 14 deprecatedLastTimestamp Time;
    15 deprecatedCount int32
EventSeries: 1 count! int32; 2 lastObservedTime MicroTime
"""
)
