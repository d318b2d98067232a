"""The one way in which the local control plane gives up: a sentence for the person at the terminal."""

from __future__ import annotations


class DevFailure(Exception):
    """Something outside our code is not as it has to be; the message is one line and says what to look at."""
