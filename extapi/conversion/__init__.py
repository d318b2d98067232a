"""Conversion between the versions of a kind, through its hub. Pure: no network, no I/O, no clock."""
