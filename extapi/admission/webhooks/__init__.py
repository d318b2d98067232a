"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: a cluster's webhooks are asked about writes (behaviour I9 to I15).

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook``.
"""
