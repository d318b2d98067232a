"""Odd machines: what commands do on full disks, in closed networks, with odd modules, and where little is installed.

``table.py`` says what is odd, how it is made, and what is to come of it; ``test_quick.py`` runs what takes a second each.
``python -m tests.environments`` runs the others: it installs packages, and starts servers.
"""
