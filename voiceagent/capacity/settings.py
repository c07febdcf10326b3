"""The `admission:` part of `agent.yaml`."""

from __future__ import annotations

from typing import Annotated

import msgspec

Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class QueueSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Callers who wait for a place instead of being refused at once."""

    length: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Most callers that wait; 0: none."""
    wait_s: Annotated[float, msgspec.Meta(ge=0, le=120)] = 10.0
    """Longest wait of a caller, who is refused after it."""


class QuotaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one client. A client is a key, or an address where the server has no keys."""

    calls: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Calls at once; 0: all places, or three quarters of them where there are several keys."""
    connecting: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Calls that were answered and are not connected yet, at least 4. 0: half of the places, or a quarter if there are several
    keys."""
    offers_per_s: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 5.0
    """Calls offered a second, in the long run; twice `max_calls` may come at once."""
    minutes_a_day: Annotated[float, msgspec.Meta(ge=0, le=10**7)] = 0.0
    """Minutes of calls a day, regained evenly over it and counted since the server started; 0: no limit."""


class AdmissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the calls that are carried at once."""

    max_calls: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 16
    context_tokens_per_call: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 8192
    """The language model's memory that a call may grow to take: `voiceagent plan --context`."""
    kv_tokens: Tokens = 0
    """The memory of all calls together, if the language model cannot report it or others use it too; 0: what the model
    reports."""
    queue: QueueSettings = QueueSettings()
    per_client: QuotaSettings = QuotaSettings()
