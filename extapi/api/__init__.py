"""What an API is, as plain data: groups, kinds, versions, metadata, selectors, quantities, Go's numbers and texts.

Pure: no I/O, no clock, no Twisted.
"""
