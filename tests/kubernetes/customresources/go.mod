module extapi.test/customresources

go 1.26.0

godebug default=go1.26

require k8s.io/apiextensions-apiserver v0.36.3
