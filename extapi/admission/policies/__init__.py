"""Admission policies with their bindings: a cluster's rules on writes, in CEL, without a webhook.

What stands here is for all kinds of policies, but for the modules that are named after one.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy``.
"""
