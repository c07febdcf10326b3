"""A leg that stands between another one and its call, and passes all on. Subclasses change what they are there for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from voiceagent.json_types import JsonObject
from voiceagent.media.leg import InboundFrame, Leg


class LegWrapper:
    """Implements `Leg` by the leg that it is given."""

    def __init__(self, leg: Leg) -> None:
        self.kind = leg.kind
        self.playout = leg.playout
        self.cleaner = leg.cleaner
        self._leg = leg

    def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg`."""
        return self._leg.frames()

    def client_events(self) -> AsyncIterator[str]:
        """See `Leg`."""
        return self._leg.client_events()

    def send_event(self, event: JsonObject) -> None:
        """See `Leg`."""
        self._leg.send_event(event)

    @property
    def end_reason(self) -> str:
        """See `Leg`."""
        return self._leg.end_reason

    @property
    def counters(self) -> Mapping[str, int]:
        """See `Leg`."""
        return self._leg.counters

    @property
    def drops(self) -> Mapping[str, int]:
        """See `Leg`."""
        return self._leg.drops

    async def wait_connected(self) -> bool:
        """See `Leg`."""
        return await self._leg.wait_connected()

    async def close(self) -> None:
        """See `Leg`."""
        await self._leg.close()
