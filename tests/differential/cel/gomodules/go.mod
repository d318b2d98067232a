// Where the data of comparisons comes from: cel-spec, and the manifests of projects. Nothing is compiled.
module extapi.test/celdata

go 1.26.0

require (
	cel.dev/expr v0.25.1
	github.com/argoproj/argo-cd/v3 v3.5.7
	github.com/cert-manager/cert-manager v1.21.2
	github.com/cilium/cilium v1.20.2
	github.com/fluxcd/kustomize-controller v1.9.6
	github.com/fluxcd/source-controller v1.9.6
	github.com/kedacore/keda/v2 v2.21.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	istio.io/api v1.32.0
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/karpenter v1.13.0
	sigs.k8s.io/kueue v0.17.0
)
