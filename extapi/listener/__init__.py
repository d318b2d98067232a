"""Stage 1, what arrived: TLS bytes become a request, a response becomes bytes. Knows no Kubernetes resource."""
