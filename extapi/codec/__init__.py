"""Bytes to objects and back: strict JSON and YAML, negotiation, patches, tables, partial metadata. PURE."""
