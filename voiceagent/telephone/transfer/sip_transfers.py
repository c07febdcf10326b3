"""Transfers of a SIP call. A blind one has the other side call somebody themselves (REFER, RFC 3515); a warm one is
`warm`'s."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from voiceagent.settings.telephone import SipSettings, TransferTarget
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.phone_leg import TRANSFERRED, ColleagueBriefing
from voiceagent.telephone.sip.janus_client import GatewayError
from voiceagent.telephone.sip.sip_leg import SipLeg
from voiceagent.telephone.transfer.warm import LONGEST_S, CallColleague, transfer_warmly

log = logging.getLogger(__name__)

REFERRED_TIMEOUT_S = 45.0
"""Longest wait for the other side's report of how its attempt went."""
MARGIN_S = 5.0


def longest_transfer_s(settings: SipSettings) -> float:
    """The time within which any transfer ends."""
    warm_s = settings.longest_ring_s + LONGEST_S if settings.longest_ring_s else 0.0
    return max(REFERRED_TIMEOUT_S, warm_s) + MARGIN_S


class SipTransfers:
    """The transfers of one call at a time."""

    def __init__(
        self,
        targets: Mapping[str, TransferTarget],
        refer: Callable[[str], Awaitable[None]],
        call_colleague: CallColleague,
        tasks: TaskOwner,
    ) -> None:
        """`refer` asks the other side to call an address; raises GatewayError. `call_colleague` uses another handle."""
        self._targets = targets
        self._refer = refer
        self._call_colleague = call_colleague
        self._tasks = tasks
        self._running: asyncio.Task[str] | None = None
        self._referred: asyncio.Future[str] | None = None
        """The outcome of the REFER: empty, or its failure."""

    async def transfer(self, leg: SipLeg, name: str, briefing: ColleagueBriefing) -> str:
        """Transfer a leg's call to somebody of the settings. Returns the reason of a failure, or nothing. If a transfer runs
        already, its outcome is returned: a caller may ask for a person while the agent connects them."""
        target = self._targets.get(name)
        if target is None:
            return f"there is nobody called {name!r}"
        if self._running is not None:
            await asyncio.wait((running := self._running,))
            return "it was given up" if running.cancelled() else running.result()
        running = self._running = self._tasks.start(self._transfer(leg, name, target, briefing), "transfer")
        try:
            return await running
        finally:
            self._running = None

    async def refer(self, leg: SipLeg, uri: str) -> str:
        """Have a leg's other side call an address instead of us. Returns the reason of a failure, or nothing."""
        if self._running is not None:
            return "a transfer runs already"
        running = self._running = self._tasks.start(self._blindly(leg, uri), "refer")
        try:
            return await running
        finally:
            self._running = None

    def told(self, code: int, reason: str) -> None:
        """Note the other side's report of its call to the new callee (NOTIFY)."""
        if self._is_referring and code >= 200:
            self._settle("" if code < 300 else f"{code} {reason}")

    def refused(self, reason: str) -> bool:
        """The gateway refused a request. Returns True if that was the REFER."""
        is_ours = self._is_referring
        self._settle(reason)
        return is_ours

    def left(self) -> bool:
        """The other side has left the call. Returns True if it left for somebody whom we sent them to. They need not report how
        that went on."""
        is_transferred = self._referred is not None and (not self._referred.done() or not self._referred.result())
        self._settle("")
        return is_transferred

    @property
    def _is_referring(self) -> bool:
        return self._referred is not None and not self._referred.done()

    def _settle(self, why: str) -> None:
        if self._referred is not None and not self._referred.done():
            self._referred.set_result(why)

    async def _transfer(self, leg: SipLeg, name: str, target: TransferTarget, briefing: ColleagueBriefing) -> str:
        if target.kind == "warm":
            why = await transfer_warmly(leg, target, briefing, self._call_colleague)
        else:
            why = await self._blindly(leg, target.to)
        if why:
            log.warning("the transfer of a call to %s failed: %s", name, why)
        else:
            log.info("a call was transferred to %s", name)
        return why

    async def _blindly(self, leg: SipLeg, uri: str) -> str:
        self._referred = asyncio.get_running_loop().create_future()
        try:
            await self._refer(uri)
            async with asyncio.timeout(REFERRED_TIMEOUT_S):
                why = await self._referred
        except TimeoutError:
            why = f"{uri} did not answer"
        except GatewayError as error:
            why = str(error)
        finally:
            self._referred = None
        if not why:
            leg.end(TRANSFERRED)
        return why
