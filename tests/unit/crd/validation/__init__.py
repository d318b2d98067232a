"""Tests of the validation of definitions."""
