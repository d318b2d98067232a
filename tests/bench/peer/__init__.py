"""``scripts/bench --peer``: the Go original and a custom resource beside us, in one run, under one load."""
