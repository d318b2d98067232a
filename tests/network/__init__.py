"""Networks between clients, servers and kube-apiserver, with what real ones have on the way."""
