"""Admission of pizzas: the restaurant must offer every topping."""

from __future__ import annotations

from extapi import Context, Informer, NotFound, Operation, PolicyRule, Review

GROUP = "restaurant.programming-kubernetes.info"
TOPPINGS = (GROUP, "v1alpha1", "toppings")


class ToppingsExist:
    """Refuses pizzas with toppings for which there is no Topping object.

    Toppings are read from an informer. One that it does not have is read live, as it may have been created a moment ago. If
    that read fails, the pizza is refused.
    """

    needs = (PolicyRule(api_groups=[GROUP], resources=["toppings"], verbs=["get", "list", "watch"]),)
    """What it does with the API's own kinds, for a cluster that serves them as CustomResourceDefinitions."""

    def __init__(self) -> None:
        self._context: Context | None = None
        self._toppings: Informer | None = None

    async def start(self, context: Context) -> None:
        """Start to follow the toppings."""
        self._context = context
        self._toppings = context.informer(*TOPPINGS)

    async def validate(self, review: Review) -> None:
        """Check the names that this write adds; those that were on the pizza before may stay."""
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
