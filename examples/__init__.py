"""Examples that stand in no package of their own: each folder is an API that ``extapi serve`` can be given."""
