"""How large a pizza may be. A v1beta1 quantity becomes that many entries of a v1alpha1 list, so both need a bound."""

MAX_QUANTITY = 100
"""Of one topping."""

MAX_TOTAL = 500
"""Of all toppings of a pizza together."""
