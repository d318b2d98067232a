"""The restaurant's rules that no schema can say."""

from __future__ import annotations

from collections.abc import Iterable

from extapi import FieldError, Quantity, Strategy
from extapi.pizza import internal, v1alpha1
from extapi.pizza.limits import MAX_QUANTITY, MAX_TOTAL

DEFAULT_TOPPINGS = ("tomato", "mozzarella", "salami")


class PizzaStrategy(Strategy):
    """A pizza is never bare, and never too large for the version that repeats names."""

    def prepare(self, obj: internal.Pizza, old: internal.Pizza | None) -> None:
        """An empty list is as good as a missing one; the schema's default only fills in the latter."""
        del old
        if not obj.spec.toppings:
            obj.spec.toppings = [internal.PizzaTopping(name=name) for name in DEFAULT_TOPPINGS]

    def validate(self, obj: internal.Pizza, old: internal.Pizza | None) -> Iterable[FieldError]:
        """Bound each quantity (v1alpha1 has no field that a schema could bound) and their sum."""
        del old
        for index, topping in enumerate(obj.spec.toppings):
            if topping.quantity > MAX_QUANTITY:
                yield FieldError.invalid(
                    f"spec.toppings[{index}].quantity",
                    topping.quantity,
                    f"must not be more than {MAX_QUANTITY} of one topping",
                )
        total = sum(topping.quantity for topping in obj.spec.toppings)
        if total > MAX_TOTAL:
            yield FieldError.invalid("spec.toppings", total, f"must not be more than {MAX_TOTAL} toppings together")


class ToppingStrategy(Strategy):
    """A topping costs something that can be added up."""

    def validate(self, obj: v1alpha1.Topping, old: v1alpha1.Topping | None) -> Iterable[FieldError]:
        """The cost is a quantity, and not negative."""
        del old
        try:
            cost = Quantity.parse(obj.spec.cost)
        except ValueError as error:
            yield FieldError.invalid("spec.cost", obj.spec.cost, str(error))
            return
        if cost < Quantity.parse("0"):
            yield FieldError.invalid("spec.cost", obj.spec.cost, "must be greater than or equal to 0")
