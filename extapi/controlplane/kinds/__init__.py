"""The kinds of the local control plane: their types, and the rules of writing them, as kube-apiserver has them.

One module an API group or so; each says what its kinds are and nothing about who answers for them. No field is marked
as required: as kube-apiserver does, what is missing is read as empty, and then refused by the rule that is about it.
"""
