"""The same requests to two servers, and what differs in their answers, with the reasons.

Custom resources of kube-apiserver are compared with an aggregated API of ours, and in ``planes`` kube-apiserver itself with
the built-in control plane.
"""
