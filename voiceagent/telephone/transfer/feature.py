"""The transfer of a caller to a person: because they asked for one or pressed the key for it, or because the language model
called the tool `transfer`. If nobody takes the call, the turn engine gets an event and the agent goes on. In a warm transfer
the agent briefs the colleague: it sums the conversation up by the language model, and says that in its voice. The words to the
colleague are not part of the conversation: the history holds only what the caller heard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec
import numpy as np

from voiceagent.audio.format import PLAYED_HZ
from voiceagent.audio.resample import StreamResampler
from voiceagent.call.observer import RunningCall
from voiceagent.call.scope import AgentParts
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.conversation.state import Phase
from voiceagent.errors import EngineError
from voiceagent.json_types import JsonObject
from voiceagent.llm.engine import Urgency, written
from voiceagent.media.playout import Playout
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import HumanSettings
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.telephone.phone_leg import TRANSFERRED, ColleagueBriefing, PhoneLeg
from voiceagent.telephone.sip.sip_leg import SipLeg
from voiceagent.telephone.transfer.sip_transfers import longest_transfer_s
from voiceagent.tools.schemas import ArgumentSchema, SchemaTool
from voiceagent.tools.tool import RunScope, Tool, ToolError, ToolPolicy
from voiceagent.turn_taking.language import TransferWords
from voiceagent.turn_taking.languages import language

log = logging.getLogger(__name__)


# --- the briefing of a colleague --------------------------------------------------------------------------------------

SUMMARY_TIMEOUT_S = 15.0
MAX_SUMMARY_CHARACTERS = 400
"""Half a minute of speech; the rest is left out, from the end of a sentence on."""
REPLY, GONE_REPLY = 0, 1
NOTHING = np.zeros(0, np.int16)


class AgentBriefing:
    """Implements `ColleagueBriefing`."""

    def __init__(self, call: RunningCall, parts: AgentParts, summary_timeout_s: float = SUMMARY_TIMEOUT_S) -> None:
        self._call = call
        self._parts = parts
        self._summary_timeout_s = summary_timeout_s

    @property
    def _code(self) -> str:
        return self._call.state.spoken.code

    @property
    def _words(self) -> TransferWords:
        return language(self._code).transfer

    async def summary(self) -> str:
        """See `ColleagueBriefing`."""
        try:
            async with asyncio.timeout(self._summary_timeout_s):
                text = shortened(await self._summed_up())
        except (EngineError, TimeoutError) as error:
            log.warning("call %s: summing it up for a colleague failed (%s)", self._call.call_id, error or "timeout")
            text = ""
        checks = self._parts.guards.output
        if text and checks and (await checks.output("", text, last=True)).blocked:
            log.warning("call %s: its summary for a colleague was withheld by a guard", self._call.call_id)
            text = ""
        return text or self._words.unknown

    async def _summed_up(self) -> str:
        memory = self._call.state.memory
        earlier = (Message("system", memory.summary),) if memory.summary else ()
        messages = (*earlier, *memory.history, Message("user", self._words.ask))
        prose = self._parts.speech.prose(self._code)
        llm, name = self._parts.engines.llm, f"{self._call.call_id} summary"
        text = await written(llm, name, messages, Urgency.REPLY, MAX_SUMMARY_CHARACTERS, prose.feed)
        return text + prose.finish()

    async def brief(self, playout: Playout, summary: str, key: str) -> None:
        """See `ColleagueBriefing`."""
        words = self._words
        asks = words.press.format(key=key) if key else ""
        await self._say(playout, REPLY, words.opening, summary, asks)

    async def say_caller_left(self, playout: Playout) -> None:
        """See `ColleagueBriefing`."""
        await self._say(playout, GONE_REPLY, self._words.gone)

    async def _say(self, playout: Playout, reply_id: int, *texts: str) -> None:
        voice = self._parts.speech.voice(self._code)
        for clause, text in enumerate(filter(None, texts)):
            resampler = StreamResampler(voice.sample_rate_hz, PLAYED_HZ)
            try:
                async with aclosing(voice.synthesise(text)) as chunks:
                    async for chunk in chunks:
                        playout.push(reply_id, clause, resampler.process(chunk.pcm), complete=False)
            except EngineError as error:
                log.warning("call %s: a colleague was not briefed fully (%s)", self._call.call_id, error)
            playout.push(reply_id, clause, resampler.process(NOTHING, last=True), complete=True)

    def say_connected(self) -> None:
        """See `ColleagueBriefing`."""
        self._call.feed(ev.LastWords(self._call.now_ms(), self._words.joined, TRANSFERRED))


def shortened(text: str) -> str:
    """On one line, of at most `MAX_SUMMARY_CHARACTERS`, cut at the end of a sentence where there is one."""
    line = " ".join(text.split())
    if len(line) <= MAX_SUMMARY_CHARACTERS:
        return line
    kept = line[:MAX_SUMMARY_CHARACTERS]
    end = max(kept.rfind(mark) for mark in ".!?")
    return kept[: end + 1] if end > 0 else kept.rsplit(" ", 1)[0]


# --- the transfer -----------------------------------------------------------------------------------------------------

NAME = "transfer"
OWNER = "transfer"


class TransferFeature(PhoneFeature):
    """Transfers one call. A vendor's stream ends with its transfer, so the agent announces it first. A SIP line reports how a
    transfer goes, and the caller stays with the agent until somebody has taken the call."""

    def __init__(self, leg: PhoneLeg, agent: AgentConfig, parts: AgentParts) -> None:
        is_to_person = leg.can_transfer and not leg.facts.outbound
        self._human = agent.telephony.human if is_to_person else HumanSettings()
        self._leg = leg
        self._agent = agent
        self._parts = parts
        self._wanted = ""
        """The person to whom the language model wants the call to go, after the reply."""
        self._is_running = False
        self._call: RunningCall
        self._briefing: ColleagueBriefing
        if self._human.transfer and self._human.key:
            leg.on_key(self._human.key, self._request)

    def change(self, agent: AgentConfig) -> AgentConfig:
        """The agent, without a person where the caller cannot be transferred to one."""
        agent = with_person(agent, self._human)
        if not self._leg.facts.comes_back:
            return agent
        failed = agent.phrases.text("transfer_failed")
        greeting = language(agent.spoken_languages[0]).sayings.transfer_failed if failed is None else failed
        return msgspec.structs.replace(agent, phrases=agent.phrases.with_greeting(greeting))

    def tools(self) -> Sequence[Tool]:
        """The tool `transfer`, where somebody is named."""
        spoken, telephony = language(self._agent.spoken_languages[0]), self._agent.telephony
        sip = telephony.sip_line if isinstance(self._leg, SipLeg) else None
        names = list(telephony.transfers if sip is None else sip.transfers)
        if not self._leg.can_transfer or not names:
            return ()
        if sip is None:
            return (TransferTool(names, spoken.phone.transfer, self._transfer_after_reply),)
        connecting, longest_s = spoken.transfer.connecting, longest_transfer_s(sip)
        return (TransferTool(names, spoken.phone.transfer, self._transfer_now, connecting, longest_s),)

    def begin(self, call: RunningCall) -> None:
        """Have the call's agent brief colleagues."""
        self._call = call
        self._briefing = AgentBriefing(call, self._parts)

    def carry_out(self, action: act.Action) -> None:
        """Begin where the turn engine says so, or once the reply is over with which the language model announced it."""
        match action:
            case act.Transfer(to):
                self._begin(to or self._human.transfer)
            case act.ReplyEnded() if self._wanted:
                self._begin(self._wanted)

    def _request(self) -> None:
        """The caller pressed the key for a person."""
        self._call.feed(ev.PersonRequested(self._call.now_ms()))

    async def _transfer_after_reply(self, name: str) -> str:
        self._wanted = name
        return language(self._agent.spoken_languages[0]).phone.transferring

    async def _transfer_now(self, name: str) -> str:
        if why := await self._leg.transfer(name, self._briefing):
            raise ToolError(f"The transfer to {name} failed: {why.rstrip('.')}. The caller is still with you.")
        return TRANSFERRED

    def _begin(self, name: str) -> None:
        self._wanted = ""
        if not self._is_running and self._call.state.phase is not Phase.ENDED:
            self._is_running = True
            self._call.tasks.start(OWNER, self._run(name))

    async def _run(self, name: str) -> None:
        call = self._call
        try:
            why = await self._leg.transfer(name, self._briefing)
        except Exception:
            log.exception("a caller could not be transferred to %s", name)
            why = "it broke"
        finally:
            self._is_running = False
        if why:
            log.warning("call %s: the caller was not transferred to %s: %s", call.call_id, name, why)
            call.feed(ev.TransferFailed(call.now_ms()))


class TransferTool(SchemaTool):
    """`transfer`: the language model transfers the caller to somebody of the settings."""

    def __init__(
        self,
        names: Sequence[str],
        description: str,
        transfer: Callable[[str], Awaitable[str]],
        connecting: str = "",
        timeout_s: float | None = None,
    ) -> None:
        """`names` are those to whom the caller may be transferred. `transfer` returns its result for the language model, or
        raises ToolError; `connecting` is said meanwhile, for at most `timeout_s`."""
        to = {"type": "string", "enum": list(names)}
        arguments = ArgumentSchema({"type": "object", "properties": {"to": to}, "required": ["to"]})
        policy = ToolPolicy("external", (connecting,) if connecting else (), timeout_s=timeout_s)
        super().__init__(NAME, description, policy, arguments)
        self._transfer = transfer

    async def run(self, given: JsonObject, scope: RunScope) -> object:
        """See Tool."""
        return {"status": await self._transfer(str(given["to"]))}


def with_person(agent: AgentConfig, human: HumanSettings) -> AgentConfig:
    """The agent, with the person to whom callers are transferred who ask for one; without one by default settings."""
    return msgspec.structs.replace(agent, telephony=msgspec.structs.replace(agent.telephony, human=human))
