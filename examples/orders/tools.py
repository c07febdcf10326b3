"""The tools of an order desk. What is ordered belongs to the call: two callers at once never see each other's order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.tools import CallContext, ToolError, tool

Dish = Literal["soup", "salad", "pasta", "cake"]
PRICES: dict[str, float] = {"soup": 4.5, "salad": 7.0, "pasta": 11.0, "cake": 5.0}
MOST = 20
_numbers = itertools.count(1)


@dataclass
class Order:
    """What the tools keep of a call."""

    dishes: dict[str, int] = field(default_factory=dict)
    number: int = 0
    """Set once it is placed."""

    def told(self) -> dict[str, object]:
        """The order and its total, for the model."""
        total = sum(PRICES[dish] * count for dish, count in self.dishes.items())
        return {"dishes": self.dishes, "total": f"{total:.2f} euros"}


@tool(effect="none")
def menu() -> dict[str, float]:
    """The dishes and their prices in euros."""
    return PRICES


@tool(effect="idempotent")
def add_dish(dish: Dish, call: CallContext[Order], count: int = 1) -> dict[str, object]:
    """Put a dish on the order, that many times in all."""
    if call.state.number:
        raise ToolError("The order is placed already.")
    if not 1 <= count <= MOST:
        raise ToolError(f"An order has 1 to {MOST} of a dish.")
    call.state.dishes[dish] = count
    return call.state.told()


@tool(effect="idempotent", confirm=False)
def remove_dish(dish: Dish, call: CallContext[Order]) -> dict[str, object]:
    """Take a dish off the order."""
    call.state.dishes.pop(dish, None)
    return call.state.told()


@tool(confirm="Shall I place the order?")
def place_order(call: CallContext[Order]) -> dict[str, object]:
    """Place the order as it is."""
    order = call.state
    if not order.dishes:
        raise ToolError("Nothing is ordered yet.")
    if not order.number:
        call.say("I am sending it to the kitchen.")
        order.number = next(_numbers)
    return {"placed": True, "number": order.number, "for": call.caller or "a caller by browser", **order.told()}
