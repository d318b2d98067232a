"""Requests that know the grammar of the Kubernetes API and break it, and a judge for every answer.

``.venv/bin/python -m tests.attack.fuzz --requests 1000000`` is the long form; ``test_fuzz.py`` is the short one.

A run consists of episodes. An episode is a seed: it starts an empty server, sends some hundred requests that depend on
nothing but the seed and earlier answers, judges each answer, and at last reads and deletes everything that is there.
"""
