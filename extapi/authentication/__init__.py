"""Stage 2, who asks: front proxy, client certificates, bearer tokens; then impersonation (spec A)."""
