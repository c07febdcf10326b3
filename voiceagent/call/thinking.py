"""The language model and the tools of a call, as tasks. Generations and runs of tools belong to their reply."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from voiceagent.call.journal import effect_may_always_begin
from voiceagent.call.scope import CallScope
from voiceagent.call.tool_contexts import ToolContexts
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall, tokens_of
from voiceagent.conversation.rules import ANY_TOOL, ReplyRules
from voiceagent.errors import EngineError
from voiceagent.guard.checks import Guards
from voiceagent.guard.window import OutputWindow, WindowCheck
from voiceagent.llm.engine import (
    Generated,
    GeneratedText,
    LlmEngine,
    Lull,
    Thought,
    TokenCount,
    Urgency,
    forced_call,
    prompt_text,
    written,
)
from voiceagent.llm.sent_prompt import SentPrompt
from voiceagent.task_owner import running
from voiceagent.text_normalization.prose import Prose
from voiceagent.tools.call_context import CallContext
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.runner import failed

log = logging.getLogger(__name__)

_WORD = re.compile(r"\s*\S+")
PREFILL = "prefill"
SUMMARISING = "summarising"
MAX_SUMMARY_CHARACTERS = 1500
MOST_READ_AHEAD = 256
"""The most pieces of a generation that wait for a guard's plugins."""
EFFECTS = "tools with effects"
FAILED = "The language model failed; the server's log says why."
"""The message for the client. It names no addresses and quotes no other server."""
NOT_CALLED = "The language model called no tool, though tool_choice asks for a call."
NOT_NOTED = "It was not done: the server could not take note of it first. It may be tried again."
NOT_OFFERED = "The tool that tool_choice names is not offered any more."


def owner(reply_id: int) -> str:
    """The owner of a reply's tasks."""
    return f"reply {reply_id}"


def lookup_owner(reply_id: int, call_id: str) -> str:
    """The owner of the task of a reply's tool that has no effect. It is a part of the reply."""
    return f"{owner(reply_id)}/{call_id}"


def _speculative_task(speculative_id: int) -> str:
    return f"speculative tool {speculative_id}"


@dataclass(frozen=True, slots=True)
class Wording:
    """Changes texts between the language model, the tools and the voice."""

    take_marks: Callable[[str], str] = lambda output: output
    """Removes the marks for the voice from a tool's result, and remembers them."""
    new_prose: Callable[[], Prose] = Prose
    """Makes the filter that removes markup from a generation's text."""


AS_WRITTEN = Wording()


def _speak_nothing(reply_id: int, text: str, last: bool) -> None:
    """Begins nothing ahead."""


class _Pieces:
    """The pieces of a generation. While a guard's plugins are asked, they are read ahead, so that all the text that has come
    meanwhile is asked about at once."""

    def __init__(self, stream: AsyncGenerator[Generated, None]) -> None:
        self._stream = stream
        self._waiting: asyncio.Queue[Generated | Exception | None] | None = None

    @property
    def more(self) -> bool:
        """True if another piece, or the end, is here already."""
        return self._waiting is not None and not self._waiting.empty()

    async def __aiter__(self) -> AsyncIterator[Generated]:
        if self._waiting is None:
            async for piece in self._stream:
                yield piece
            return
        while (found := await self._waiting.get()) is not None:
            if isinstance(found, Exception):
                raise found
            yield found

    @asynccontextmanager
    async def read_ahead(self) -> AsyncIterator[None]:
        """Read the stream beside the body."""
        waiting: asyncio.Queue[Generated | Exception | None] = asyncio.Queue(MOST_READ_AHEAD)
        self._waiting = waiting
        async with running(self._read(waiting), "pieces"):
            yield

    async def _read(self, waiting: asyncio.Queue[Generated | Exception | None]) -> None:
        end = None
        try:
            async for piece in self._stream:
                await waiting.put(piece)
        except Exception as error:  # noqa: BLE001 - whoever takes the pieces raises it
            end = error
        await waiting.put(end)


