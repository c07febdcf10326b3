"""Connects a leg, the engines and the turn engine. A call feeds events to the turn engine, carries its actions out, tells the
client, and frees everything when the call ends. It decides nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from msgspec import structs

from voiceagent.call.cards import CallCards
from voiceagent.call.hearing import Hearing, clean, reduce_noise, refusal_of
from voiceagent.call.journal import Journal, JournalNotes, LeftCall, copied, effect_may_always_begin
from voiceagent.call.judging import Judging
from voiceagent.call.memory import release_freed_memory
from voiceagent.call.observer import CallFeature, CallObserver, Observers
from voiceagent.call.rules import changed_rules, legs_of, rules_of_call, tools_of_steps, turn_detection_of
from voiceagent.call.scope import AgentParts, CallClock, CallScope, CallTasks
from voiceagent.call.speaking import Speaking
from voiceagent.call.thinking import Thinking, Wording, lookup_owner, owner
from voiceagent.call.tool_contexts import ToolContexts
from voiceagent.call.vocabulary import recogniser_for
from voiceagent.context.sources import Retrieval
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.handover import HANDED_OVER
from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import Degradation
from voiceagent.conversation.state import LIVE, Phase, State
from voiceagent.guard.checks import admit
from voiceagent.latency.budgets import check_turn
from voiceagent.latency.spans import LegKind, TurnReport
from voiceagent.latency.turns import TurnMeter
from voiceagent.llm.engine import no_forcing
from voiceagent.media.leg import Leg, Sideband
from voiceagent.media.playout import Position
from voiceagent.realtime.event_allowance import AllowanceVerdict, EventAllowance
from voiceagent.realtime.session import BufferRequest, RealtimeSession
from voiceagent.realtime.settings import ClientSettings
from voiceagent.task_owner import running
from voiceagent.tools.call_context import CallOrigin
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.client_mcp import Approval, ClientMcpServer
from voiceagent.tts.spoken_voice import SpokenVoice
from voiceagent.turn_judges.judge import TurnJudge
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.spoken_language import AUTO

log = logging.getLogger(__name__)


NO_ORIGIN = CallOrigin()
FULL = 1.0
"""The load from which on no speculative work begins."""
MAX_SIDEBANDS = 16
"""The most other clients that may take part in a call's events."""
HAND_OVER_S = 1.0
"""The longest wait for words that are being made, before the call goes to another server."""
ABUSE = "abuse"
"""The reason with which a call ends if its client goes on sending too many events."""


def _taken_over(parts: AgentParts, tools: CallTools, name: str) -> AgentParts:
    """The parts of a call with which another agent goes on."""
    other = parts.others[name]
    tools.take_over(other.tools, legs_of(other.agent, tools.legs), tools_of_steps(other.agent))
    return replace(
        parts,
        agent=other.agent,
        guards=other.guards,
        speech=other.speech,
        sources=other.sources,
    )


