"""Parts of `telephony:` in `agent.yaml` that say what is done in a call."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class VoicemailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an answering machine takes a call that we made."""

    action: Literal["none", "hang_up", "leave_message"] = "none"
    """`none`: machines are not told from people."""
    message: str = ""
    """What is left, word for word."""
    wait_for_beep_s: Annotated[float, msgspec.Meta(ge=1, le=120)] = 25.0
    """A machine that neither beeps nor falls silent for so long is left its message all the same."""

    def __post_init__(self) -> None:
        if self.action == "leave_message" and not self.message.strip():
            raise ValueError("message is empty, expected what is to be left after the beep")
