"""Admission control: how many calls the server carries at once. A call that would make all others stutter is refused while
it can still be told so, at signalling."""

from __future__ import annotations

from voiceagent.server.problems import Problem

RETRY_AFTER_S = 15


class Admission:
    """Counts the calls from their offer to their end."""

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.admitted = 0
        self.closing = False

    def admit(self) -> None:
        """Take a place; give it back with `release`. Raises Problem (503) when there is none."""
        if self.closing:
            raise Problem(503, "server_stopping", "The server is stopping; call again when it is back.")
        if self.admitted >= self.max_calls:
            carried = "1 call" if self.max_calls == 1 else f"{self.max_calls} calls"
            raise Problem(
                503,
                "server_full",
                f"All lines of this server are in use (at most {carried}); call again in a moment.",
                retry_after_s=RETRY_AFTER_S,
            )
        self.admitted += 1

    def release(self) -> None:
        """Give a place back."""
        self.admitted -= 1
