"""The transfer of a call, as a telephone leg sees it: the colleague's briefing and the end reasons."""

from __future__ import annotations

from typing import Protocol

from voiceagent.media.playout import Playout

TRANSFERRED = "transferred"
"""The end reason of a call whose caller speaks to somebody else from now on."""

CALLER_HUNG_UP = "caller_hung_up"
"""The failure of such a transfer, and the end reason of the call with the colleague."""

NO_TRANSFERS = "this line cannot transfer calls"
"""The failure of a transfer where a leg cannot transfer."""


class ColleagueBriefing(Protocol):
    """The agent's side of a warm transfer: summarise the conversation, brief the colleague, say goodbye."""

    async def summary(self) -> str:
        """The summary for the colleague; takes bounded time and raises nothing."""
        ...

    async def brief(self, playout: Playout, summary: str, key: str) -> None:
        """Put the summary, in the agent's voice, into the queue of the colleague's leg as reply 0, and ask for the key that takes
        the call where there is one. Raises nothing."""
        ...

    async def say_caller_left(self, playout: Playout) -> None:
        """Put into the queue of the colleague's leg, as reply 1, that the caller has hung up. Works after the call's end, too.
        Raises nothing."""
        ...

    def say_connected(self) -> None:
        """Tell the caller, and whoever hears the agent besides, that they are connected; the call ends with it."""
        ...
