"""What an expression can cost at most, before it is run."""
