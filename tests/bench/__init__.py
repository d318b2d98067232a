"""The benchmark behind ``scripts/bench``: one server process on SQLite, loaded over TLS as kube-apiserver would."""
