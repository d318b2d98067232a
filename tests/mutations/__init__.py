"""Faults planted one at a time, to see whether the tests notice.

``data/`` has the faults, a file per package; ``python -m tests.mutations`` plants them in a copy of the tree and runs the
tests that should see each. That takes some twenty minutes, so it runs on demand; ``test_data.py`` checks at each run of
the tests that the data still fits the code.
"""
