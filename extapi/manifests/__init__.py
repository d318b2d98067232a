"""The objects that run an extension server in a cluster: the ``extapi manifests`` command."""
