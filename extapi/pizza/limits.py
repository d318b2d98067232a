"""The size limits of pizzas. A quantity in v1beta1 becomes that many list entries in v1alpha1, so both are bounded."""

MAX_QUANTITY = 100
"""The largest quantity of one topping."""

MAX_TOTAL = 500
"""The largest sum of a pizza's quantities."""
