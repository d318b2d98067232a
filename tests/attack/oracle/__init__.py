"""Who may see and change what: marked objects, narrow users, odd requests, and rights that are judged a second time.

``.venv/bin/python -m tests.attack.oracle --requests 100000`` is the long form; ``test_oracle.py`` is the short one.
"""
