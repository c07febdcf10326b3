"""One handle at the gateway. It carries one call at a time, and passes the gateway's events on to the call's leg."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine

from voiceagent.audio.comfort_noise import ComfortNoise
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.media.gateway_leg import GatewayLeg
from voiceagent.media.handover import TRANSFERRED
from voiceagent.media.ports import MediaPorts
from voiceagent.server.transfer_tool import described
from voiceagent.server.warm_transfer import Consult, transfer_warmly
from voiceagent.telephony import janus_messages as janus
from voiceagent.telephony.janus_client import GatewayError, JanusHandle
from voiceagent.telephony.messages import CallFacts
from voiceagent.telephony.sip_causes import call_cause
from voiceagent.telephony.sip_settings import SipSettings, TransferTarget
from voiceagent.telephony.telephone_events import CLOCK_HZ
from voiceagent.tools.press_keys import PATTERN

TRANSFER_TIMEOUT_S = 45.0
TRANSFER_TOLD_S = 8.0
"""A transfer that still rings then is told to be under way; should it fail, the agent hears of it."""
ANSWER_TIMEOUT_S = 10.0
RINGS_S = 0.2
"""How long a call rings at least. Janus reports a call before it can send an answer to it. It loses an answer that comes sooner,
but reports that the call is up."""
SETTLES_S = 1.0
"""By then Janus has freed a call's connection, should it not tell."""

log = logging.getLogger(__name__)


