"""The types of JSON. A function that hands a JSON value on, writes it or asks for its type takes `object`. A function that reads
deep inside an object takes a `JsonObject`."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""An object as `json.loads` and msgspec give it: JSON schemas, events of clients, answers of servers, configurations of models.
Nothing is known of its values: code that takes one from outside checks the values it reads."""
