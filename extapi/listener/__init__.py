"""Stage 1, what arrived: TLS bytes become a Call, an answer becomes bytes. Knows no Kubernetes resource."""
