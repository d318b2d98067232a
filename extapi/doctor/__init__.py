"""Names what is wrong between a cluster and an extension server: the ``extapi doctor`` command."""
