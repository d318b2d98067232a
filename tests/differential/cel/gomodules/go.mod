// Where the data of the comparison of CEL comes from: cel-spec, and projects with rules in their manifests. Nothing is compiled.
module extapi.test/celdata

go 1.26.0

require (
	cel.dev/expr v0.25.1
	github.com/cert-manager/cert-manager v1.21.2
	github.com/cilium/cilium v1.20.2
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/karpenter v1.13.0
	sigs.k8s.io/kueue v0.17.0
)
