"""The calls that ring and wait for the operator's program, which accepts or rejects them by their id."""

from __future__ import annotations

import asyncio

from voiceagent.server.http.problems import Problem
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.call import SipCall


class RingingCall:
    """A call that nobody has taken yet."""

    def __init__(self, line: SipCall, incoming: janus.Incoming) -> None:
        self.line = line
        self.incoming = incoming
        self._settled: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def is_settled(self) -> bool:
        """True once it is known what becomes of the call."""
        return self._settled.done()

    def settle(self, why: str = "") -> None:
        """It is accepted or rejected; or nobody will do that, and `why`."""
        if not self._settled.done():
            self._settled.set_result(why)

    async def wait(self, timeout_s: float) -> str:
        """Wait until it is settled. Returns the reason if nobody has accepted or rejected it."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(self._settled)
        except TimeoutError:
            self.settle()
            return f"nobody accepted it within {timeout_s:g} s"


class RingingCalls:
    """The ringing calls by their ids."""

    def __init__(self) -> None:
        self._by_id: dict[str, RingingCall] = {}

    def add(self, call_id: str, ringing: RingingCall) -> None:
        """A call rings."""
        self._by_id[call_id] = ringing

    def find(self, call_id: str) -> RingingCall:
        """The call, which still rings. Raises Problem (404)."""
        ringing = self._by_id.get(call_id)
        if ringing is None or ringing.is_settled:
            message = f"No call {call_id[:40]!r} rings; it was accepted, rejected or given up, or never was."
            raise Problem(404, "call_not_found", message, param="id")
        return ringing

    def remove(self, call_id: str) -> None:
        """The call rings no more."""
        self._by_id.pop(call_id, None)
