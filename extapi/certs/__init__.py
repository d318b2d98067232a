"""Authorities, certificates and their renewal: the ``extapi certs`` command, and what others make certificates with."""
