"""apiextensions-apiserver's own integration tests, compiled from its module and run against a control plane that runs already.

Upstream each test starts a server in its own process. ``server.go`` takes the place of the file that does so; ``go.mod`` says
of which release the tests are. ``program.py`` compiles them, ``outcomes.py`` runs them and reads what they print.
``builtin.txt`` lists those that pass on the built-in control plane, ``others.toml`` why the others do not.
"""
