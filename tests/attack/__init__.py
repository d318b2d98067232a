"""Attacks on a running server: what many, hostile or broken peers may cost the others."""
