"""Guards of other packages: a function `create(options, base_dir) -> Guard` under the entry point `voiceagent.guard`; ours are
named here, so that a checkout needs no install."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from voiceagent.errors import ConfigError
from voiceagent.guard.verdict import Guard

Create = Callable[[Mapping[str, Any], str], Guard]

OURS = {"nemo": "voiceagent.guard.nemo"}


def load_guard(name: str, options: Mapping[str, Any], base_dir: str) -> Guard:
    """The guard that an agent names. Raises ConfigError naming the guards there are, or what keeps it from loading."""
    if name in OURS:
        create: Create = importlib.import_module(OURS[name]).create
        return create(options, base_dir)
    others = {entry.name: entry for entry in entry_points(group="voiceagent.guard")}
    if name not in others:
        raise ConfigError(f"there is no guard {name!r}; expected one of {', '.join([*OURS, *others])}")
    plugin: Create = others[name].load()
    return plugin(options, base_dir)
