"""The one error with which the local control plane gives up: a sentence for the user at the terminal."""

from __future__ import annotations


class DevFailure(Exception):
    """Something outside our code is wrong; the message is one line and says what to look at."""
