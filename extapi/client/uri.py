"""URIs for treq, of servers at IPv6 addresses too. Imported only where treq is: both are heavy."""

from __future__ import annotations

from hyperlink import EncodedURL


class ServerURL(EncodedURL):
    """A percent-encoded URL. hyperlink takes an IPv6 address for a name that IDNA could encode, and fails."""

    def to_uri(self) -> EncodedURL:
        """The URL in ASCII."""
        return self if ":" in self.host else super().to_uri()
