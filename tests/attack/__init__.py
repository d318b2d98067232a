"""The attack suite: what a server has to stand from clients, disks, clusters and sudden ends, seen from outside it.

Each attack has a short form, which ``scripts/test`` runs, and a long one, which is a command (``python -m
tests.attack.NAME --help``).
"""
