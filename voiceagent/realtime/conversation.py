"""The items of a call in the order in which they were added, and the ids that connect events. Bounded: the oldest items are
forgotten first, which only `conversation.item.retrieve` can notice."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable

from voiceagent.realtime.items import Item
from voiceagent.realtime.server_events import ItemAdded, ItemDone

MAX_ITEMS = 256

NewId = Callable[[str], str]
"""Makes an id from its prefix: `new_id("item")` gives `item_5f…`."""


def random_id(prefix: str) -> str:
    """An id that does not repeat."""
    return f"{prefix}_{secrets.token_hex(8)}"


class ItemList:
    """The items, each with the id of the previous one."""

    def __init__(self, new_id: NewId = random_id) -> None:
        self.new_id = new_id
        self.last_id: str | None = None
        self._items: OrderedDict[str, Item] = OrderedDict()
        self._previous: dict[str, str | None] = {}

    def add(self, item: Item) -> ItemAdded:
        """Append an item."""
        previous = self.last_id
        self._items[item.id] = item
        self._previous[item.id] = previous
        self.last_id = item.id
        while len(self._items) > MAX_ITEMS:
            oldest, _ = self._items.popitem(last=False)
            del self._previous[oldest]
        return ItemAdded(item=item, previous_item_id=previous)

    def done(self, item: Item) -> ItemDone:
        """An item is complete: returns the event that says so, with the item as it is now."""
        self.replace(item)
        return ItemDone(item=item, previous_item_id=self._previous.get(item.id))

    def replace(self, item: Item) -> None:
        """Keep a newer version of an item; ignored when the item was forgotten."""
        if item.id in self._items:
            self._items[item.id] = item

    def get(self, item_id: str) -> Item | None:
        """The current item; None when it is unknown or was forgotten."""
        return self._items.get(item_id)
