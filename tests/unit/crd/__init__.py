"""Tests of CustomResourceDefinitions."""
