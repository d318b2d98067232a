"""What replicas, objects and watchers cost etcd and the servers: measured, computed, and compared."""
