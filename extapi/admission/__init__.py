"""What may still change or refuse a write once it is allowed and understood (spec I)."""
