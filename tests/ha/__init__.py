"""The checker: load on three servers and three members of etcd while they fail, and a judge of what clients were told.

:mod:`tests.ha.judging.judge` is pure: it compares a recorded history with the log that etcd has. Everything else makes the history.
``python -m tests.ha`` runs it for as long as one likes; ``tests/ha/test_checker.py`` for a minute, with a fixed seed.
"""
