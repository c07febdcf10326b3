"""Parts of `telephony:` in `agent.yaml` that say what is done in a call."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from voiceagent.addresses import check_address

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"


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


class ResultSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told how a telephone call went."""

    url: str = ""
    """Posted to once a call is over; empty: nobody is told."""
    secret_env: Annotated[str, msgspec.Meta(pattern=VARIABLE)] = "VOICEAGENT_RESULTS_SECRET"
    """The environment variable that holds the secret by which a result is signed."""
    transcript: bool = False
    """Whether what was said is told, too."""

    def __post_init__(self) -> None:
        if self.url:
            try:
                check_address(self.url, secrets_go="results are signed by a secret that secret_env names")
            except ValueError as error:
                raise ValueError(f"url {error}") from error
