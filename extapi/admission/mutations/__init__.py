"""What an expression of a mutation has made, and how an object is changed by it.

Pure: knows neither policies nor requests.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch``.
"""
