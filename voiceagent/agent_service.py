"""Puts an agent's engines and tools behind the application, for `voiceagent serve`. Turns are counted, checked against the
budgets and kept."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
from msgspec import structs

from voiceagent.agent_watch import AgentWatch
from voiceagent.audio import g711
from voiceagent.call import Call, memory
from voiceagent.call.journal import LeftCall
from voiceagent.call.observer import CallObserver
from voiceagent.call.rules import cramped, facts_of, legs_of, rules_of_call, tools_of_steps, turn_detection_of
from voiceagent.call.scope import AgentParts, EngineName, OtherAgent
from voiceagent.call.written_leg import WrittenLeg
from voiceagent.data_files import keep_private
from voiceagent.engines import Engines, load_engines
from voiceagent.errors import EngineError, ProtocolError, VoiceAgentError
from voiceagent.guard.checks import OUTCOMES
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import Budgets, StageLimits, load_budgets
from voiceagent.latency.burn import BudgetBurn
from voiceagent.latency.spans import LegKind, Stage
from voiceagent.llm.engine import LlmEngine, check, no_forcing, no_tools
from voiceagent.loaded_agent import LoadedAgent, OtherVoices, Weakness, folders_of
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
from voiceagent.models.llm_server import LlmServer
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.conversation import random_id
from voiceagent.realtime.fixed_settings import LEFT, fixed_in, parameters_in
from voiceagent.realtime.openai_realtime import OPENAI
from voiceagent.realtime.settings import ClientSettings, SessionFacts
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.budget_actions import BudgetActions
from voiceagent.server.calls.calls import CallHandle, StartCall
from voiceagent.server.calls.journal import ServerJournal
from voiceagent.server.calls.monitors import CallFeeds, CallStatus
from voiceagent.server.calls.prompt_watches import PromptWatches
from voiceagent.server.calls.waiting_calls import WaitingCalls
from voiceagent.server.http.app import Service
from voiceagent.server.http.call_events import CallEventsPart
from voiceagent.server.http.chat import ChatPart
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.prompts import PromptsPart
from voiceagent.server.http.server_monitor import Monitored, ServerMonitorPart
from voiceagent.server.http.whep import WhepPart
from voiceagent.server.monitoring.about import about
from voiceagent.server.monitoring.call_recorder import CallRecorder, CallRecords, new_record
from voiceagent.server.monitoring.engine_health import EngineHealth, Probe, probes_of
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.observers import Measured, TurnLog
from voiceagent.server.monitoring.telemetry import Telemetry
from voiceagent.settings.agent import AgentConfig, data_dir, events_address, load_agent, store_address, taking_over
from voiceagent.settings.files import kept_settings
from voiceagent.store.event_log import EventLog, Origin, StoredLog
from voiceagent.store.redis_streams import RedisStreams
from voiceagent.store.redis_writer import RedisWriter
from voiceagent.store.schema import check_driver
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import StoreWriter
from voiceagent.task_owner import TaskOwner, running
from voiceagent.telephone.application import TelephonePart
from voiceagent.telephone.features.call_results import CallResults
from voiceagent.telephone.features.phone_call import PhoneServices
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.telephone.features.recording import Recordings
from voiceagent.telephone.features.recording_download import RecordingDownloadPart
from voiceagent.telephone.sip.line import SipService, Trunk
from voiceagent.telephone.streams.vendors import Telephone
from voiceagent.tools.call_context import CallOrigin
from voiceagent.tools.call_tools import NO_STEPS, CallTools, StepTools
from voiceagent.tools.client_mcp import allow
from voiceagent.tools.modules import loaded_anew
from voiceagent.tools.tool import Tool
from voiceagent.tools.toolset import ToolSet

log = logging.getLogger(__name__)


def silent_model(error: EngineError) -> Weakness:
    """The language model does not answer."""
    return Weakness(f"the language model does not answer yet: {error}", is_failure=True)


def log_weakness(found: Weakness) -> None:
    """Log a weakness as a warning."""
    log.warning("%s", "; ".join(filter(None, (found.problem, found.advice))))


@dataclass(frozen=True, slots=True)
class Reloading:
    """A server that follows the changes in the files of its agent."""

    file: Path
    """Its YAML file."""
    read: AgentConfig
    """The agent as the file said when the server started."""
    budgets: Path | None
    """The file of latency budgets that goes before the agent's own."""
    tell: Callable[[str], None]
    """Called with a line for each change: it was taken, or why it cannot be."""


