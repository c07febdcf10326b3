"""What an agent says when it hands a caller over to a colleague, in one language. Data; a language's file holds it. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HandoverWords:
    """Of one language."""

    connecting: str = ""
    """To the caller, before they wait."""
    opening: str = ""
    """To the colleague, when they answer."""
    ask: str = ""
    """Has the language model write what follows the opening."""
    unknown: str = ""
    """What follows it where the language model failed."""
    press: str = ""
    """Asks the colleague for the key that takes the call; `{key}` stands for it."""
    gone: str = ""
    """To the colleague, when the caller has hung up before both were joined."""
    joined: str = ""
    """To both, before the agent leaves."""
