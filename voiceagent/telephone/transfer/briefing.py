"""Briefs the colleague of a warm transfer: sums the conversation up by the language model and says it in the agent's voice. The
words to the colleague are not part of the conversation: the history holds only what the caller heard."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

import numpy as np

from voiceagent.audio.format import PLAYED_HZ
from voiceagent.audio.resample import StreamResampler
from voiceagent.call.feature import RunningCall
from voiceagent.call.scope import AgentParts
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.engine import Urgency, written
from voiceagent.media.playout import Playout
from voiceagent.telephone.transfer.interface import TRANSFERRED
from voiceagent.turn_taking.language import TransferWords
from voiceagent.turn_taking.languages import language

SUMMARY_TIMEOUT_S = 15.0
MAX_SUMMARY_CHARACTERS = 400
"""Half a minute of speech; the rest is left out, from the end of a sentence on."""
REPLY, GONE_REPLY = 0, 1
NOTHING = np.zeros(0, np.int16)

log = logging.getLogger(__name__)


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
