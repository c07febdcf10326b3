"""Puts an agent's engines and tools behind the application, for `voiceagent serve`. Turns are counted, checked against the
budgets and kept."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import msgspec
from msgspec import structs

from voiceagent.audio import g711
from voiceagent.call import Call, memory
from voiceagent.call.call import LeftCall
from voiceagent.call.observer import CallObserver
from voiceagent.call.rules import cramped, facts_of, legs_of, rules_of, rules_of_call, tools_of_steps, turn_detection_of
from voiceagent.call.scope import AgentParts, EngineName, OtherAgent
from voiceagent.call.written_leg import WrittenLeg
from voiceagent.context.sources import Sources
from voiceagent.conversation.steps import GO_TO, NOTE
from voiceagent.data_files import keep_private
from voiceagent.engines import Engines, load_engines, load_voices
from voiceagent.errors import ConfigError, EngineError, ModelError, ProtocolError
from voiceagent.guard.checks import OUTCOMES, Guards, load_guards
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import Budgets
from voiceagent.latency.burn import BudgetBurn
from voiceagent.latency.spans import LegKind
from voiceagent.llm.engine import HistoryLimits, LlmEngine, check, no_forcing, no_tools
from voiceagent.logs import Redacting
from voiceagent.media.audio_cleaner import check_cleaning
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Playout
from voiceagent.media.webrtc import webrtc_leg
from voiceagent.media.webrtc.ice import IceServers
from voiceagent.media.webrtc.listener_peer import ListenerPeer
from voiceagent.media.webrtc.ports import MediaPorts
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.models.choice import profile_of, registry_of
from voiceagent.models.fitness import foreign_models, unfit
from voiceagent.models.registry import Registry
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.conversation import random_id
from voiceagent.realtime.fixed_settings import LEFT, fixed_in, parameters_in
from voiceagent.realtime.openai_realtime import OPENAI
from voiceagent.realtime.settings import ClientSettings, SessionFacts
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.budget_actions import BudgetActions
from voiceagent.server.calls.calls import StartCall
from voiceagent.server.calls.monitors import CallFeeds, CallStatus
from voiceagent.server.calls.waiting_calls import WaitingCalls
from voiceagent.server.http.app import Service
from voiceagent.server.http.call_events import CallEventsPart
from voiceagent.server.http.chat import ChatPart
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.server_monitor import Monitored, ServerMonitorPart
from voiceagent.server.http.whep import WhepPart
from voiceagent.server.monitoring.about import about
from voiceagent.server.monitoring.call_recorder import CallRecorder, CallRecords, new_record
from voiceagent.server.monitoring.engine_health import EngineHealth, Probe, probes_of
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.observers import Measured, TurnLog
from voiceagent.server.monitoring.telemetry import Telemetry
from voiceagent.settings.agent import AgentConfig, data_dir, store_address, taking_over
from voiceagent.settings.steps import unknown_tools
from voiceagent.settings.values import unknown_parameters
from voiceagent.store.event_log import EventLog, Origin, StoredLog
from voiceagent.store.personal_data import PersonalData
from voiceagent.store.schema import check_driver
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import StoreWriter
from voiceagent.stt.vocabulary import words_of
from voiceagent.task_owner import running
from voiceagent.telephone.application import TelephonePart
from voiceagent.telephone.features.call_results import CallResults
from voiceagent.telephone.features.phone_call import PhoneServices
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.telephone.features.recording import Recordings
from voiceagent.telephone.sip.line import SipService, Trunk
from voiceagent.telephone.streams.vendors import Telephone
from voiceagent.tools.call_context import CallOrigin
from voiceagent.tools.call_tools import NO_STEPS, CallTools, StepTools
from voiceagent.tools.client_mcp import check_allowed
from voiceagent.tools.tool import Tool
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.spoken_voice import AgentSpeech
from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.spoken_language import AUTO

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Weakness:
    """A weakness that callers will suffer from, although the server starts."""

    problem: str
    advice: str = ""
    is_failure: bool = False
    """True if no call is answered until it is mended."""


def silent_model(error: EngineError) -> Weakness:
    """The language model does not answer."""
    return Weakness(f"the language model does not answer yet: {error}", is_failure=True)


def _log_weakness(found: Weakness) -> None:
    log.warning("%s", "; ".join(filter(None, (found.problem, found.advice))))


@dataclass(frozen=True, slots=True)
class AgentService:
    """Everything that the application needs to answer calls for one agent."""

    agent: AgentConfig
    budgets: Budgets
    keys: KeyRing = field(default_factory=KeyRing)
    tell: Callable[[Weakness], None] = _log_weakness
    """Called for each weakness that the start finds."""

    def service(self) -> Service:
        """The application's view. Raises ConfigError when the agent's profile has no budget, a tool cannot be loaded, or the
        store's driver is missing."""
        check_driver(store_address())
        metrics = Metrics()
        _expect(self.agent, metrics)
        limits = self.budgets.of(self.agent.profile)
        metrics.budget_actions = BudgetActions(BudgetBurn({stage: limit.on_miss for stage, limit in limits.items()}))
        admission = Admission(self.agent.admission, metrics)
        ice = IceServers.from_settings(self.agent.ice)
        media = self.agent.media
        ports = MediaPorts.from_settings(media)
        check_allowed(self.agent.http.client_mcp_servers)
        check_cleaning(media.webrtc, "media.webrtc")
        check_cleaning(media.telephone, "media.telephone")
        if ports.ports is not None and len(ports.ports) < self.agent.admission.max_calls:
            calls = self.agent.admission.max_calls
            self.tell(Weakness(f"media.ports has {len(ports.ports)} ports for {calls} calls", "widen it"))
        tools = ToolSet.from_config(self.agent.tools, self.agent.base_dir, metrics.tools.add)

        async def answer(offer: str) -> tuple[Leg, str]:
            return await WebRtcLeg.answer(offer, private_candidates=self.agent.ice.private_candidates, ports=ports)

        async def answer_listener(offer: str, playout: Playout) -> tuple[ListenerPeer, str]:
            private = self.agent.ice.private_candidates
            return await ListenerPeer.answer(offer, playout, private_candidates=private, ports=ports)

        sip = self.agent.telephony.sip_line

        def check_session(session: JsonObject) -> None:
            self._shown_session(tools, metrics.llm, session, is_telephone=True)

        turn = self.agent.turn
        waits = turn.resume_after_restart and turn.resume_timeout_s > 0
        waiting = WaitingCalls(store_address(), turn.resume_timeout_s) if waits else None
        line = SipService(Trunk.from_settings(sip), ports, check_session=check_session) if sip is not None else None

        feeds = CallFeeds(metrics.queue_dropped)
        results = CallResults(self.agent.telephony.results, os.environ, metrics.queue_dropped)

        def load() -> AbstractAsyncContextManager[StartCall]:
            return self._loaded(tools, metrics, admission, feeds, results)

        return Service(
            answer,
            load,
            self.agent.profile,
            limits,
            metrics,
            admission,
            self.keys,
            self.agent.http.allowed_origins,
            ice,
            parts=(
                TelephonePart(Telephone.from_settings(self.agent.telephony), line, results.unanswered),
                CallEventsPart(feeds, store_address(), metrics.monitors_changed, lambda: metrics.slow_readers.add("monitor")),
                ServerMonitorPart(
                    Monitored(
                        self.agent.name,
                        self.agent.profile,
                        partial(self.budgets.of, self.agent.profile),
                        feeds,
                        metrics,
                        store_address() if self.agent.records.keep != "nothing" else None,
                    )
                ),
                ChatPart(self.agent.name),
                WhepPart(answer_listener),
            ),
            waiting=waiting,
            about=self._about(tools),
            show_session=lambda session: self._shown_session(tools, metrics.llm, session),
        )

    @asynccontextmanager
    async def _loaded(
        self, tools: ToolSet, metrics: Metrics, admission: Admission, feeds: CallFeeds, results: CallResults
    ) -> AsyncIterator[StartCall]:
        """The engines and everything else that calls share, from the start of the server to its end."""
        await asyncio.to_thread(keep_private, data_dir())
        sources, guards = await asyncio.to_thread(_sources_and_guards, self.agent, metrics)
        known = registry_of(self.agent)
        engines = await load_engines(profile_of(self.agent, known), self.agent, known)
        writer = StoreWriter(store_address(), metrics.losses)
        kept = CallRecords(writer, self.agent.records)
        telemetry = await asyncio.to_thread(self._telemetry)
        recordings = Recordings(self.agent.telephony.recording, self.agent.base_dir)
        metrics.llm, metrics.stt, metrics.judges = engines.llm, engines.stt, engines.turn
        closing = AsyncExitStack()
        try:
            speech = await asyncio.to_thread(_speech, self.agent, engines)
            await tools.open()
            _require_fitting(self.agent, tools, engines)
            others = await self._load_others(engines, known, metrics, closing)
            if self.agent.file in self.agent.agents:
                others[self.agent.file] = OtherAgent(self.agent, tools, guards, speech, sources)
            self._tell_of_unfit_models(tools, engines.llm.limits)
            self._tell_of_unasked_tools(tools)
            if self.agent.records.redact and self.agent.telephony.recording.folder:
                kinds = ", ".join(self.agent.records.redact)
                self.tell(
                    Weakness(f"recordings hold what records.redact takes out elsewhere ({kinds})", "record nothing, or say so")
                )
            await sources.open()
            await results.open()
            await recordings.open()
            await self._warm(probes := probes_of(engines, self.agent.instructions), metrics.health)
            await admission.learn(engines.llm.kv_capacity)
            await asyncio.to_thread(webrtc_leg.prepare)
            await asyncio.to_thread(g711.prepare)
            await asyncio.to_thread(memory.collect_what_loading_left)
            pressure = admission.pressure
            spoken = [language(code) for code in self.agent.spoken_languages]
            schemas = [schema for one in (tools, *(other.tools for other in others.values())) for schema in one.schemas()]
            personal = PersonalData(self.agent.records.redact, spoken, schemas)
            Redacting.mask = personal.mask
            parts = AgentParts(
                self.agent,
                engines,
                guards,
                speech,
                self.budgets,
                sources,
                personal,
                lambda: pressure.level,
                metrics.budget_actions.degradations,
                others,
            )
            watched = metrics.health.watched(probes, partial(check, engines.llm))
            async with watched, running(kept.run(), "call records") if kept.is_on else nullcontext():
                yield self._start_call(parts, tools, metrics, kept, feeds, PhoneServices(results, recordings), telemetry)
        finally:
            metrics.llm = metrics.stt = None
            metrics.judges = ()
            async with AsyncExitStack() as stack:  # closes each, whatever the one before it raises
                stack.callback(writer.close)
                if telemetry is not None:
                    stack.push_async_callback(asyncio.to_thread, telemetry.close)
                for close in (
                    engines.close,
                    guards.close,
                    sources.close,
                    tools.close,
                    results.close,
                    recordings.close,
                    closing.aclose,
                ):
                    stack.push_async_callback(close)

    def _telemetry(self) -> Telemetry | None:
        """Begins to send to a collector, where the agent names one. Raises ConfigError."""
        otlp = self.agent.telemetry.otlp
        return Telemetry(otlp.rstrip("/"), self.agent.name) if otlp else None

    async def _load_others(
        self, engines: Engines, known: Registry, metrics: Metrics, closing: AsyncExitStack
    ) -> dict[str, OtherAgent]:
        """The agents that calls may be handed off to; `closing` frees what is loaded. Raises ConfigError, ModelError."""
        others = {}
        for name, settings in self.agent.agents.items():
            if name == self.agent.file:  # a call may come back to it
                continue
            agent = taking_over(self.agent, settings)
            sources, guards = await asyncio.to_thread(_sources_and_guards, agent, metrics)
            closing.push_async_callback(guards.close)
            closing.push_async_callback(sources.close)
            tools = ToolSet.from_config(agent.tools, agent.base_dir, metrics.tools.add)
            closing.push_async_callback(tools.close)
            spoken = await load_voices(engines, agent, known)
            for voice in (spoken.tts, *spoken.voices.values()):
                closing.push_async_callback(voice.close)
            speech = await asyncio.to_thread(_speech, agent, spoken)
            await tools.open()
            await sources.open()
            try:
                _require_fitting(agent, tools, engines)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}") from error
            self._tell_of_unasked_tools(tools)
            others[name] = OtherAgent(agent, tools, guards, speech, sources)
        return others

    def _about(self, tools: ToolSet) -> Callable[[], dict[str, object]]:
        """Returns the function behind `about`. It builds its answer anew only when an MCP server has reported its tools."""
        made: dict[tuple[str, ...], dict[str, object]] = {}

        def tell() -> dict[str, object]:
            if tools.names not in made:
                made.clear()
                made[tools.names] = about(self.agent, tools.schemas())
            return made[tools.names]

        return tell

    def _shown_session(
        self, tools: ToolSet, llm: LlmEngine | None, session: JsonObject, *, is_telephone: bool = False
    ) -> JsonObject:
        """A call's session with these settings, as `session.created` would show it. `llm` is None until it is loaded. Raises
        Problem for settings that an offer could not have."""
        facts = facts_of(
            self.agent,
            tools.names,
            takes_audio=not is_telephone,
            no_forcing=no_forcing(llm) if llm is not None else "",
            is_telephone=is_telephone,
        )
        facts = structs.replace(facts, session_id=random_id("sess"))
        asked = offered_settings(session, facts)
        agent, offered = (
            with_instructions(self.agent, session),
            tuple(_call_tools(tools, session, servers=self.agent.http.client_mcp_servers).offered),
        )
        began = ClientSettings(instructions=agent.instructions, tools=offered, turn_detection=turn_detection_of(agent))
        asked = {name: value for name, value in asked.items() if name != "tools"}
        with _offered_session():
            shown = OPENAI.write_session(OPENAI.read_session(began, facts, asked, None), facts)
        return {name: value for name, value in shown.items() if name != "voiceagent"}

    def _tell_of_unfit_models(self, tools: ToolSet, limits: HistoryLimits) -> None:
        if line := cramped(self.agent, tools, limits):
            self.tell(Weakness(line))
        found = unfit(self.agent, tools.schemas())
        if found is not None:
            self.tell(Weakness(found.problem, found.advice))
        known = registry_of(self.agent)
        for line in foreign_models(self.agent, profile_of(self.agent, known), known):
            self.tell(Weakness(line))

    def _tell_of_unasked_tools(self, tools: ToolSet) -> None:
        verbs = frozenset().union(*(language(code).destroying for code in ("en", *self.agent.spoken_languages)))
        for name in tools.destroying_unasked(verbs):
            problem = f"tool {name} destroys something, by its name or its description, and does not ask the caller first"
            self.tell(Weakness(problem, 'give it a question, confirm="Shall I …?", or say confirm=False (in YAML: false)'))

    async def _warm(self, probes: Mapping[EngineName, Probe], health: EngineHealth) -> None:
        """Use each engine once, so that the first caller does not pay for lazy loading. A language model that does not answer
        yet, such as one on a server that is not up, is logged and does not keep the server from starting."""
        await probes["stt"]()
        await probes["tts"]()
        try:
            await probes["llm"]()
        except EngineError as error:
            self.tell(silent_model(error))
            health.down["llm"] = error.kind

    def _start_call(
        self,
        parts: AgentParts,
        tools: ToolSet,
        metrics: Metrics,
        kept: CallRecords,
        feeds: CallFeeds,
        phone: PhoneServices,
        telemetry: Telemetry | None,
    ) -> StartCall:
        steps = tools_of_steps(self.agent)

        def start_call(leg: Leg, call_id: str, session: dict[str, object]) -> Call:
            facts = facts_of(
                self.agent,
                tools.names,
                takes_audio=leg.kind is LegKind.WEBSOCKET,
                no_forcing=no_forcing(parts.engines.llm),
                is_telephone=leg.kind is LegKind.TELEPHONE,
            )
            left = _left_in(session)
            asked = {} if left is not None else offered_settings(session, facts)
            made = phone.call(_greeting_as_asked(with_instructions(self.agent, session), asked, leg), leg, parts)
            agent = made.agent
            if session.get("instructions") and (line := cramped(agent, tools, parts.engines.llm.limits)):
                log.warning("call %s: %s", call_id, line)
            servers = self.agent.http.client_mcp_servers
            own = () if no_tools(parts.engines.llm) else legs_of(agent, made.tools)
            call_tools = _call_tools(tools, session, own, servers, steps)
            own_parts = replace(parts, agent=agent, others=_as_called(parts.others, agent, made.features))
            record = new_record(call_id, leg.kind, agent.name, agent.profile, kept)
            event_log = None
            if kept.settings.keep == "event_logs":
                rules = rules_of_call(own_parts, call_tools)
                origin = Origin(agent.name, leg.kind, record.started)
                sink = StoredLog(kept.writer, call_id)
                event_log = EventLog(sink, call_id, rules, origin=origin, left=None if left is None else left.state)
            redactor = parts.personal.of_call()
            status = CallStatus(shown_caller(made.origin, agent), agent.spoken_languages[0])
            recorder = CallRecorder(
                kept, record, event_log, recording=made.recording, feeds=feeds, redactor=redactor, status=status
            )
            observers: list[CallObserver] = [Measured(metrics, TurnStore(kept.writer)), TurnLog(), recorder]
            if telemetry is not None:
                observers.append(telemetry.of_call(call_id, agent.llm.model or agent.profile))
            fixed = fixed_in(session)
            features = [*made.features, leg] if isinstance(leg, WrittenLeg) else made.features
            whose = made.origin or CallOrigin(parameters=parameters_in(session))
            return Call(call_id, made.leg, own_parts, call_tools, observers, asked, features, fixed, whose, left)

        return start_call


