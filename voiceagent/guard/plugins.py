"""Guards of other packages: a function `create(options, base_dir) -> Guard` under the entry point `voiceagent.guard`."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.guard.verdict import Guard
from voiceagent.plugins import load_plugin

OURS = {"nemo": "voiceagent.guard.nemo"}


def load_guard(name: str, options: Mapping[str, object], base_dir: str) -> Guard:
    """The guard that an agent names. Raises ConfigError, which names the installed guards, or says why it cannot be loaded."""
    guard: Guard = load_plugin("guard", name, "guard", OURS)(options, base_dir)
    return guard
