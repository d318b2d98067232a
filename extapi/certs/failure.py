"""The one error with which ``extapi certs`` gives up: a sentence for the user at the terminal."""

from __future__ import annotations


class CertsFailure(Exception):
    """Files are wrong; the message names the file and the certificate, and says what to do."""
