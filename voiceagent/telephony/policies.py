"""The parts of `telephony:` in `agent.yaml` that say what happens in a call."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from voiceagent.addresses import check_address

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"


class VoicemailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens if an answering machine takes a call that we made."""

    action: Literal["none", "hang_up", "leave_message"] = "none"
    """`none`: nothing looks for machines."""
    message: str = ""
    """The message that is left, word for word."""
    wait_for_beep_s: Annotated[float, msgspec.Meta(ge=1, le=120)] = 25.0
    """A machine that neither beeps nor falls silent for so long gets its message anyway."""

    def __post_init__(self) -> None:
        if self.action == "leave_message" and not self.message.strip():
            raise ValueError("message is empty, expected what is to be left after the beep")


class HumanSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A caller who asks for a person is put through to one, without the language model."""

    transfer: str = ""
    """To whom, by a name of `telephony.transfers` or `telephony.sip.transfers`; empty: nobody is put through."""
    key: Annotated[str, msgspec.Meta(pattern="^[0-9*]?$")] = "0"
    """The key that asks for a person when it is pressed alone; empty: no key does."""


class RecordingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Telephone calls are recorded. The operator must know the law that they do so under."""

    folder: str = ""
    """Where recordings are kept (relative to agent.yaml); empty: nothing is recorded."""
    announcement: str = ""
    """What the caller is told first, such as "This call is recorded."."""
    format: Literal["wav", "opus"] = "wav"
    """`opus` takes a tenth of the room."""
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 30
    """Older ones are deleted when the server starts, and daily."""
    max_minutes: Annotated[int, msgspec.Meta(ge=1, le=1440)] = 120
    """The rest of a longer call is not recorded."""
    min_free_mb: Annotated[int, msgspec.Meta(ge=1)] = 500
    """Nothing is recorded while the disk has less room."""
    may_refuse: bool = False
    """Whether the caller may have the recording deleted: by the key, or by saying so where the language model can call tools."""
    refuse_key: Annotated[str, msgspec.Meta(pattern="^[0-9*]$")] = "9"
    """The key that does it when it is pressed alone."""

    def __post_init__(self) -> None:
        if self.folder and not self.announcement.strip():
            raise ValueError("announcement is empty, expected what callers are told before they are recorded")


class ResultSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told how a telephone call went."""

    url: str = ""
    """The address that gets a POST once a call is over; empty: none."""
    secret_env: Annotated[str, msgspec.Meta(pattern=VARIABLE)] = "VOICEAGENT_RESULTS_SECRET"
    """The environment variable that holds the secret by which a result is signed."""
    transcript: bool = False
    """Whether the result holds the transcript."""

    def __post_init__(self) -> None:
        if self.url:
            try:
                check_address(self.url, secrets_go="results are signed by a secret that secret_env names")
            except ValueError as error:
                raise ValueError(f"url {error}") from error
