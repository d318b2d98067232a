"""APIServices: which server serves which group version, whether it is available, and the requests passed on to it.

Follows ``k8s.io/kube-aggregator`` (behaviour D). Stands before the control plane's own router, which knows nothing of
it.
"""
