"""Between the versions of a kind, through its hub. PURE."""
