"""The value of an expression, as cel-go computes it, and how values of a schema are read."""