@dataclass(slots=True)
class _Generation:
    """One generation of a reply, and what its text goes through."""

    reply_id: int
    prose: Prose
    window: OutputWindow
    max_tokens: int = 0
    """0: no limit."""
    must_call: str = ""
    """See `ReplyRules.must_call`."""
    may_call: bool = False
    """True if the model is offered tools."""
    tokens: int = 0
    is_enough: bool = False
    """True once nothing more of it is wanted."""

    @property
    def is_full(self) -> bool:
        """True once it has as many tokens as it may."""
        return 0 < self.max_tokens <= self.tokens

    def admit(self, text: str) -> str:
        """Count a piece of text, and return as much of it as the limit lets through: an engine may give a whole sentence."""
        words = _WORD.findall(text)
        if not self.max_tokens or len(words) <= 1:
            self.tokens += 1
            return text
        for count, word in enumerate(words):
            if self.is_full:
                return "".join(words[:count])
            self.tokens += max(1, round(tokens_of(word)))
        return text


class Thinking:
    """One per call. One generation runs at a time. The next one waits until the cancelled one has released the model."""

    def __init__(
        self,
        scope: CallScope,
        engine: LlmEngine,
        tools: CallTools,
        guards: Guards,
        tool_timeout_s: float,
        contexts: ToolContexts,
        wording: Wording = AS_WRITTEN,
        speak_ahead: Callable[[int, str, bool], object] = _speak_nothing,
        effect_may_begin: Callable[[], Awaitable[bool]] = effect_may_always_begin,
    ) -> None:
        """`speak_ahead` is told a reply's text about which a guard's plugins are asked, and true if no text follows it.
        `effect_may_begin` is asked before a tool with an effect runs."""
        self._call_id = scope.call_id
        self._engine = engine
        self.session = engine.open(scope.call_id)
        self._tools = tools
        self._guards = guards
        self._tool_timeout_s = tool_timeout_s
        self._clock = scope.clock
        self._tasks = scope.tasks
        self._post = scope.post
        self._engine_used = scope.engine_used
        self._prompted = scope.prompted
        self._wording = wording
        self._contexts = contexts
        self._speak_ahead = speak_ahead
        self._effect_may_begin = effect_may_begin
        self._turn = asyncio.Lock()
        self._made: _Generation | None = None
        """The last generation."""
        self._window_of = -1
        self._window: OutputWindow
        self._wanted: act.Prefill | None = None
        self._reading: asyncio.Task[None] | None = None

    def take_over(self, guards: Guards, tool_timeout_s: float) -> None:
        """Another agent goes on with the call."""
        self._guards, self._tool_timeout_s = guards, tool_timeout_s

    def generate(self, action: act.Generate) -> None:
        """Start a generation. A running prefill is cancelled."""
        self._wanted = None
        self._tasks.cancel(PREFILL)
        self._tasks.start(owner(action.reply_id), self._generate(action))

    def end_generation(self, reply_id: int) -> None:
        """Stop the reply's generation once the text that has come is passed on. Nothing is posted of its end."""
        if self._made is not None and self._made.reply_id == reply_id:
            self._made.is_enough = True

    async def _generate(self, action: act.Generate) -> None:
        reply_id = action.reply_id
        if reply_id != self._window_of:
            asked = partial(self._speak_ahead, reply_id)
            self._window_of, self._window = reply_id, OutputWindow(self._guards.output, self._guards.window_tokens, asked)
        rules = action.rules or ReplyRules()
        schemas = self._tools.schemas(rules.client_tools) if rules.uses_tools else []
        prose = self._wording.new_prose()
        made = _Generation(reply_id, prose, self._window, rules.max_tokens, rules.must_call, bool(schemas))
        self._made = made
        urgency = Urgency.SPECULATIVE if action.speculative else Urgency.REPLY
        answered = called = begun = False
        count = TokenCount(0, 0)
        if rules.must_call and not any(rules.must_call in (ANY_TOOL, schema["function"]["name"]) for schema in schemas):
            self._post(ev.GenerationFailed(self._clock.now_ms(), reply_id, NOT_OFFERED))
            return
        async with self._turn:
            try:
                async with AsyncExitStack() as stack:
                    stream = self.session.generate(action.messages, schemas, urgency, **forced_call(rules.must_call))
                    pieces = _Pieces(await stack.enter_async_context(aclosing(stream)))
                    if self._guards.output.asks_plugins:
                        await stack.enter_async_context(pieces.read_ahead())
                    async for piece in pieces:
                        begun = True
                        if isinstance(piece, TokenCount):
                            count = piece
                            continue
                        called = called or isinstance(piece, ToolCall)
                        answered = answered or called or isinstance(piece, GeneratedText)
                        if not await self._take(made, piece, more=pieces.more):
                            return
                        if made.is_enough:
                            self._engine_used("llm", "")
                            return
                        if made.is_full or (rules.one_call and called):
                            break
                if not await self._end_text(made):
                    return
            except EngineError as error:
                self._engine_used("llm", error.kind)
                log.warning("call %s: reply %d failed: %s", self._call_id, reply_id, error)
                self._post(ev.GenerationFailed(self._clock.now_ms(), reply_id, FAILED))
                return
            finally:
                text = prompt_text(self.session) if begun else ""
                self._prompted(SentPrompt(reply_id, action.speculative, action.messages, schemas, rules.must_call, text, count))
        if answered:
            self._engine_used("llm", "")
        if rules.must_call and not called and not made.is_full:
            log.warning("call %s: reply %d calls no tool, though it must", self._call_id, reply_id)
            self._post(ev.GenerationFailed(self._clock.now_ms(), reply_id, NOT_CALLED))
            return
        now_ms = self._clock.now_ms()
        self._post(ev.GenerationDone(now_ms, reply_id, made.is_full, count.prompt, count.generated, count.cached))

    async def _take(self, made: _Generation, piece: Generated, *, more: bool) -> bool:
        """Post what came from the language model; `more` has come already. Returns False if the guard stopped the generation."""
        reply_id = made.reply_id
        if isinstance(piece, GeneratedText):
            text = made.admit(piece.text)
            if made.must_call:  # the answer is the call
                return True
            return self._pass_on(made, await made.window.add(made.prose.feed(text), more=more))
        if isinstance(piece, ToolCall):
            if not await self._end_text(made):
                return False
            self._post(ev.ToolCallRequested(self._clock.now_ms(), reply_id, piece.call_id, piece.name, piece.arguments))
            return True
        if isinstance(piece, Lull) and piece.writes_call:
            if not await self._end_text(made):
                return False
            self._post(ev.ToolCallBegun(self._clock.now_ms(), reply_id))
            return True
        if isinstance(piece, Thought):
            self._post(ev.ThoughtGenerated(self._clock.now_ms(), reply_id, piece.tokens))
        return await self._pause_text(made)

    async def _end_text(self, made: _Generation) -> bool:
        """Flush the text at the end of a generation or before a tool call. Returns False if the guard stopped the generation."""
        if not self._pass_on(made, await made.window.add(made.prose.finish())):
            return False
        return self._pass_on(made, await made.window.finish())

    async def _pause_text(self, made: _Generation) -> bool:
        """Pass on a sentence that has ended, because no text comes for now. Returns False if the guard stopped the generation."""
        if (left := made.prose.pause()) and not self._pass_on(made, await made.window.add(left)):
            return False
        return self._pass_on(made, await made.window.pause())

    def _pass_on(self, made: _Generation, checked: WindowCheck | None) -> bool:
        """Post text that the guard let pass. Returns False if it stopped the generation, which is then closed."""
        if checked is None:
            return True
        now_ms, reply_id, verdict = self._clock.now_ms(), made.reply_id, checked.verdict
        if verdict.blocked:
            self._post(ev.OutputBlocked(now_ms, reply_id, verdict.rule, verdict.line, checked.guard_ms))
        elif checked.text:
            times = checked.held_ms, checked.guard_ms
            self._post(ev.TextDelta(now_ms, reply_id, checked.text, checked.tokens, *times, made.may_call))
        return not verdict.blocked

    def prefill(self, action: act.Prefill) -> None:
        """Have the model read the beginning of the next prompt while no generation runs."""
        self._wanted = action
        if self._reading is None or self._reading.done():
            self._reading = self._tasks.start(PREFILL, self._run_prefill())

    async def _run_prefill(self) -> None:
        """Prefill one prompt at a time. The newest request replaces those that wait."""
        while self._wanted is not None:
            action, self._wanted = self._wanted, None
            async with self._turn:
                with suppress(EngineError):  # a prefill is optional: the generation reports the error
                    if action.predict_for is None or self._engine.load >= 1:
                        await self.session.prefill(action.messages, self._tools.schemas())
                    else:
                        await self._predict(action.predict_for, action.messages)

    async def _predict(self, utterance_id: int, messages: tuple[Message, ...]) -> None:
        """Ask the model which tools it would call. Stop when it generates text instead."""
        tools = self._tools.schemas()
        async with aclosing(self.session.generate(messages, tools, Urgency.SPECULATIVE)) as stream:
            async for piece in stream:
                if isinstance(piece, GeneratedText):
                    return
                if isinstance(piece, ToolCall):
                    self._post(ev.ToolPredicted(self._clock.now_ms(), utterance_id, piece.name, piece.arguments))

    def summarise(self, action: act.Summarise) -> None:
        """Start to summarise the conversation, or the beginning of it, in a session of its own."""
        self._tasks.start(SUMMARISING, self._summarise(action))

    async def _summarise(self, action: act.Summarise) -> None:
        name = f"{self._call_id} summary"
        urgency = Urgency.REPLY if action.handoff else Urgency.AHEAD
        try:
            async with asyncio.timeout(action.timeout_ms / 1000.0):
                text = await written(self._engine, name, action.messages, urgency, MAX_SUMMARY_CHARACTERS)
        except (EngineError, TimeoutError) as error:
            lost = "the next agent reads no summary" if action.handoff else "its beginning is forgotten"
            log.warning("call %s: %s, summing it up failed (%s)", self._call_id, lost, str(error) or "too late")
            text = ""
        summary = " ".join(text.split())[:MAX_SUMMARY_CHARACTERS]
        self._post(ev.Summarised(self._clock.now_ms(), summary, action.handoff))

    async def close(self) -> None:
        """The call is over. Free what the language model keeps for it."""
        await self.session.close()

    def run_tool(self, action: act.RunTool) -> None:
        """Start a tool. A tool with effects is not cancelled with its reply, and its result is still reported. Any other is
        cancelled with its reply, unless that says otherwise."""
        has_effects = self._tools.policy(action.name).effect != "none"
        if has_effects:
            self._tasks.start(EFFECTS, self._run_effect(action))
        else:
            self._tasks.start(lookup_owner(action.reply_id, action.call_id), self._run_tool(action))

    async def _run_effect(self, action: act.RunTool) -> None:
        if await self._effect_may_begin():
            await self._run_tool(action)
            return
        log.warning("call %s: the tool %s was not run, because the store takes no note of it", self._call_id, action.name)
        not_run = failed(NOT_NOTED)
        self._post(ev.ToolFinished(self._clock.now_ms(), action.reply_id, action.call_id, not_run.output, not_run.ok))

    async def _run_tool(self, action: act.RunTool) -> None:
        context = self._contexts.of(action.name, action.reply_id, action.call_id)
        output, ok = await self._tool_output(action.call_id, action.name, action.arguments, context)
        self._post(ev.ToolFinished(self._clock.now_ms(), action.reply_id, action.call_id, output, ok))

    def run_speculatively(self, action: act.RunSpeculativeTool) -> None:
        """Start a tool before its turn is committed."""
        self._tasks.start(_speculative_task(action.speculative_id), self._run_speculatively(action))

    def cancel_speculative_tool(self, speculative_id: int) -> None:
        """Cancel a speculative tool call. Nothing needs its result any more."""
        self._tasks.cancel(_speculative_task(speculative_id))

    async def _run_speculatively(self, action: act.RunSpeculativeTool) -> None:
        context = self._contexts.of(action.name, -1, "", action.speculative_id)
        output, ok = await self._tool_output("", action.name, action.arguments, context)
        self._post(ev.SpeculativeToolFinished(self._clock.now_ms(), action.speculative_id, output, ok))

    async def _tool_output(self, call_id: str, name: str, arguments: str, context: CallContext[object]) -> tuple[str, bool]:
        """Returns a tool's answer to the model, and true when it succeeded."""
        cards = self._contexts.cards
        outcome = await self._tools.run(call_id, name, cards.reveal(arguments), self._tool_timeout_s, context)
        self._contexts.ended(name, outcome.orders if name in self._tools.agents.names else {})
        return self._wording.take_marks(cards.hide_known(outcome.output)), outcome.ok
