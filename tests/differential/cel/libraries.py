"""Expressions that call each overload of each library: with a value, and with an error where it has one."""

from __future__ import annotations
