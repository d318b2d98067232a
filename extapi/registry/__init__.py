"""What the verbs call: the rules of a stored kind, with retry on conflict, over cache and store (spec K)."""
