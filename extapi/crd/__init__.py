"""CustomResourceDefinitions: read, validated, and made into kinds that a server serves as kube-apiserver serves a CRD's."""
