"""What is applied to a cluster so that an extension server runs there: the ``extapi manifests`` command."""
