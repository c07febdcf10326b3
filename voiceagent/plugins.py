"""Plugins: a function `create` under an entry point `voiceagent.<group>` of any installed package. This project's own are named
by the code that loads them, so that a checkout needs no install."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, TypeAlias

from voiceagent.errors import ConfigError

Create: TypeAlias = Callable[..., Any]
"""A plugin's function `create`. The group defines its arguments and its result; no type of ours sees into another package's."""

NO_OURS: Mapping[str, str] = MappingProxyType({})


def load_plugin(group: str, name: str, what: str, ours: Mapping[str, str] = NO_OURS) -> Create:
    """The `create` of the plugin `name` of a group: one of `ours` (a module by name), else one of an installed package. Raises
    ConfigError, which calls it `what` and names the known ones, or says why the package's cannot be loaded."""
    if name in ours:
        create: Create = importlib.import_module(ours[name]).create
        return create
    others = {entry.name: entry for entry in entry_points(group=f"voiceagent.{group}")}
    if name not in others:
        known = ", ".join([*ours, *others]) or "(none is installed)"
        raise ConfigError(f"there is no {what} {name!r}; expected one of {known}")
    try:
        plugin: Create = others[name].load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the {what} {name!r} cannot be loaded: {others[name].value} ({error}); install it anew") from error
    return plugin
