"""Tests of ``extapi dev``'s parts; what needs the real control plane stands in tests/kubernetes."""
