"""CEL judged beside the Go original: expressions, schemas with rules, and whole CustomResourceDefinitions.

``python -m tests.differential.cel`` lists its commands. The judge is the Go program in ``tests/kubernetes/cel``.
"""
