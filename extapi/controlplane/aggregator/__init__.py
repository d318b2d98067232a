"""APIServices: which server answers for which group version, whether it does, and the requests passed on to it.

Follows ``k8s.io/kube-aggregator`` (spec D). Below it lies the control plane's own router, which knows nothing of it.
"""
