"""The kinds of the development control plane: their types, columns and strategies, as in kube-apiserver.

About one module per API group. Must not know what serves them. No field is marked as required: as in kube-apiserver, a
missing field is read as empty, and then refused by its rule.
"""
