"""The restaurant's rules that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterable

from extapi import FieldError, Quantity, Strategy
from extapi.pizza import internal, v1alpha1
from extapi.pizza.limits import MAX_QUANTITY

DEFAULT_TOPPINGS = ("tomato", "mozzarella", "salami")


class PizzaStrategy(Strategy):
    """A pizza has at least one topping, and not too many of one for the version that repeats names."""

    def prepare(self, obj: internal.Pizza, old: internal.Pizza | None) -> None:
        """Treat an empty list like a missing one, which is all that the schema's default replaces."""
        del old
        if not obj.spec.toppings:
            obj.spec.toppings = [internal.PizzaTopping(name=name) for name in DEFAULT_TOPPINGS]

    def validate(self, obj: internal.Pizza, old: internal.Pizza | None) -> Iterable[FieldError]:
        """Bound each quantity: in v1alpha1 there is no field that a schema could bound."""
        del old
        for index, topping in enumerate(obj.spec.toppings):
            if topping.quantity > MAX_QUANTITY:
                yield FieldError.invalid(
                    f"spec.toppings[{index}].quantity",
                    topping.quantity,
                    f"must not be more than {MAX_QUANTITY} of one topping",
                )


class ToppingStrategy(Strategy):
    """The cost of a topping is a quantity, so that it can be added up."""

    def validate(self, obj: v1alpha1.Topping, old: v1alpha1.Topping | None) -> Iterable[FieldError]:
        """The cost must be a quantity that is not negative."""
        del old
        try:
            cost = Quantity.parse(obj.spec.cost)
        except ValueError as error:
            yield FieldError.invalid("spec.cost", obj.spec.cost, str(error))
            return
        if cost < Quantity.parse("0"):
            yield FieldError.invalid("spec.cost", obj.spec.cost, "must be greater than or equal to 0")
