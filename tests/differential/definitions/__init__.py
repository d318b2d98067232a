"""CustomResourceDefinitions that are wrong, judged by kube-apiserver and by our own validation."""
