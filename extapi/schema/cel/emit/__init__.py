"""From a checked expression to one Python function, which is fast as long as nothing fails.

No text of a user is in the code: names are counted, and every string is a constant of the code object. Whatever cannot
be written so is left to :mod:`extapi.schema.cel.evaluation.interpreter`.
"""
