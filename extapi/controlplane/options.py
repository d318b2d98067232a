"""The options of the control plane. Opens no files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class FlagError(Exception):
    """A flag or its file cannot be used; the message names it."""


@dataclass(frozen=True, kw_only=True)
class ControlPlaneOptions:
    """The values of the flags that ``command`` documents. All files hold PEM."""

    bind_address: str
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
    """The limit of a request in seconds; watches have none."""
    disabled_plugins: frozenset[str] = frozenset()
    """The names of admission plugins that are not asked."""
