"""One handle at the gateway. It carries one call at a time, and passes the gateway's events on to the call's leg."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from voiceagent.audio.g711 import ComfortNoise
from voiceagent.errors import MediaError
from voiceagent.media.webrtc.ports import MediaPorts
from voiceagent.settings.telephone import SipSettings
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.phone_leg import TRANSFERRED
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.janus_client import SIP_PATIENCE, GatewayError, JanusHandle, SipPatience
from voiceagent.telephone.sip.janus_messages import call_cause
from voiceagent.telephone.sip.sip_leg import SipLeg, SipLegOptions
from voiceagent.telephone.telephone_events import CLOCK_HZ
from voiceagent.telephone.transfer.sip_transfers import SipTransfers
from voiceagent.telephone.transfer.warm import CallColleague

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 10.0
RINGS_S = 0.2
"""The least time that a call rings. Janus reports a call before it can send an answer to it. It loses an answer or a refusal that
comes sooner, but reports that the call is up, or over; its caller goes on hearing that it rings."""
FIRST_ERROR = 300
"""SIP's statuses from here on are no success."""
SETTLES_S = 1.0
"""The time after which Janus has freed a call's connection, if it does not report it."""


class CallRefused(MediaError):
    """A call that we made did not come about; `code` is SIP's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class SipCall:
    """A handle. `leg` is there while it carries a call."""

    def __init__(
        self,
        settings: SipSettings,
        ports: MediaPorts,
        tasks: TaskOwner,
        call_colleague: CallColleague,
        on_idle: Callable[[], None] = lambda: None,
        patience: SipPatience = SIP_PATIENCE,
    ) -> None:
        """`tasks` are the line's, `call_colleague` uses another handle, and `on_idle` is called when a call is over."""
        self.handle: JanusHandle | None = None
        self.leg: SipLeg | None = None
        self.is_busy = False
        self.places = False
        """True while it is reserved for a call that we make."""
        self.freed_s = float("-inf")  # when its last call was over, on the loop's clock
        self._settings = settings
        self._tasks = tasks
        self._on_idle = on_idle
        self._transfers = SipTransfers(settings.targets, self._refer, call_colleague, tasks)
        level = settings.comfort_noise_dbov
        noise = ComfortNoise(level, CLOCK_HZ) if level is not None else None
        self._options = SipLegOptions(ports, noise, self._transfers if settings.transfers else None, patience)
        self._outcome: asyncio.Future[None] | None = None
        self._is_up = False
        self._has_media = False
        """True while Janus has a connection on this handle."""
        self._settling: asyncio.TimerHandle | None = None
        self._answerable_s = float("-inf")  # when Janus can answer the last call that came, on the loop's clock
        self._refusing = asyncio.Lock()
        self._is_over = False
        """True once the other side, or the gateway, has ended the call."""
        self.on_over: Callable[[], None] = lambda: None
        """Called then."""

    def rang(self) -> None:
        """Janus reports a call on this handle."""
        self._answerable_s = asyncio.get_running_loop().time() + RINGS_S

    def reserve(self, *, places: bool = False) -> None:
        """A call is about to be made on this handle (`places`), or rings on it."""
        self.is_busy, self.places, self._is_over = True, places, False

    @property
    def rings(self) -> bool:
        """True while a call waits to be taken."""
        return self.is_busy and not self._is_over and self.leg is None

    def free(self) -> None:
        """The call that was to be made is over, or was never begun."""
        if self.leg is None and self._settling is None:
            self._settled()

    async def take(self, incoming: janus.Incoming) -> SipLeg:
        """Take the call that rings. Raises CallRefused where the caller has given up, MediaError, GatewayError."""
        leg, answer = await SipLeg.answer(incoming.offer, incoming.facts, self._released, self._options)
        self._attach(leg)
        try:
            await self._answerable()
            if self._is_over:
                raise CallRefused(f"{incoming.facts.caller} gave up before the call was taken", 487)
            self._outcome = asyncio.get_running_loop().create_future()
            await self._send(janus.accept(answer))
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._outcome
        except TimeoutError as error:
            await leg.close()
            raise MediaError(f"the call of {incoming.facts.caller} did not come about: nobody acknowledged its answer") from error
        except BaseException:
            await leg.close()
            raise
        leg.taken()
        return leg

    async def dial(self, uri: str, ring_timeout_s: float) -> SipLeg:
        """Call somebody, and wait until they take the call. Raises CallRefused, MediaError, GatewayError."""
        facts = CallFacts(self._settings.account, uri, outbound=True)
        leg, offer = await SipLeg.offer(facts, self._released, self._options)
        try:
            async with self._refusing:  # what Janus tells of the caller who is refused in favour of this call is not its outcome
                self._attach(leg)
                self._outcome = asyncio.get_running_loop().create_future()
                self._is_over = False
                await self._send(janus.call(uri, offer))
            async with asyncio.timeout(ring_timeout_s):
                await self._outcome
        except TimeoutError as error:
            await leg.close()
            raise CallRefused(f"{uri} did not answer within {ring_timeout_s:g} s", 408) from error
        except BaseException:
            await leg.close()
            raise
        leg.taken()
        return leg

    async def refer(self, leg: SipLeg, uri: str) -> str:
        """Have the other side call an address instead of us. Returns the reason of a failure, or nothing."""
        return await self._transfers.refer(leg, uri)

    async def decline(self, code: int) -> None:
        """Refuse the call that rings, as soon as Janus can, unless its caller has given up."""
        try:
            async with self._refusing:
                await self._answerable()
                if not self._is_over:
                    await self._send(janus.decline(code))
        except GatewayError as error:
            log.warning("%s", error)

    async def _answerable(self) -> None:
        await asyncio.sleep(self._answerable_s - asyncio.get_running_loop().time())

    def on_event(self, event: janus.Event) -> None:
        """Handle an event that the gateway reports of the call."""
        match event:
            case janus.EarlyMedia(answer):
                self._tasks.start_alone(self._settle(answer, is_up=False), "sip event")
            case janus.Answered(answer):
                self._tasks.start_alone(self._settle(answer, is_up=True), "sip event")
            case janus.Updating(offer):
                self._tasks.start_alone(self._update(offer), "sip event")
            case janus.Ended():
                self._ended(event)
            case janus.TransferProgress(code, reason):
                self._transfers.told(code, reason)
            case janus.Failed(code, reason):
                self._failed(code, reason)
            case janus.MediaLost():
                self._media_lost()

    def lost(self) -> None:
        """The gateway has gone, and the call with it."""
        self.handle, self._is_over = None, True
        self._fail(GatewayError("the connection to Janus was lost"))
        self.on_over()
        if self.leg is not None:
            self.leg.end("lost")

    def _attach(self, leg: SipLeg) -> None:
        self.leg = leg
        self._has_media = True

    async def _settle(self, answer: str, *, is_up: bool) -> None:
        leg = self.leg
        if leg is None:
            return
        try:
            await leg.settle(answer)
        except MediaError as error:
            self._fail(error)
            return
        if is_up:
            self._is_up = True
            if self._outcome is not None and not self._outcome.done():
                self._outcome.set_result(None)

    async def _update(self, offer: str) -> None:
        if self.leg is None:
            return
        if not offer:
            log.warning("a re-INVITE without an offer was not answered: voiceagent takes none")
            return
        try:
            await self._send(janus.update(self.leg.update(offer)))
        except GatewayError as error:
            log.warning("a re-INVITE was not answered: %s", error)

    def _media_lost(self) -> None:
        self._has_media = False
        if self._settling is not None:
            self._settled()
        elif self.leg is not None and self._is_up:
            self.leg.closed_by_gateway()

    def _ended(self, event: janus.Ended) -> None:
        self._is_over = True
        self.on_over()
        leg, called = self.leg, self.leg.facts.called if self.leg is not None else ""
        is_transferred = self._transfers.left()
        broke = self._is_up and event.code >= FIRST_ERROR and not is_transferred
        if broke:
            log.warning("a call broke off: the other side reports %d %s", event.code, event.reason)
        self._fail(CallRefused(call_cause(called, event.code, event.reason), event.code))
        if leg is not None:
            leg.end(TRANSFERRED if is_transferred else "lost" if broke else "hangup")

    def _failed(self, code: int, reason: str) -> None:
        if self._transfers.refused(reason):
            return
        if self._outcome is not None and not self._outcome.done():
            self._fail(GatewayError(f"Janus refused the call: {reason} ({code})"))
        else:
            log.warning("Janus refused a request of a call: %s (%d)", reason, code)

    def _fail(self, error: Exception) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_exception(error)
            self._outcome.exception()

    async def _released(self) -> None:
        """The leg was closed: end the call at the gateway."""
        try:
            await self._answerable()
            if self.handle is not None and not self._is_over:
                await self._send(janus.hang_up())
        except GatewayError as error:
            log.warning("a call was not hung up: %s", error)
        self.leg = None
        self._idle()

    def _idle(self) -> None:
        """The call is over; Janus may take a moment to free its connection, and until then the handle carries no other."""
        self._outcome, self._is_up = None, False
        if self._has_media and self.handle is not None:
            self._settling = asyncio.get_running_loop().call_later(SETTLES_S, self._settled)
        else:
            self._settled()

    def _settled(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = None
        self.is_busy = self.places = self._has_media = False
        self.freed_s = asyncio.get_running_loop().time()
        self._on_idle()

    async def _refer(self, uri: str) -> None:
        await self._send(janus.transfer(uri))

    async def _send(self, request: janus.Request) -> None:
        if self.handle is None:
            raise GatewayError("there is no connection to Janus; the log says why")
        await self.handle.send(request)
