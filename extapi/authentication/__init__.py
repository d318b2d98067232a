"""Stage 2: who is the user? Credentials of the front proxy, client certificates and bearer tokens (behaviour A)."""
