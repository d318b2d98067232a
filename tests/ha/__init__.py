"""The checker: load on servers and their store while they fail, and a judge of what clients were told.

:mod:`tests.ha.judging.judge` is pure: it compares a recorded history with the log that the store has. Everything else makes the history.
``python -m tests.ha`` runs it for as long as one likes; ``tests/ha/test_checker.py`` for a minute, with a fixed seed.
"""
