"""``extapi webhooks``: an API's conversion and admission as webhooks, for kinds that a cluster serves as custom resources.

:mod:`extapi.webhooks.endpoints` is the map: which path leads to which of an author's functions. ``reviews/`` and ``patch``
are pure; everything that listens or calls is in ``process``.
"""