def shown_caller(origin: CallOrigin | None, agent: AgentConfig) -> str:
    """The caller as monitors see them: not by number, where the operator keeps none."""
    caller = "" if origin is None else origin.caller
    return "[phone]" if caller and "phone" in agent.records.redact else caller


def _left_in(session: JsonObject) -> LeftCall | None:
    """The call as another server has left it, if it goes on here. Raises ProtocolError for what cannot be read."""
    ours = session.get("voiceagent")
    left = ours.get(LEFT) if isinstance(ours, dict) else None
    try:
        return msgspec.json.decode(left, type=LeftCall) if isinstance(left, bytes) else None
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"a call that another server has left cannot be read: {error}") from error


def with_instructions(agent: AgentConfig, session: dict[str, object]) -> AgentConfig:
    """The agent with the instructions of the checked session settings that came with an offer, or else with its own."""
    if not session.get("instructions"):
        return agent
    return msgspec.structs.replace(agent, instructions=session["instructions"])


def _greeting_as_asked(agent: AgentConfig, asked: JsonObject, leg: Leg) -> AgentConfig:
    """The agent, which does not speak first in a session that only transcribes, or to a client that writes."""
    if asked.get("type") != "transcription" and leg.kind is not LegKind.TEXT:
        return agent
    return structs.replace(agent, phrases=structs.replace(agent.phrases, greeting=""))


