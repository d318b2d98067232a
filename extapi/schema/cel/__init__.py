"""CEL: compile an expression against a schema, evaluate it, count what it costs."""
