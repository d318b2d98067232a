"""What an API is, as plain data: groups, kinds, versions, metadata, selectors, quantities. PURE: no I/O, no clock, no Twisted."""
