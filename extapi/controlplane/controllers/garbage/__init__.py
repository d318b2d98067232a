"""Garbage collection: objects go when their last owner has gone, and owners wait for or release their dependents.

``objects.py`` and ``graph.py`` know who owns whom; ``decisions.py`` says what has to be done to an object. All three are
pure. ``calls.py`` does it, ``monitors.py`` follows every kind, and ``collector.py`` is the controller that joins them.
``propagationPolicy`` and the finalizers that it sets are the API server's part (behaviour E52).

Source: ``kubernetes/pkg/controller/garbagecollector``. Two things are done otherwise. There are no virtual nodes: a graph of
what was observed, and an index of dependents by their owners' uids, which says what to ask about owners that were not
observed. And what the graph knows is not read from the server again: each write has the uid and the resourceVersion as
preconditions.
"""
