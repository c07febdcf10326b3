"""The items of a call in the order of the conversation, and the ids that connect events. Bounded: the oldest items are forgotten
first. Then only asking for them shows that."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from voiceagent.realtime.items import Item
from voiceagent.realtime.server_events import ItemAdded, ItemDone

MAX_ITEMS = 256

NewId = Callable[[str], str]
"""Makes an id from its prefix: `new_id("item")` gives `item_5f…`."""
FIRST = "root"
"""Stands for the place before all items."""


def random_id(prefix: str) -> str:
    """An id that does not repeat."""
    return f"{prefix}_{secrets.token_hex(8)}"


class ItemList:
    """The items in order, each with the id of the one that was before it when it was added."""

    def __init__(self, new_id: NewId = random_id) -> None:
        self.new_id = new_id
        self._order: list[str] = []
        self._items: dict[str, Item] = {}
        self._previous: dict[str, str | None] = {}

    def copied(self) -> ItemList:
        """A copy: later changes of the one do not show in the other."""
        copy = ItemList(self.new_id)
        copy._order, copy._items, copy._previous = list(self._order), dict(self._items), dict(self._previous)
        return copy

    @property
    def last_id(self) -> str | None:
        """The id of the last item."""
        return self._order[-1] if self._order else None

    def is_last(self, item_id: str) -> bool:
        """True when no item is behind this one; also for `FIRST` while there is none."""
        return item_id == (self.last_id or FIRST)

    def before(self, item_id: str) -> str:
        """The id of the item before this one, or `FIRST`."""
        place = self._order.index(item_id)
        return self._order[place - 1] if place else FIRST

    def add(self, item: Item, behind: str | None = None) -> ItemAdded:
        """Add an item: behind another one, at the beginning (`FIRST`), or at the end."""
        place = len(self._order) if behind is None else 0 if behind == FIRST else self._order.index(behind) + 1
        previous = self._order[place - 1] if place else None
        self._order.insert(place, item.id)
        self._items[item.id] = item
        self._previous[item.id] = previous
        while len(self._order) > MAX_ITEMS:
            self._forget(self._order[0])
        return ItemAdded(item=item, previous_item_id=previous)

    def done(self, item: Item) -> ItemDone:
        """An item is complete: returns the event that says so, with the item as it is now."""
        self.replace(item)
        return ItemDone(item=item, previous_item_id=self._previous.get(item.id))

    def replace(self, item: Item) -> None:
        """Keep a newer version of an item; ignored when the item was forgotten."""
        if item.id in self._items:
            self._items[item.id] = item

    @property
    def items(self) -> list[Item]:
        """The items in order."""
        return [self._items[item_id] for item_id in self._order]

    def get(self, item_id: str) -> Item | None:
        """The current item; None when it is unknown or was forgotten."""
        return self._items.get(item_id)

    def remove(self, item_id: str) -> None:
        """Take a known item out."""
        self._forget(item_id)

    def _forget(self, item_id: str) -> None:
        self._order.remove(item_id)
        del self._items[item_id], self._previous[item_id]
