"""Quantities: ``quantity``, ``isQuantity``, ``sign``, their order, sums, and numbers. From Kubernetes 1.28 on.

Source: ``k8s.io/apiserver/pkg/cel/library`` quantity.go.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar, Final

from extapi.api.quantity import Quantity as Canonical
from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.amounts import Amount, parse_amount
from extapi.schema.cel.library.charges import walk, walk_estimate
from extapi.schema.cel.types import QUANTITY, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD


class QuantityValue:
    """An exact amount. Only the amount counts in comparisons.

    Attributes:
        amount: The amount.
        computed: Whether it is a sum or difference. Go cannot compare anything with one that is, on the right side of
            ``==``.
        text: As it was written; of a sum or difference, the first operand, whose form it takes.
    """

    __slots__ = ("amount", "computed", "text")
    cel_type: ClassVar[Type] = QUANTITY

    def __init__(self, amount: Amount, *, computed: bool = False, text: str = "") -> None:
        self.amount = amount
        self.computed = computed
        self.text = text

    def __str__(self) -> str:
        """As Kubernetes writes the quantity, in the form that was chosen for it."""
        try:
            written = Canonical.parse(self.text)
            if self.computed:
                return str(Canonical.of(Decimal(self.amount.mantissa).scaleb(self.amount.exponent), written.format))
            return str(written)
        except ValueError:
            return self.text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuantityValue) or other.computed:
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return self.amount.compare(other.amount) == 0

    def __hash__(self) -> int:
        return hash(self.amount.normalized())


def parse_quantity(text: str) -> QuantityValue:
    """Read a quantity.

    Raises:
        EvaluationError: It is none.
    """
    try:
        return QuantityValue(parse_amount(text), text=text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse_amount(text)
    except ValueError:
        return False
    return True


def _sign(quantity: QuantityValue) -> int:
    return quantity.amount.sign()


def _compare(left: QuantityValue, right: QuantityValue) -> int:
    return left.amount.compare(right.amount)


def _is_greater(left: QuantityValue, right: QuantityValue) -> bool:
    return _compare(left, right) > 0


def _is_less(left: QuantityValue, right: QuantityValue) -> bool:
    return _compare(left, right) < 0


def _as_float(quantity: QuantityValue) -> float:
    return quantity.amount.as_float()


def _is_integer(quantity: QuantityValue) -> bool:
    return quantity.amount.as_int64() is not None


def _as_integer(quantity: QuantityValue) -> int:
    number = quantity.amount.as_int64()
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _add(quantity: QuantityValue, other: QuantityValue | int) -> QuantityValue:
    return _computed(quantity, quantity.amount.plus, other)


def _sub(quantity: QuantityValue, other: QuantityValue | int) -> QuantityValue:
    return _computed(quantity, quantity.amount.minus, other)


def _computed(
    quantity: QuantityValue, compute: Callable[[Amount], Amount], other: QuantityValue | int
) -> QuantityValue:
    amount = other.amount if isinstance(other, QuantityValue) else Amount(other, 0)
    try:
        return QuantityValue(compute(amount), computed=True, text=quantity.text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


_WALK: Final = walk()
_WALK_ESTIMATE: Final = walk_estimate()

QUANTITY_FUNCTIONS: Final[tuple[Overload, ...]] = (
    overload("string_to_quantity", "quantity(string) -> quantity", parse_quantity, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload("is_quantity_string", "isQuantity(string) -> bool", _is_quantity, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload("quantity_sign", "sign(quantity) -> int", _sign),
    overload("quantity_is_greater_than", ".isGreaterThan(quantity, quantity) -> bool", _is_greater),
    overload("quantity_is_less_than", ".isLessThan(quantity, quantity) -> bool", _is_less),
    overload("quantity_compare_to", ".compareTo(quantity, quantity) -> int", _compare),
    overload("quantity_get_float", ".asApproximateFloat(quantity) -> double", _as_float),
    overload("quantity_get_int", ".asInteger(quantity) -> int", _as_integer),
    overload("quantity_is_integer", ".isInteger(quantity) -> bool", _is_integer),
    overload("quantity_add", ".add(quantity, quantity) -> quantity", _add),
    overload("quantity_add_int", ".add(quantity, int) -> quantity", _add),
    overload("quantity_sub", ".sub(quantity, quantity) -> quantity", _sub),
    overload("quantity_sub_int", ".sub(quantity, int) -> quantity", _sub),
)