class Call:
    """A call on one leg. `run` lives as long as the call."""

    def __init__(
        self,
        call_id: str,
        leg: Leg,
        parts: AgentParts,
        tools: CallTools,
        observers: Sequence[CallObserver] = (),
        asked: dict[str, object] | None = None,  # changes of the session that came with the offer
        features: Sequence[CallFeature] = (),
        fixed: Collection[str] = (),  # settings that the client may not change
        origin: CallOrigin = NO_ORIGIN,
        left: LeftCall | None = None,  # what another server has left of the call
    ) -> None:
        self.call_id = call_id
        self.state: State = machine.start(rules_of_call(parts, tools), None if left is None else left.state)
        if self.state.flow.agent:
            parts = _taken_over(parts, tools, self.state.flow.agent)
        agent = parts.agent
        self._left = left
        self._leg = leg
        self._parts = parts
        self._tools = tools
        self._features = features
        self._observers = Observers([*observers, *features])
        self._asked = asked
        self._origin = origin
        self._clock = CallClock()
        self._allowance = EventAllowance()
        self._session = RealtimeSession(
            call_id,
            agent=agent.name,
            instructions=agent.instructions,
            tools=tools.offered,
            offer_tools=tools.offer,
            offer_response_tools=tools.offer_for_response,
            turn_detection=turn_detection_of(agent),
            rate_limits=self._allowance.limits,
            server_of=tools.server_of,
            fixed=fixed,
        )
        self._agents_rules = self.state.rules
        self._sidebands: set[Sideband] = set()
        self._meter = TurnMeter(call_id, agent.profile, leg.kind)
        self._limits_ms = {stage: limit.p95_ms for stage, limit in parts.budgets.of(agent.profile, leg.kind).items()}
        self._events: deque[ev.Event] = deque()
        self._stepping, self._ending = False, ""
        self._resume_token = self._resume_after = ""
        """Told to the client when the call begins, and the last event that it got of one that goes on here."""
        self._stepped = asyncio.Event()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._end_reason: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._closing = AsyncExitStack()
        """Frees what was made for the call."""
        self._journal: JournalNotes | None = None
        self._cards: CallCards
        self._hearing: Hearing
        self._retrieval: Retrieval
        self._judging: Judging
        self._thinking: Thinking
        self._contexts: ToolContexts
        self._speaking: Speaking
        self._voice: SpokenVoice
        self.tasks: CallTasks

    async def run(self) -> str:
        """Serve the call until it ends. Returns why it ended. Everything of the call is then freed, even if this is cancelled."""
        reason = "cancelled"
        try:
            async with asyncio.TaskGroup() as group:
                self._wire(CallTasks(group))
                reason = await self._end_reason
                self.tasks.cancel_all()
        except* Exception as failures:
            log.exception("call %s broke", self.call_id, exc_info=failures)
            reason = "failed"
            self._send(self._session.on_end(reason, self._clock.now_ms()))
        finally:
            if self.state.phase is not Phase.ENDED:  # the call broke: later events must do nothing and set no timers
                self.hang_up(reason)
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            if self._journal is not None:
                self._journal.close()
            await self._free()
        return reason

    def take_leave(self, reason: str) -> None:
        """Have the agent end the call after its reply or a goodbye, unless the caller objects."""
        self._post(ev.EndRequested(self._clock.now_ms(), reason))

    def hang_up(self, reason: str = "hangup") -> None:
        """End the call. May be called at any time, and more than once."""
        self._post(ev.HangUp(self._clock.now_ms(), reason))

    def feed(self, event: ev.Event) -> None:
        """Take an event of a feature. May be called at any time while the call runs."""
        self._post(event)

    def tell_key(self, key: str) -> None:
        """Tell the clients which key the caller pressed."""
        if not self._cards.is_asked:
            self._send(self._session.key_received(key, time.time()))

    def tell_recording(self, *, is_recorded: bool) -> None:
        """Tell the clients that the call is recorded from now on, or no more."""
        self._send(self._session.recording_changed(is_recorded=is_recorded))

    def hide_card(self, keys: str) -> str:
        """The keys that the caller pressed, with a mark in place of a card's number."""
        return self._cards.hide(keys)

    def now_ms(self) -> float:
        """The time on the call's clock."""
        return self._clock.now_ms()

    @property
    def is_over(self) -> bool:
        """True once the clients were told of the end, or another server goes on."""
        return self.state.phase is Phase.ENDED or self._end_reason.done()

    def offer_resumption(self, token: str, after: str = "") -> None:
        """A client that presents this token may take the call over, should its connection be lost. `after` is the last event that
        the client of a call got that another server has left."""
        self._resume_after = after
        self._resume_token = token if self.state.rules.limits.resume_timeout_ms else ""

    def keep_journal(self, journal: Journal) -> None:
        """Tell this journal what the call would leave, from now on. Call it before `run`."""
        self._journal = JournalNotes(journal, self._copied)

    def _copied(self) -> Callable[[], LeftCall | None]:
        return copied(self.call_id, self.state, self._session, self._left_settings, self.now_ms())

    @property
    def _left_settings(self) -> dict[str, object]:
        return {"instructions": self.state.rules.instructions, "tools": self._tools.given}

    def draining(self, timeout_s: float) -> None:
        """The server is about to end, and ends the call with it after this time."""
        self._send(self._session.draining(timeout_s))

    async def hand_over(self) -> LeftCall | None:
        """Stop here; returns what another server needs to go on, and then `leave` must be called. None: the call ends anyway."""
        if not self._session.settings.current.turn_detection.is_manual:
            self._hearing.commit()
        with suppress(TimeoutError):
            async with asyncio.timeout(HAND_OVER_S):
                while self._is_being_made:
                    self._stepped.clear()
                    await self._stepped.wait()
        if self.state.phase not in LIVE or self.state.silence.ending:
            return None
        self._post(ev.HandedOver(self._clock.now_ms()))
        return LeftCall(self.state, self._session.left(), self._left_settings, self.call_id)

    @property
    def _is_being_made(self) -> bool:
        """True while the caller's words, or the agent's, are about to be known."""
        reply = self.state.reply
        return self.state.phase in (Phase.HEARING, Phase.FINALISING) or (reply is not None and reply.generating)

    def leave(self, reason: str = HANDED_OVER) -> None:
        """End a call that was handed over, or that cannot be, for another reason."""
        if not self._end_reason.done():
            self._end_reason.set_result(reason)

    def connection_lost(self, alive_ms: float) -> None:
        """The client's connection is lost. `alive_ms` is its last sign of life, in milliseconds of `time.monotonic`."""
        self._session.lost()
        now_ms, alive_ms = self._clock.now_ms(), self._clock.at_ms(alive_ms)
        heard = self._speaking.take_back(self._speaking.sent_until(alive_ms))
        self._post(ev.ConnectionLost(now_ms, heard, alive_ms if alive_ms <= now_ms else None))

    def caller_returns(self) -> None:
        """The client has presented its token, and its new connection is being made."""
        self._post(ev.CallerReturns(self._clock.now_ms()))

    def connection_replaced(self) -> None:
        """Another connection is about to take the place of one that is up."""
        self._leg.send_event(self._session.replaced())

    def resumed(self, token: str, after: str) -> None:
        """The client is back, and has this token for the next time. `after` is the last event that it got, if it says so."""
        heard = self._speaking.take_back(self._session.audio_got(after))
        for event in self._session.resumed(after, token, self.state.rules.limits.resume_timeout_ms):
            self._leg.send_event(event)
        self._post(ev.ConnectionResumed(self._clock.now_ms(), heard))

    async def _free(self) -> None:
        """Free everything of the call. A failure keeps nothing else from being freed."""
        async with AsyncExitStack() as stack:  # the last one first
            stack.push_async_callback(release_freed_memory)
            stack.push_async_callback(self._closing.aclose)
            for observer in reversed(self._observers.each):
                stack.callback(observer.ended)
            stack.push_async_callback(self._close_leg)
            stack.callback(self._tools.close)

    async def _close_leg(self) -> None:
        try:
            await self._leg.close()
        except Exception:
            log.exception("call %s: its connection broke as it was closed", self.call_id)

    def _wire(self, tasks: CallTasks) -> None:
        parts, turn = self._parts, self._parts.agent.turn
        scope = CallScope(self.call_id, self._clock, tasks, self._post, self._observers.engine_used, self._observers.prompted)
        self.tasks = tasks
        self._voice = parts.speech.voice(self.state.spoken.code)
        self._retrieval = Retrieval(parts.sources, turn.context_timeout_ms, scope.now_ms, tasks.start, self._post)
        self._cards = CallCards(lambda: self.state)
        self._hearing = Hearing(
            scope, parts.engines.stt, turn, parts.guards.input, self._load, self._retrieval.settle, self._cards
        )
        if parts.agent.language == AUTO:
            self._hearing.language = self.state.spoken.code
        wording = Wording(self._voice.take_marks, lambda: self._parts.speech.prose(self.state.spoken.code))
        self._contexts = ToolContexts(
            scope,
            self._tools,
            parts.guards,
            lambda: self.state,
            self._leg.kind,
            self._origin,
            self._client_parameters,
            self._cards,
        )
        self._thinking = Thinking(
            scope,
            parts.engines.llm,
            self._tools,
            parts.guards,
            turn.tool_timeout_s,
            self._contexts,
            wording,
            self._speak_ahead,
            effect_may_always_begin if self._journal is None else self._journal.effect_may_begin,
        )
        self._closing.push_async_callback(self._thinking.close)
        self._judging = Judging(
            scope,
            self._judges,
            self._hearing.utterance_audio,
            self._thinking.session,
            self._tools.schemas,
            self._observers.judged,
        )
        self._speaking = Speaking(scope, self._voice, self._leg.playout)
        self._leg.deliver_audio(self._audio_sent)
        self._session.settings.offer(
            clean(self._leg, parts.agent),
            greets=bool(self.state.rules.phrases.greeting),
            takes_audio=self._leg.kind is LegKind.WEBSOCKET,
            is_telephone=self._leg.kind is LegKind.TELEPHONE,
            languages=tuple(parts.agent.spoken_languages),
            no_forcing=no_forcing(parts.engines.llm),
            tools=(*self._tools.agents.names, *(tool.name for tool in self._tools.legs)),
        )
        timeout_ms = self.state.rules.limits.resume_timeout_ms
        self._learn_words()
        if self._left is not None:
            self._observers.went_on(self._left.call_id, self._left.last)
            self._session.go_on(self._left.session)
            for event in self._session.resumed(self._resume_after, self._resume_token, timeout_ms):
                self._leg.send_event(event)
        else:
            self._send(self._session.start(self._asked))
            if self._resume_token:
                self._leg.send_event(self._session.resumable(self._resume_token, timeout_ms))
        if self._asked or self._left is not None:
            self._apply(self._session.settings.current)
        for feature in self._features:
            feature.begin(self)
        tasks.start("leg", self._frames())
        tasks.start("leg", self._client())
        self._connect_servers()
        self._post(ev.CallStarted(scope.now_ms(), datetime.now().astimezone().date().isoformat()))
        if self._left is not None:
            got = self._session.audio_got(self._resume_after)
            self._post(ev.ConnectionResumed(scope.now_ms(), got and ev.HeardUntil(*got)))

    def _speak_ahead(self, reply_id: int, text: str, last: bool) -> None:
        """Begin to synthesise the reply's next clause while a guard is asked about this text, if the caller waits for it. Nothing
        of it is sent unless the turn engine has it spoken."""
        reply = self.state.reply
        if reply is None or reply.reply_id != reply_id or reply.text_only or not all(clause.over for clause in reply.clauses):
            return
        _, pieces = reply.with_text(text, language(self.state.spoken.code), final=last)
        if pieces:
            self._speaking.prepare(reply_id, pieces[0])

    def _client_parameters(self) -> Mapping[str, object]:
        tracing = self._session.settings.current.tracing
        found = tracing.get("metadata") if isinstance(tracing, dict) else None
        return found if isinstance(found, dict) else {}

    def _learn_words(self) -> None:
        """Tell the ears of the words that may be said from now on."""
        parts = self._parts
        schemas, titles = self._tools.schemas(), parts.sources.titles
        self._hearing.engine = recogniser_for(parts.engines.stt, parts.agent.vocabulary, schemas, titles)

    def _change_language(self, code: str) -> None:
        self._hearing.language = code
        self._voice.switch_to(self._parts.speech.voice(code))

    def _hand_off(self, action: act.AgentChanged) -> None:
        """Another agent goes on: its guard, documents, tools and voice. What the client has set stays."""
        before = self._parts.agent
        parts = self._parts = _taken_over(self._parts, self._tools, action.agent)
        self._hearing.take_over(parts.guards.input)
        self._retrieval.take_over(parts.sources, parts.agent.turn.context_timeout_ms)
        self._thinking.take_over(parts.guards, parts.agent.turn.tool_timeout_s)
        self._contexts.take_over(parts.guards)
        self._voice.switch_to(parts.speech.voice(self.state.spoken.code))
        self._agents_rules = self.state.rules.agents[action.agent]
        is_own = self._session.settings.current.turn_detection == turn_detection_of(before)
        detection = turn_detection_of(parts.agent) if is_own else None
        self._send(self._session.handed_off(parts.agent.name, parts.agent.instructions, detection, summary=action.summary))
        self._apply(self._session.settings.current)

    @property
    def _judges(self) -> Sequence[TurnJudge]:
        """The turn judges. There are none if the endpointing delay is fixed."""
        return self._parts.engines.turn if self.state.rules.endpointing.model is not None else ()

    def _load(self) -> float:
        """The engines' load. A client that sends too much counts as full load, so that it gets no speculative work at the cost of
        others."""
        return FULL if self._strained else max(self._parts.engines.llm.load, self._parts.pressure())

    @property
    def _strained(self) -> bool:
        return self._allowance.is_strained(self._clock.now_ms())

    async def _frames(self) -> None:
        await self._hearing.run(self._leg.frames())
        self.hang_up(self._leg.end_reason or "closed")

    async def _client(self) -> None:
        await reduce_noise(self._leg, wanted=self._session.settings.reduces_noise if self._asked or self._left else None)
        async for text in self._leg.client_events():
            await self._take(text)

    async def _take(self, text: str) -> None:
        """Take one message of a client."""
        if not self._may_send(len(text)):
            return
        outcome = self._session.on_client(text, self._clock.now_ms())
        self._allowance.charge(len(text), self._clock.now_ms(), work=outcome.is_work)
        self._send(outcome.replies)
        if outcome.instructions is not None:
            self._post(ev.InstructionsChanged(self._clock.now_ms(), outcome.instructions))
        if outcome.settings is not None:
            self._apply(outcome.settings)
        await reduce_noise(self._leg, wanted=outcome.reduces_noise)
        for call_id, output in outcome.tool_results:
            self._tools.answer(call_id, output)
        for call_id, is_given, reason in outcome.approvals:
            self._tools.approve(call_id, Approval(is_given, reason))
        self._connect_servers()
        for event in outcome.events:
            self._post(await self.admit(event))
        if outcome.buffer is not None:
            self._end_utterance(outcome.buffer)
        await asyncio.sleep(0)  # one packet may hold many events; other calls' audio gets its turn in between

    def _connect_servers(self) -> None:
        """Connect the MCP servers that the client has named since the last time."""
        for server in self._tools.new_servers():
            self.tasks.start("mcp", self._keep_server(server))

    async def _keep_server(self, server: ClientMcpServer) -> None:
        """Connect a client's MCP server, tell of its tools, and keep it while the session has it."""
        label = server.entry.label
        item_id, events = self._session.tools_listing(label)
        self._send(events)
        try:
            failure = await server.open()
            shown = [
                {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
                for tool in server.tools
            ]
            self._send(self._session.tools_listed(item_id, label, shown, failure))
            self._learn_words()
            if not failure:
                await server.dropped.wait()
        finally:
            await server.close()

    def _apply(self, settings: ClientSettings) -> None:
        """The client changed its session: tell the turn engine, the ears and the leg."""
        self._post(changed_rules(self._clock.now_ms(), settings, self._agents_rules))
        turns = settings.turn_detection
        self._hearing.use(is_manual=turns.is_manual, threshold=turns.threshold, padding_ms=turns.padding_ms)
        self._speaking.speed = settings.speed
        self._learn_words()
        self._leg.use(settings.input_encoding, settings.output_encoding)

    def _end_utterance(self, request: BufferRequest) -> None:
        """The client ends the open utterance, or wants it forgotten."""
        if request.wish == "clear":
            self._hearing.forget()
            self._send(self._session.buffer_cleared())
        elif not self._hearing.commit():
            self._send(self._session.nothing_to_commit(request.event_id))

    def _audio_sent(self, end: Position, clause: int, delta: str, duration_ms: float) -> None:
        for event in self._session.on_audio(end, clause, delta, duration_ms):
            self._leg.send_event(event)

    async def join(self, sideband: Sideband) -> None:
        """Let somebody else take part in the client's events, until they leave or the call ends."""
        if len(self._sidebands) >= MAX_SIDEBANDS or self._end_reason.done():
            return
        for event in self._session.joined():
            sideband.send_event(event)
        self._sidebands.add(sideband)
        try:
            async with running(self._listen(sideband), f"sideband of {self.call_id}") as listening:
                await asyncio.wait((listening, self._end_reason), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._sidebands.discard(sideband)

    async def _listen(self, sideband: Sideband) -> None:
        async for text in sideband.client_events():
            await self._take(text)

    def _may_send(self, size_bytes: int) -> bool:
        """True when this client event is to be read. A client that sends too many is told once, and is hung up if it goes on."""
        verdict = self._allowance.take(size_bytes, self._clock.now_ms())
        if verdict is AllowanceVerdict.TAKEN:
            return True
        self._observers.event_refused()
        if verdict is AllowanceVerdict.TOLD:
            self._send(self._session.too_many_events())
        elif verdict is AllowanceVerdict.ABUSED:
            self.hang_up(ABUSE)
        return False

    async def admit(self, event: ev.Event) -> ev.Event:
        """Check what a client did. A typed message passes the input guard, like a spoken one."""
        if isinstance(event, ev.HistoryAdded) and event.message.role == "user":
            return structs.replace(event, message=await self._admit_message(event.message))
        if isinstance(event, ev.ReplyRequested) and event.wish.input is not None:
            given = [await self._admit_message(message) for message in event.wish.input]
            return structs.replace(event, wish=structs.replace(event.wish, input=tuple(given)))
        if not isinstance(event, ev.TextReceived):
            return event
        admitted = await admit(self._parts.guards.input, self._cards.hide(event.text))
        refusal = refusal_of(admitted)
        context = await self._retrieval.find(admitted.text) if refusal is None else ()
        return ev.TextReceived(self._clock.now_ms(), admitted.text, refusal, context, event.key)

    async def _admit_message(self, message: Message) -> Message:
        """A message of the caller's that a client adds passes the input guard, too."""
        if message.role != "user":
            return message
        content = self._cards.hide(message.content)
        return structs.replace(message, content=(await admit(self._parts.guards.input, content)).text)

    def _send(self, events: Iterable[dict[str, object]]) -> None:
        for event in events:
            self._leg.send_event(event)
            for sideband in self._sidebands:
                sideband.send_event(event)

    def _post(self, event: ev.Event) -> None:
        """Feed an event. Events caused by its actions follow in order."""
        self._events.append(event)
        if self._stepping:
            return
        self._stepping = True
        try:
            while self._events:
                self._step(self._events.popleft())
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this call and no other
            self._break(error)
        finally:
            self._stepping = False
        if self._ending:
            self._end()

    def _break(self, error: Exception) -> None:
        """An unexpected error ends the call. It is not raised to whoever posted the event, such as the leg's pacer."""
        self._events.clear()
        if self._end_reason.done():
            log.exception("call %s broke while it ended", self.call_id, exc_info=error)
        else:
            self._end_reason.set_exception(error)

    def _step(self, event: ev.Event) -> None:
        if not machine.is_in_phase(self.state, event):
            self._observers.out_of_phase(event)
        self.state, actions = machine.step(self.state, event)
        self._stepped.set()
        self._observers.stepped(event, actions)
        report = self._meter.observe(event, actions, time.time())
        if isinstance(event, ev.SpeechStarted | ev.SpeechPaused | ev.SpeechResumed | ev.Endpoint):
            self._judging.follow(event)
            if (wanted := self._parts.degradations()) != self.state.degraded:
                self._post(ev.DegradationChanged(event.at_ms, wanted))
        if isinstance(event, ev.Transcript):
            self._retrieval.hear(event)
        for action in actions:
            if isinstance(action, act.StepChanged):
                self._tools.step = action.step
                self._learn_words()
            if isinstance(action, act.Degraded):
                self._hearing.fewer_partials = Degradation.FEWER_PARTIALS in action.degradations
            if isinstance(action, act.Notice):
                self._send(self._session.on_notice(action, event.at_ms))
            self._carry_out(action)
            for feature in self._features:
                feature.carry_out(action)
        if self._journal is not None:
            self._journal.stepped(event, actions)
        if report is not None:
            self._measured(report)

    def _carry_out(self, action: act.AnyAction) -> None:
        match action:
            case act.Transcribe(utterance_id):
                self._hearing.transcribe(utterance_id)
            case act.ExpectValue(utterance_id, value):
                self._hearing.expect(utterance_id, value)
            case act.JudgeTurn():
                self._judging.ask(action)
            case act.SetEndpointing():
                self._hearing.set_endpointing(action)
            case act.LanguageChanged(code):
                self._change_language(code)
            case act.DiscardUtterance(utterance_id):
                self._hearing.discard(utterance_id)
            case act.Prefill():
                if not self._strained:
                    self._thinking.prefill(action)
            case act.Generate():
                self._thinking.generate(action)
            case act.EndGeneration(reply_id):
                self._thinking.end_generation(reply_id)
            case act.Summarise():
                self._thinking.summarise(action)
            case act.RunTool():
                self._thinking.run_tool(action)
            case act.CancelTool(reply_id, call_id):
                self.tasks.cancel(lookup_owner(reply_id, call_id))
            case act.RunSpeculativeTool():
                self._thinking.run_speculatively(action)
            case act.CancelSpeculativeTool(speculative_id):
                self._thinking.cancel_speculative_tool(speculative_id)
            case act.Speak():
                self._speaking.speak(action)
            case act.PauseReply(reply_id):
                self._speaking.pause(reply_id)
            case act.ResumeReply():
                self._speaking.resume(action)
            case act.Attenuate(reply_id, gain_db):
                self._leg.playout.attenuate(reply_id, gain_db)
            case act.Attend(utterance_id):
                self._hearing.attend(utterance_id)
            case act.EndClauseAt():
                self._speaking.end_clause(action)
            case act.CancelReply(reply_id, keeps):
                self.tasks.cancel(owner(reply_id), [lookup_owner(reply_id, call_id) for call_id in keeps])
                self._speaking.cancel(reply_id)
            case act.ReplyEnded(reply_id):
                self._leg.playout.finish(reply_id)
            case act.SetTimer(name, due_ms):
                self._set_timer(name, due_ms)
            case act.ClearTimer(name):
                self._clear_timer(name)
            case act.End(reason):
                self._ending = "" if reason == HANDED_OVER else reason
            case act.AgentChanged():
                self._hand_off(action)
            case act.Transfer() | act.SpeculationEnded() | act.SpeculativeToolEnded() | act.GuardHit() | act.Notice():
                pass  # these are for features, for observers and for the client
            case _:
                assert_never(action)

    def _set_timer(self, name: str, due_ms: float) -> None:
        self._clear_timer(name)
        delay_s = max(0.0, due_ms - self._clock.now_ms()) / 1000.0
        self._timers[name] = asyncio.get_running_loop().call_later(delay_s, self._fire, name)

    def _clear_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, name: str) -> None:
        self._timers.pop(name, None)
        self._post(ev.TimerFired(self._clock.now_ms(), name))

    def _measured(self, report: TurnReport) -> None:
        came_ms, went_ms = self._leg.take_jitter_ms()
        report = replace(report, facts=replace(report.facts, jitter_in_ms=came_ms, jitter_out_ms=went_ms))
        misses = check_turn(report, self._parts.budgets)
        self._send(self._session.on_turn(report, self._limits_ms, [miss.stage for miss in misses]))
        self._observers.measured(report, misses)

    def _end(self) -> None:
        self._send(self._session.on_end(self._ending, self._clock.now_ms()))
        if not self._end_reason.done():
            self._end_reason.set_result(self._ending)
