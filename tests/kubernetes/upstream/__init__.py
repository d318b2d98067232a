"""Kubernetes' own e2e specs as a program (the Go module here), and how it is compiled and run.

In Go: ``main.go`` holds the specs, unmodified; the rest plays scheduler, kubelet and container runtime for those with pods,
``kubelet.go`` with the API, ``pod.go`` with processes, ``volumes.go`` with Secrets and tokens, ``view.go`` with the file
system that a process sees. In Python: ``program.py`` compiles, ``network.py`` gives all of them a network of their own,
``specs.py`` runs the specs and reads their report. ``builtin.txt`` lists those that pass on the built-in control plane.
"""