class CallRefused(MediaError):
    """A call that we made did not come about; `code` is SIP's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class SipCall:
    """A handle. `leg` is there while it carries a call."""

    def __init__(self, settings: SipSettings, ports: MediaPorts) -> None:
        self.handle: JanusHandle | None = None
        self.leg: GatewayLeg | None = None
        self.is_busy = False
        self.freed_s = float("-inf")  # when its last call was over, on the loop's clock
        self.on_idle: Callable[[], None] = lambda: None
        self.consult: Consult
        """Calls a colleague on another handle; the line sets it."""
        self._settings = settings
        level = settings.comfort_noise_dbov
        self._comfort_noise = ComfortNoise(level, CLOCK_HZ) if level is not None else None
        self._ports = ports
        self._outcome: asyncio.Future[None] | None = None
        self._transfer: asyncio.Future[str] | None = None
        self._is_consulting = False
        self._updates: set[asyncio.Task[object]] = set()
        self._is_up = False
        self._has_media = False
        """Whether Janus has a connection on this handle."""
        self._settling: asyncio.TimerHandle | None = None
        self._is_over = False
        """Whether the other side, or the gateway, has ended the call."""

    def reserve(self) -> None:
        """A call is about to be made on this handle, or rings on it."""
        self.is_busy, self._is_over = True, False

    @property
    def rings(self) -> bool:
        """Whether a call waits to be taken."""
        return self.is_busy and not self._is_over and self.leg is None

    def free(self) -> None:
        """The call that was to be made is over, or was never begun."""
        if self.leg is None and self._settling is None:
            self._settled()

    async def take(self, incoming: janus.Incoming) -> GatewayLeg:
        """Take the call that rings. Raises CallRefused where the caller has given up, MediaError, GatewayError."""
        ready_s = (loop := asyncio.get_running_loop()).time() + RINGS_S
        leg, answer = await GatewayLeg.answer(incoming.offer, incoming.facts, self._released, self._ports)
        self._attach(leg)
        try:
            await asyncio.sleep(ready_s - loop.time())
            if self._is_over:
                raise CallRefused(f"{incoming.facts.caller} gave up before the call was taken", 487)
            self._outcome = loop.create_future()
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

    async def dial(self, uri: str, ring_timeout_s: float) -> GatewayLeg:
        """Call somebody, and wait until they take the call. Raises CallRefused, MediaError, GatewayError."""
        facts = CallFacts(self._settings.account, uri, outbound=True)
        leg, offer = await GatewayLeg.offer(facts, self._released, self._ports)
        self._attach(leg)
        self._outcome = asyncio.get_running_loop().create_future()
        try:
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

    async def decline(self, code: int) -> None:
        """Refuse the call that rings."""
        try:
            await self._send(janus.decline(code))
        except GatewayError as error:
            log.warning("%s", error)

    def on_event(self, event: janus.Event) -> None:
        """What the gateway tells of the call."""
        match event:
            case janus.EarlyMedia(answer):
                self._start(self._settle(answer, is_up=False))
            case janus.Answered(answer):
                self._start(self._settle(answer, is_up=True))
            case janus.Updating(offer):
                self._start(self._update(offer))
            case janus.Ended():
                self._ended(event)
            case janus.TransferProgress(code, reason):
                self._transferred(code, reason)
            case janus.Failed(code, reason):
                self._failed(code, reason)
            case janus.MediaLost():
                self._media_lost()

    def lost(self) -> None:
        """The gateway has gone, and the call with it."""
        self.handle, self._is_over = None, True
        self._fail(GatewayError("the connection to Janus was lost"))
        if self.leg is not None:
            self.leg.end("lost")

    @property
    def tools(self) -> list[JsonObject]:
        """What the agent may do to the call, as the session's tools are written."""
        tools = []
        if self._settings.transfers and not self._settings.longest_ring_s:  # else it is a tool of the leg: `transfer_tool`
            tools.append({"type": "function", **described(self._settings)})
        if self._settings.send_keys:
            keys = {"type": "string", "pattern": PATTERN, "description": "The keys, such as 1 or 42#; w waits half a second."}
            schema = {"type": "object", "properties": {"keys": keys}, "required": ["keys"]}
            why = "Press keys of the telephone, for a menu that asks for them."
            tools.append({"type": "function", "name": "press_keys", "description": why, "parameters": schema})
        return tools

    async def run_tool(self, name: str, arguments: str) -> JsonObject:
        """Run one of `tools`."""
        try:
            given = json.loads(arguments or "{}")
            if name == "transfer":
                return await self._transfer_to(str(given.get("to", "")))
            if name == "press_keys" and self.leg is not None:
                self.leg.press(str(given.get("keys", "")))
                return {"status": "pressed"}
        except (ValueError, AttributeError, MediaError, GatewayError) as error:
            return {"error": str(error)}
        return {"error": f"There is no tool {name}."}

    async def transfer(self, uri: str) -> str:
        """Have the other side call `uri` and leave us; empty when that worked, else why not. Raises GatewayError."""
        self._transfer = asyncio.get_running_loop().create_future()
        await self._send(janus.transfer(uri))
        try:
            async with asyncio.timeout(TRANSFER_TIMEOUT_S):
                return await asyncio.shield(self._transfer)
        except TimeoutError:
            return f"{uri} did not answer"
        finally:
            self._transfer = None

    async def put_through(self, name: str) -> str:
        """Transfer to somebody of the settings, without the language model; why that failed, or nothing."""
        target = self._settings.targets.get(name)
        if target is None:
            return f"there is nobody called {name!r}"
        if self._transfer is not None or self._is_consulting:
            return "the call is being transferred already"
        if target.kind == "warm" and self.leg is not None:
            return str((await self._transfer_warmly(self.leg, name, target)).get("error", ""))
        return await self._transfer_told(name, target.to, tells=False)

    async def _transfer_to(self, name: str) -> JsonObject:
        target = self._settings.targets.get(name)
        if target is None:
            return {"error": f"There is nobody called {name!r}; expected one of {', '.join(self._settings.transfers)}."}
        if self._transfer is not None or self._is_consulting:
            return {"error": "The call is being transferred already."}
        if target.kind == "warm" and self.leg is not None:
            return await self._transfer_warmly(self.leg, name, target)
        transfer = asyncio.create_task(self._transfer_told(name, target.to), name="transfer")
        self._updates.add(transfer)
        transfer.add_done_callback(self._updates.discard)
        done, _ = await asyncio.wait((transfer,), timeout=TRANSFER_TOLD_S)
        if not done:
            return {"status": f"{name} is being called"}
        why = transfer.result()
        return {"error": f"The transfer to {name} failed: {why}"} if why else {"status": "transferred"}

    async def _transfer_warmly(self, leg: GatewayLeg, name: str, target: TransferTarget) -> JsonObject:
        self._is_consulting = True
        try:
            return await transfer_warmly(leg, name, target, self.consult)
        finally:
            self._is_consulting = False

    async def _transfer_told(self, name: str, uri: str, *, tells: bool = True) -> str:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            why = await self.transfer(uri)
        except GatewayError as error:
            why = str(error)
        leg = self.leg
        if why:
            log.warning("the transfer of a call to %s failed: %s", name, why)
            if tells and leg is not None and loop.time() - began_s > TRANSFER_TOLD_S:
                leg.client.type(f"[The transfer to {name} failed: {why}]")
        elif leg is not None:
            log.info("a call was transferred to %s", name)
            leg.end(TRANSFERRED)
        return why

    def _attach(self, leg: GatewayLeg) -> None:
        self.leg = leg
        self._has_media = True
        leg.run_tool = self.run_tool
        leg.comfort_noise = self._comfort_noise
        if self._settings.transfers:
            leg.put_through = self.put_through

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
        if self.leg is None or not offer:
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
            self.leg.end("lost")

    def _ended(self, event: janus.Ended) -> None:
        self._is_over = True
        leg, called = self.leg, self.leg.facts.called if self.leg is not None else ""
        is_transferred = self._transfer is not None and (not self._transfer.done() or not self._transfer.result())
        if self._transfer is not None and not self._transfer.done():
            self._transfer.set_result("")  # who takes a transfer over need not tell how it went on
        self._fail(CallRefused(call_cause(called, event.code, event.reason), event.code))
        if leg is not None:
            leg.end(TRANSFERRED if is_transferred else "hangup")

    def _transferred(self, code: int, reason: str) -> None:
        if self._transfer is not None and not self._transfer.done() and code >= 200:
            self._transfer.set_result("" if code < 300 else f"{code} {reason}")

    def _failed(self, code: int, reason: str) -> None:
        if self._transfer is not None and not self._transfer.done():
            self._transfer.set_result(reason)
        elif self._outcome is not None and not self._outcome.done():
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
        self.is_busy = self._has_media = False
        self.freed_s = asyncio.get_running_loop().time()
        self.on_idle()

    async def _send(self, request: janus.Request) -> None:
        if self.handle is None:
            raise GatewayError("there is no connection to Janus; the log says why")
        await self.handle.send(request)

    def _start(self, work: Coroutine[object, None, None]) -> None:
        task = asyncio.create_task(work, name="sip event")
        self._updates.add(task)
        task.add_done_callback(self._updates.discard)
