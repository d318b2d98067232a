"""Every topping on a pizza must be one that the restaurant offers."""

from __future__ import annotations

from extapi import Context, Informer, NotFound, Operation, Review

GROUP = "restaurant.programming-kubernetes.info"
TOPPINGS = (GROUP, "v1alpha1", "toppings")


class ToppingsExist:
    """Refuses pizzas with toppings that no Topping object offers.

    Toppings are read from a copy that follows them; one that is missing there is looked up again, since it may have been
    created a moment ago. If that gives no answer, neither does this plugin: the pizza is refused.
    """

    def __init__(self) -> None:
        self._context: Context | None = None
        self._toppings: Informer | None = None

    async def start(self, context: Context) -> None:
        """Begin to follow the toppings."""
        self._context = context
        self._toppings = context.informer(*TOPPINGS)

    async def validate(self, review: Review) -> None:
        """Look at the names that this write brings; those that were on the pizza before may stay."""
        if review.kind.name != "Pizza" or review.subresource or review.operation is Operation.DELETE:
            return
        known = set() if review.old_object is None else {t.name for t in review.old_object.spec.toppings}
        for name in dict.fromkeys(topping.name for topping in review.object.spec.toppings):
            if name not in known and not await self._offered(name):
                review.refuse(f'topping "{name}" not known')

    async def _offered(self, name: str) -> bool:
        if self._context is None or self._toppings is None:
            raise RuntimeError("the plugin was not started")
        if self._toppings.get("", name) is not None:
            return True
        try:
            await self._context.get(*TOPPINGS, name)
        except NotFound:
            return False
        return True
