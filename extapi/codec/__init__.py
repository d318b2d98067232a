"""Bytes to objects and back: strict JSON and YAML, content negotiation, patches, tables, partial metadata.

Pure: no I/O, no clock, no Twisted.
"""
