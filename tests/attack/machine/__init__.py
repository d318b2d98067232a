"""A state machine over several clients: whatever they do, the server does what a model of it says.

Hypothesis chooses what each client does next. :mod:`~tests.attack.machine.model` says what must come of it; a store in memory
and processes with SQLite, restarted and killed, say what does.
"""
