"""The `admission:` part of `agent.yaml`."""

from __future__ import annotations

from typing import Annotated

import msgspec

Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class QueueSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Callers who wait for a place instead of being refused at once."""

    length: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """How many may wait; 0: none."""
    wait_s: Annotated[float, msgspec.Meta(ge=0, le=120)] = 10.0
    """How long each may; then it is refused."""


class AdmissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many calls are carried at once."""

    max_calls: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 16
    context_tokens_per_call: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 8192
    """What a call may come to take of the language model's memory: `voiceagent plan --context`."""
    kv_tokens: Tokens = 0
    """The memory of all calls together, where the language model cannot tell it or is used by others too; 0: what it tells."""
    queue: QueueSettings = QueueSettings()
