"""Which writes an administrator's configuration is about: rules, equivalent versions, selectors. Pure; knows no webhooks.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/predicates`` and ``generic/webhook.go``.
"""
