"""Expressions in CEL that a cluster's administrators write about requests: what they may use, where they run, what they cost.

Webhooks and policies have them; this package knows neither.

Source: ``k8s.io/apiserver/pkg/admission/plugin/cel``.
"""
