"""The worked example: the pizza restaurant's API. Imports only the promise, as any author's code does."""
