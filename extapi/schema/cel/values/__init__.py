"""The values of CEL at run time, and what can be done with all of them."""
