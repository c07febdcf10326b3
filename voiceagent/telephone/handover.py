"""What an agent does when it hands a caller over to a colleague: a leg brings it from its call to whoever joins the two."""

from __future__ import annotations

from typing import Protocol

from voiceagent.media.playout import Playout

TRANSFERRED = "transferred"
"""Why a call ends whose caller speaks to somebody else from now on."""

CALLER_HUNG_UP = "caller_hung_up"
"""Why a transfer failed, and why the call with the colleague ends."""


class Handover(Protocol):
    """Of one call."""

    async def summary(self) -> str:
        """What the colleague is to know; takes bounded time and raises nothing."""
        ...

    async def tell(self, playout: Playout, summary: str, key: str) -> None:
        """Put it, in the agent's voice, into the queue of the colleague's leg as reply 0, and ask for the key that takes the call
        where there is one. Raises nothing."""
        ...

    async def tell_gone(self, playout: Playout) -> None:
        """Put into the queue of the colleague's leg, as reply 1, that the caller has hung up. Works after the call's end, too.
        Raises nothing."""
        ...

    def leave(self) -> None:
        """Tell the caller, and whoever hears the agent besides, that they are connected; the call ends with it."""
        ...
