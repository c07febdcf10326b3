"""The session's `audio.input.noise_reduction`: what a client may ask for, and what it is told where that cannot be had."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.server_events import ErrorDetails

KINDS = ("near_field", "far_field")
"""Both are the same noise suppressor."""
PARAM = "session.audio.input.noise_reduction"


def asked_with_offer(session: JsonObject) -> JsonObject:
    """What the session settings that come with an offer ask for, as `session.update` takes it; nothing where they do not name it.
    Raises ClientEventError for what is no such setting."""
    audio = session.get("audio")
    heard = audio.get("input") if isinstance(audio, dict) else None
    if not isinstance(heard, dict) or "noise_reduction" not in heard:
        return {}
    wanted = heard["noise_reduction"]
    NoiseReduction().check({"noise_reduction": wanted}, None)
    return {"audio": {"input": {"noise_reduction": wanted and {"type": wanted["type"]}}}}


@dataclass(frozen=True, slots=True)
class NoiseReduction:
    """What the call's leg can do."""

    is_on: bool = False
    """Whether noise is suppressed unless the client turns that off."""
    why_not: str = ""
    """Why it cannot be; empty where it can."""

    @property
    def shown(self) -> dict[str, object] | None:
        """As the session begins."""
        return {"type": KINDS[0]} if self.is_on else None

    def check(self, heard: dict[str, object], event_id: str | None) -> ErrorDetails | None:
        """Check what a client wrote into `audio.input`. What cannot be had is taken out of it, and the client is told why. Raises
        ClientEventError for what is no such setting."""
        wanted = heard.setdefault("noise_reduction", None)
        if wanted is None:
            return None
        if not isinstance(wanted, dict) or wanted.get("type") not in KINDS:
            kinds = " or ".join(f'{{"type": "{kind}"}}' for kind in KINDS)
            message = f"{PARAM} must be {kinds}, or null for none."
            raise ClientEventError(message, code="invalid_value", param=PARAM, event_id=event_id)
        if not self.why_not:
            return None
        heard["noise_reduction"] = None
        message = f"Noise is not suppressed here: {self.why_not}. The rest of the update was applied."
        return ErrorDetails("invalid_request_error", "noise_reduction_unavailable", message, PARAM, event_id)
