"""Stage 2, who asks: front proxy, client certificates, bearer tokens (spec A)."""