def offered_settings(session: JsonObject, facts: SessionFacts) -> JsonObject:
    """The session settings that came with an offer, as `session.update` takes them; empty where they change nothing. Raises
    Problem."""
    asked = {name: value for name, value in session.items() if name != "voiceagent" and (name != "instructions" or value)}
    with _offered_session():
        OPENAI.read_session(ClientSettings(), facts, asked, None)
    return {} if asked in ({}, {"type": "realtime"}) else asked


def _call_tools(
    agents: ToolSet,
    session: dict[str, object],
    legs: Sequence[Tool] = (),
    servers: Sequence[str] = (),
    steps: StepTools = NO_STEPS,
) -> CallTools:
    """The agent's tools, the leg's, and those that the client offers in the session settings that came with its offer. `servers`
    are the MCP servers that it may name. Raises Problem."""
    tools = CallTools(agents, legs, servers, steps)
    with _offered_session():
        tools.offer(session.get("tools") or [])
    return tools


@contextmanager
def _offered_session() -> Iterator[None]:
    """Raises Problem for session settings of an offer that a `session.update` would refuse too."""
    try:
        yield
    except ProtocolError as error:
        param = error.param if isinstance(error, ClientEventError) else "session.tools"
        raise Problem(400, "invalid_session", str(error), param=param) from error


