"""What the flags of the control plane say. Nothing here opens a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class FlagError(Exception):
    """What a flag names cannot be used; the message names the flag or the file."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The flags, named as ``command`` documents them; all files hold PEM."""

    secure_port: int
    storage: str
    tls_cert_file: Path
    tls_private_key_file: Path
    client_ca_file: Path
    proxy_client_cert_file: Path
    proxy_client_key_file: Path
    requestheader_client_ca_file: Path
    requestheader_allowed_names: tuple[str, ...]
    service_account_key_file: Path
    service_account_issuer: str
    request_timeout: float
    """Seconds that a request may take, unless it is a watch."""
