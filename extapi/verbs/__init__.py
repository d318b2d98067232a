"""Stage 5, what to do: one file a verb, each reads like the numbered list in the spec (E, F)."""