def _as_called(others: Mapping[str, OtherAgent], first: AgentConfig, features: Sequence[PhoneFeature]) -> dict[str, OtherAgent]:
    """The other agents as they take over a call of the first one that has these features."""
    changed = {}
    for name, other in others.items():
        agent = taking_over(first, other.agent)
        for feature in features:
            agent = feature.change(agent)
        changed[name] = replace(other, agent=agent)
    return changed


def _expect(agent: AgentConfig, metrics: Metrics) -> None:
    """Count the agent's own steps, hand-offs and guards from 0."""
    metrics.steps.expect(agent.steps)
    metrics.handoffs.expect(step.handoff for step in agent.steps.values() if step.handoff)
    for direction, rules in (("input", agent.guard.input), ("output", agent.guard.output)):
        on = [name for name in ("secrets", "cards", "phones", "phrases") if getattr(rules, name)]
        metrics.guarded.expect(f"{direction}: {rule}" for rule in (*on, *rules.topics))
        names = [f"{direction}: {plugin.name}" for plugin in rules.plugins]
        metrics.guard_checks.expect(f"{name}: {outcome}" for name in names for outcome in OUTCOMES)


def _sources_and_guards(agent: AgentConfig, metrics: Metrics) -> tuple[Sources, Guards]:
    """The agent's documents and guards. Raises ConfigError."""
    sources = Sources.from_config(agent.context, agent.base_dir, data_dir(), metrics.context.add)
    return sources, load_guards(agent.guard, agent.base_dir, agent.language, metrics.guard_checks.add)