@dataclass(slots=True)
class _Serving:
    """The agent that new calls get."""

    agent: AgentConfig
    tools: ToolSet
    limits: dict[Stage, StageLimits]
    """The latency budget that the page shows."""
    budgets: Budgets
    start: StartCall | None = None
    """None until its models are loaded."""
    told: set[Weakness] = field(default_factory=set)
    """The weaknesses that were told."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """The parts of a server that its calls share, whichever agent they began with."""

    engines: Engines
    metrics: Metrics
    kept: CallRecords
    feeds: CallFeeds
    prompts: PromptWatches
    phone: PhoneServices
    telemetry: Telemetry | None
    admission: Admission
    voices: OtherVoices
    loaded: list[LoadedAgent] = field(default_factory=list)
    """The agents that calls have; the newest stands last."""


@dataclass(frozen=True, slots=True)
class AgentService:
    """Everything that the application needs to answer calls for one agent."""

    agent: AgentConfig
    budgets: Budgets
    keys: KeyRing = field(default_factory=KeyRing)
    tell: Callable[[Weakness], None] = log_weakness
    """Called for each weakness that the start finds."""
    reloading: Reloading | None = None
    """None: the agent stays as it was when the server started."""
    llm_server: LlmServer | None = None
    """The language model's server, if it was tried out."""
    workers: int = 1
    """The number of processes that serve the agent, of which this is one."""
    has_lines: bool = True
    """False: another of them keeps the SIP line and listens for Asterisk, of which a server has one each."""

    def service(self) -> Service:
        """The application's view. Raises ConfigError when the agent's profile has no budget, a tool cannot be loaded, or a driver
        of the store or of Redis is missing."""
        check_driver(store_address())
        redis = events_address()
        streams = None if redis is None else RedisStreams(redis)
        if redis is not None and self.agent.records.keep == "nothing":
            problem = f"no event goes to {redis}, because records.keep is nothing"
            self.tell(Weakness(problem, "set records.keep in agent.yaml to facts or transcripts: docs/event-streams.md"))
        metrics = Metrics()
        _expect(self.agent, metrics)
        limits = dict(self.budgets.of(self.agent.profile))
        metrics.budget_actions = BudgetActions(BudgetBurn({stage: limit.on_miss for stage, limit in limits.items()}))
        admission = Admission(self.agent.admission, metrics, self.workers)
        ice = IceServers.from_settings(self.agent.ice)
        media = self.agent.media
        ports = MediaPorts.from_settings(media)
        allow(self.agent.http.client_mcp_servers)
        check_cleaning(media.webrtc, "media.webrtc")
        check_cleaning(media.telephone, "media.telephone")
        if ports.ports is not None and len(ports.ports) < self.agent.admission.max_calls:
            calls = self.agent.admission.max_calls
            self.tell(Weakness(f"media.ports has {len(ports.ports)} ports for {calls} calls", "widen it"))
        tools = ToolSet.from_config(self.agent.tools, self.agent.base_dir, metrics.tools.add)
        serving = _Serving(self.agent, tools, limits, self.budgets)

        async def answer(offer: str) -> tuple[Leg, str]:
            return await WebRtcLeg.answer(offer, private_candidates=self.agent.ice.private_candidates, ports=ports)

        async def answer_listener(offer: str, playout: Playout) -> tuple[ListenerPeer, str]:
            private = self.agent.ice.private_candidates
            return await ListenerPeer.answer(offer, playout, private_candidates=private, ports=ports)

        sip = self.agent.telephony.sip_line if self.has_lines else None
        telephone = Telephone.from_settings(self.agent.telephony)
        telephone = telephone if self.has_lines else replace(telephone, audiosocket=None)

        def check_session(session: JsonObject) -> None:
            self._shown_session(serving, metrics.llm, session, is_telephone=True)

        turn = self.agent.turn
        waits = turn.resume_after_restart if turn.resume_timeout_s > 0 else False
        journal = ServerJournal(store_address(), metrics.losses) if waits == "always" else None
        name = "" if journal is None else journal.server
        waiting = WaitingCalls(store_address(), turn.resume_timeout_s, name) if waits else None
        line = SipService(Trunk.from_settings(sip), ports, check_session=check_session) if sip is not None else None

        feeds, prompts = CallFeeds(metrics.queue_dropped), PromptWatches(metrics.queue_dropped)
        results = CallResults(self.agent.telephony.results, os.environ, metrics.queue_dropped)

        def load() -> AbstractAsyncContextManager[StartCall]:
            return self._loaded(serving, metrics, admission, feeds, prompts, results)

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
                TelephonePart(telephone, line, results.unanswered),
                CallEventsPart(
                    feeds, store_address(), metrics.monitors_changed, lambda: metrics.slow_readers.add("monitor"), streams
                ),
                RecordingDownloadPart(self.agent.telephony.recording, self.agent.base_dir, feeds),
                ServerMonitorPart(
                    Monitored(
                        lambda: serving.agent.name,
                        self.agent.profile,
                        lambda leg: serving.budgets.of(self.agent.profile, leg),
                        feeds,
                        metrics,
                        store_address() if self.agent.records.keep != "nothing" else None,
                    )
                ),
                PromptsPart(prompts),
                ChatPart(lambda: serving.agent.name),
                WhepPart(answer_listener),
            ),
            waiting=waiting,
            journal=journal,
            about=self._about(serving),
            show_session=lambda session: self._shown_session(serving, metrics.llm, session),
        )

    @asynccontextmanager
    async def _loaded(
        self,
        serving: _Serving,
        metrics: Metrics,
        admission: Admission,
        feeds: CallFeeds,
        prompts: PromptWatches,
        results: CallResults,
    ) -> AsyncIterator[StartCall]:
        """The engines and everything else that calls share, from the start of the server to its end."""
        await asyncio.to_thread(keep_private, data_dir())
        known = registry_of(self.agent)
        engines = await load_engines(profile_of(self.agent, known), self.agent, known)
        writer = StoreWriter(store_address(), metrics.losses)
        redis = events_address() if self.agent.records.keep != "nothing" else None
        streams = None if redis is None else RedisWriter(redis, metrics.losses, keep_hours=self.agent.records.stream_hours)
        kept = CallRecords(writer, self.agent.records, streams=streams)
        telemetry = await asyncio.to_thread(self._telemetry)
        recordings = Recordings(self.agent.telephony.recording, self.agent.base_dir)
        metrics.llm, metrics.stt, metrics.judges = engines.llm, engines.stt, engines.turn
        phone, voices = PhoneServices(results, recordings), OtherVoices(engines, known)
        shared = _Shared(engines, metrics, kept, feeds, prompts, phone, telemetry, admission, voices)
        try:
            tell = partial(_tell_once, serving.told, self.tell)
            loaded = await LoadedAgent.load(self.agent, voices, metrics, tell, serving.tools)
            self._serve(loaded, self.budgets, serving, shared)
            if self.agent.records.redact and self.agent.telephony.recording.folder:
                kinds = ", ".join(self.agent.records.redact)
                self.tell(
                    Weakness(f"recordings hold what records.redact takes out elsewhere ({kinds})", "record nothing, or say so")
                )
            await results.open()
            await recordings.open()
            await self._warm(probes := probes_of(engines, self.agent.instructions), metrics.health)
            await admission.learn(engines.llm.kv_capacity)
            await asyncio.to_thread(webrtc_leg.prepare)
            await asyncio.to_thread(g711.prepare)
            await asyncio.to_thread(memory.collect_what_loading_left)
            async with AsyncExitStack() as running_beside:
                await running_beside.enter_async_context(metrics.health.watched(probes, partial(check, engines.llm)))
                if kept.is_on:
                    await running_beside.enter_async_context(running(kept.run(), "call records"))
                if self.reloading is not None:
                    following = self._follow(self.reloading, serving, shared)
                    await running_beside.enter_async_context(running(following, "reload"))
                yield partial(_start, serving)
        finally:
            metrics.llm = metrics.stt = None
            metrics.judges = ()
            async with AsyncExitStack() as stack:  # closes each, whatever the one before it raises
                stack.callback(writer.close)
                if streams is not None:
                    stack.callback(streams.close)
                if telemetry is not None:
                    stack.push_async_callback(asyncio.to_thread, telemetry.close)
                stack.push_async_callback(engines.close)
                for close in (voices.close, results.close, recordings.close):
                    stack.push_async_callback(close)
                for one in shared.loaded:
                    stack.push_async_callback(one.close)

    def _serve(self, loaded: LoadedAgent, budgets: Budgets, serving: _Serving, shared: _Shared) -> None:
        """New calls get this agent."""
        pressure = shared.admission.pressure
        parts = AgentParts(
            loaded.agent,
            shared.engines,
            loaded.guards,
            loaded.speech,
            budgets,
            loaded.sources,
            loaded.personal,
            lambda: pressure.strain,
            shared.metrics.budget_actions.degradations,
            loaded.others,
        )
        Redacting.mask = loaded.personal.mask
        _expect(loaded.agent, shared.metrics)
        shared.loaded.append(loaded)
        serving.agent, serving.tools, serving.budgets = loaded.agent, loaded.tools, budgets
        serving.limits.clear()
        serving.limits.update(budgets.of(loaded.agent.profile))
        serving.start = self._start_call(parts, loaded, shared)

    async def _follow(self, reloading: Reloading, serving: _Serving, shared: _Shared) -> None:
        """Take the agent anew whenever its files change."""
        folders = folders_of(serving.agent)
        watch = await asyncio.to_thread(AgentWatch, reloading.file, serving.agent, folders, reloading.budgets)
        waiting: set[Path] = set()
        retired = TaskOwner()
        try:
            while True:
                waiting |= await watch.changed()
                try:
                    told = await self._take_anew(reloading, serving, shared, waiting, retired)
                except Exception as error:
                    if not isinstance(error, VoiceAgentError):
                        log.exception("%s could not be reloaded", reloading.file)
                    await asyncio.to_thread(watch.refused)
                    reloading.tell(f"not reloaded, new calls get the agent as it was: {error or type(error).__name__}")
                else:
                    waiting.clear()
                    await asyncio.to_thread(watch.took, serving.agent, folders_of(serving.agent))
                    reloading.tell(told)
        finally:
            await retired.close()

    async def _take_anew(
        self, reloading: Reloading, serving: _Serving, shared: _Shared, changed: Collection[Path], retired: TaskOwner
    ) -> str:
        """Load the agent that the files now say, and give it to new calls. Returns what was done, in one line. Raises
        VoiceAgentError; then nothing has changed."""
        read = await asyncio.to_thread(load_agent, reloading.file)
        agent, later = kept_settings(reloading.read, read, self.agent)
        budgets = await asyncio.to_thread(_budgets_of, agent, reloading.budgets)
        has_new_code = any(path.suffix == ".py" for path in changed)
        with loaded_anew(folders_of(serving.agent) | folders_of(agent)) if has_new_code else nullcontext():
            loaded = await LoadedAgent.load(agent, shared.voices, shared.metrics, partial(_tell_once, serving.told, self.tell))
        old = shared.loaded[-1]
        self._serve(loaded, budgets, serving, shared)
        retired.start_alone(_retire(old, shared.loaded), "an agent that was reloaded")
        names = ", ".join(sorted(path.name for path in changed)[:5])
        line = f"reloaded ({names}): new calls get it"
        return f"{line}; {', '.join(later)} changed, which takes a restart" if later else line

    def _telemetry(self) -> Telemetry | None:
        """Begins to send to a collector, where the agent names one. Raises ConfigError."""
        otlp = self.agent.telemetry.otlp
        return Telemetry(otlp.rstrip("/"), self.agent.name) if otlp else None

    def _about(self, serving: _Serving) -> Callable[[], dict[str, object]]:
        """Returns the function behind `about`. It builds its answer anew only when the agent was reloaded, or an MCP server has
        reported its tools."""
        made: dict[str, object] = {}
        of: tuple[object, ...] = ()

        def tell() -> dict[str, object]:
            nonlocal made, of
            if of != (now := (id(serving.agent), serving.tools.names)):
                made, of = about(serving.agent, serving.tools.schemas(), self.llm_server), now
            return made

        return tell

    def _shown_session(
        self, serving: _Serving, llm: LlmEngine | None, session: JsonObject, *, is_telephone: bool = False
    ) -> JsonObject:
        """A call's session with these settings, as `session.created` would show it. `llm` is None until it is loaded. Raises
        Problem for settings that an offer could not have."""
        agent, tools = serving.agent, serving.tools
        facts = facts_of(
            agent,
            tools.names,
            takes_audio=not is_telephone,
            no_forcing=no_forcing(llm) if llm is not None else "",
            is_telephone=is_telephone,
        )
        facts = structs.replace(facts, session_id=random_id("sess"))
        asked = offered_settings(session, facts)
        offered = tuple(_call_tools(tools, session, servers=agent.http.client_mcp_servers).offered)
        agent = with_instructions(agent, session)
        began = ClientSettings(instructions=agent.instructions, tools=offered, turn_detection=turn_detection_of(agent))
        asked = {name: value for name, value in asked.items() if name != "tools"}
        with _offered_session():
            shown = OPENAI.write_session(OPENAI.read_session(began, facts, asked, None), facts)
        return {name: value for name, value in shown.items() if name != "voiceagent"}

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

    def _start_call(self, parts: AgentParts, loaded: LoadedAgent, shared: _Shared) -> StartCall:
        served, tools, kept = loaded.agent, loaded.tools, shared.kept
        steps = tools_of_steps(served)

        def start_call(leg: Leg, call_id: str, session: dict[str, object]) -> Call:
            facts = facts_of(
                served,
                tools.names,
                takes_audio=leg.kind is LegKind.WEBSOCKET,
                no_forcing=no_forcing(parts.engines.llm),
                is_telephone=leg.kind is LegKind.TELEPHONE,
            )
            left = _left_in(session)
            asked = {} if left is not None else offered_settings(session, facts)
            made = shared.phone.call(_greeting_as_asked(with_instructions(served, session), asked, leg), leg, parts)
            agent = made.agent
            if session.get("instructions") and (line := cramped(agent, tools, parts.engines.llm.limits)):
                log.warning("call %s: %s", call_id, line)
            servers = served.http.client_mcp_servers
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
                kept, record, event_log, recording=made.recording, feeds=shared.feeds, redactor=redactor, status=status
            )
            measured, shown = Measured(shared.metrics, TurnStore(kept.writer)), shared.prompts.of_call(call_id)
            observers: list[CallObserver] = [measured, TurnLog(), recorder, shown]
            if shared.telemetry is not None:
                observers.append(shared.telemetry.of_call(call_id, agent.llm.model or agent.profile))
            fixed = fixed_in(session)
            features = [*made.features, leg] if isinstance(leg, WrittenLeg) else made.features
            whose = made.origin or CallOrigin(parameters=parameters_in(session))
            observers.append(count := loaded.begin_call())
            try:
                return Call(call_id, made.leg, own_parts, call_tools, observers, asked, features, fixed, whose, left)
            except BaseException:
                count.ended()
                raise

        return start_call


def _start(serving: _Serving, leg: Leg, call_id: str, session: dict[str, object]) -> CallHandle:
    """Start a call with the agent that new calls get now."""
    assert serving.start is not None
    return serving.start(leg, call_id, session)


def _tell_once(told: set[Weakness], tell: Callable[[Weakness], None], found: Weakness) -> None:
    """Tell a weakness, unless it was told before a reload."""
    if found not in told:
        told.add(found)
        tell(found)


def _budgets_of(agent: AgentConfig, file: Path | None) -> Budgets:
    """The latency budgets of the file, or of the agent's own. Raises ConfigError."""
    budgets = load_budgets(file or agent.budgets_file)
    budgets = budgets.extended(agent.profile, profile_of(agent, registry_of(agent)).budgets)
    budgets.of(agent.profile)
    return budgets


async def _retire(old: LoadedAgent, loaded: list[LoadedAgent]) -> None:
    """Free an agent once its calls have ended."""
    await old.retire()
    loaded.remove(old)


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
