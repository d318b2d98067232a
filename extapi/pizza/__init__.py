"""The worked example: the API of a pizza restaurant. Like any author's code, it imports only promised names.

``extapi serve extapi.pizza:api`` serves it; ``extapi dev extapi.pizza:api`` serves it with a local control plane.
"""

from __future__ import annotations

from extapi import CLUSTER, Api, Column, Group, Kind, Version
from extapi.pizza import conversion, internal, v1alpha1, v1beta1
from extapi.pizza.admission import GROUP, ToppingsExist
from extapi.pizza.cost import CostController
from extapi.pizza.strategy import PizzaStrategy, ToppingStrategy

AGE = Column("Age", ".metadata.creationTimestamp", "date")
COST = Column("Cost", ".status.cost", description="The cost of all toppings together.")

api = Api(
    Group(
        GROUP,
        Kind(
            "Pizza",
            short_names=["pz"],
            storage="v1beta1",
            hub=internal.Pizza,
            versions={
                "v1beta1": Version(v1beta1.Pizza, to_hub=conversion.from_v1beta1, from_hub=conversion.to_v1beta1),
                "v1alpha1": Version(
                    v1alpha1.Pizza,
                    to_hub=conversion.from_v1alpha1,
                    from_hub=conversion.to_v1alpha1,
                    columns=[Column("Toppings", ".spec.toppings[*]"), COST, AGE],
                ),
            },
            columns=[Column("Toppings", ".spec.toppings[*].name"), COST, AGE],
            strategy=PizzaStrategy(),
        ),
        Kind(
            "Topping",
            scope=CLUSTER,
            storage="v1alpha1",
            status=False,
            versions={"v1alpha1": Version(v1alpha1.Topping)},
            columns=[Column("Cost", ".spec.cost", description="The cost of one portion."), AGE],
            strategy=ToppingStrategy(),
        ),
        preferred="v1beta1",
    ),
    admission=[ToppingsExist()],
    controllers=[CostController()],
)