def _require_fitting(agent: AgentConfig, tools: ToolSet, engines: Engines) -> None:
    """Check the agent's opened tools against its steps, its language and the language model. Raises ConfigError, ModelError."""
    if (tools.schemas() or agent.steps) and (why := no_tools(engines.llm)):
        raise ModelError(why)
    if agent.steps and (taken := {NOTE, GO_TO}.intersection(tools.names)):
        raise ConfigError(f"tool {min(taken)}: an agent with steps has a tool of that name already; give yours another")
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools.schemas()}
    for line in chain(unknown_tools(agent.steps, tools.names), unknown_parameters(agent.collect, parameters)):
        raise ConfigError(line)
    _require_words_for_yes(agent.language, tools)
    rules_of(agent, tools, engines.turn)  # the agent's own weights are read here, and not only with the first caller


def _speech(agent: AgentConfig, engines: Engines) -> AgentSpeech:
    """The agent's speech. Raises ConfigError."""
    first = agent.spoken_languages[0]
    phrases, own = agent.phrases, language(first).sayings
    by_name = {name: phrases.text(name) or "" for name in ("greeting", "handoff")}
    for name in ("check_in", "farewell", "apology", "not_understood", "offer_person", "transfer", "transfer_failed", "resumed"):
        said = phrases.text(name)
        by_name[name] = getattr(own, name) if said is None else said
    by_name.update((filler, filler) for filler in (own.fillers if phrases.fillers is None else phrases.fillers))
    named = [word for word in words_of(agent.vocabulary) if word.say]
    ipa = {word.word: word.say for word in named if word.is_ipa}
    respelled = {word.word: word.say for word in named if not word.is_ipa}
    settings = structs.replace(agent.speech, lexicon={**ipa, **agent.speech.lexicon})
    speech = AgentSpeech(settings, by_name, agent.base_dir, engines.tts, first, engines.voices, respelled)
    for code in agent.spoken_languages:  # made now, because it takes milliseconds
        speech.voice(code)
    return speech


def _require_words_for_yes(code: str, tools: ToolSet) -> None:
    """If a tool needs confirmation, something must count as a yes. Raises ConfigError."""
    asks = next((name for name in tools.names if tools.policy(name).confirm), "")
    if asks and code != AUTO and not language(code).is_known:
        raise ConfigError(
            f"tool {asks}: confirm needs words for yes, and none are known of language {code!r}; leave confirm out, or use one "
            f"of {', '.join(sorted(LANGUAGES))}"
        )
