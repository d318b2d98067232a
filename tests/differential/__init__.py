"""The same requests to kube-apiserver's custom resources and to an aggregated API of ours: what differs, and why."""
