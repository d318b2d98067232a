"""The one way in which ``extapi certs`` gives up: a sentence for the person at the terminal."""

from __future__ import annotations


class CertsFailure(Exception):
    """Files are not as they have to be; the message names the file and the certificate, and says what to do."""
