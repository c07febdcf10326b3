"""What the conversation must know of a tool before it runs: its effect, what may be said meanwhile, what must be asked first, and
how long it may take. It is the same for every source of tools."""

from __future__ import annotations

import string
import typing
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from voiceagent.errors import ConfigError

Effect = Literal["none", "idempotent", "external"]
"""What a run leaves behind: nothing; the same however often it runs; something in the world."""

MAX_FILLERS = 16
MAX_SENTENCE_CHARACTERS = 300
MAX_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The author's settings for a tool."""

    effect: Effect = "external"
    fillers: tuple[str, ...] = ()
    """What may be said while it runs."""
    confirm: str = ""
    """A question to ask before it runs; `{name}` stands for the argument of that name. Empty: nothing is asked."""
    timeout_s: float | None = None
    """The longest run; None: the agent's `turn.tool_timeout_s`."""


def check_policy(tool: str, policy: ToolPolicy, arguments: Collection[str]) -> None:
    """Raises ConfigError when the policy of `tool`, which takes `arguments`, cannot be used."""
    if policy.effect not in typing.get_args(Effect):
        raise ConfigError(f"tool {tool}: effect {policy.effect!r} is not one of {', '.join(typing.get_args(Effect))}")
    if len(policy.fillers) > MAX_FILLERS:
        raise ConfigError(f"tool {tool}: has {len(policy.fillers)} fillers, expected at most {MAX_FILLERS}")
    for filler in policy.fillers:
        if not isinstance(filler, str) or not filler.strip() or len(filler) > MAX_SENTENCE_CHARACTERS:
            expected = f"a sentence of at most {MAX_SENTENCE_CHARACTERS} characters"
            raise ConfigError(f"tool {tool}: filler {filler!r:.60} cannot be said; expected {expected}")
    if policy.timeout_s is not None and not 0 < policy.timeout_s <= MAX_TIMEOUT_S:
        raise ConfigError(f"tool {tool}: timeout_s is {policy.timeout_s!r}, expected more than 0 and at most {MAX_TIMEOUT_S:g}")
    _check_question(tool, policy.confirm, arguments)


def _check_question(tool: str, question: str, arguments: Collection[str]) -> None:
    if len(question) > MAX_SENTENCE_CHARACTERS:
        raise ConfigError(f"tool {tool}: confirm has {len(question)} characters, expected at most {MAX_SENTENCE_CHARACTERS}")
    try:
        fields = [
            (name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(question) if name is not None
        ]
    except ValueError as error:
        raise ConfigError(f"tool {tool}: confirm {question!r} is no template ({error}); write {{{{ for a brace") from error
    for name, spec, conversion in fields:
        if name not in arguments or spec or conversion:
            known = ", ".join(f"{{{argument}}}" for argument in arguments) or "none"
            raise ConfigError(f"tool {tool}: confirm holds {{{name}}}, which is no argument; the arguments are: {known}")
