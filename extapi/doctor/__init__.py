"""What is wrong between a cluster and an extension server, named: the ``extapi doctor`` command."""
