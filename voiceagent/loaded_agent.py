"""An agent with all that is loaded for it besides the models: its tools, guards, documents and voice, and those of the agents
that take its calls over. A server may load it anew. Calls keep the one that they began with, which is freed when the last has
ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import structs
from typing_extensions import override

from voiceagent.call.observer import CallObserver
from voiceagent.call.rules import cramped, rules_of
from voiceagent.call.scope import OtherAgent
from voiceagent.context.sources import Sources
from voiceagent.conversation.steps import GO_TO, NOTE
from voiceagent.engines import Engines, load_voices
from voiceagent.errors import ConfigError, ModelError
from voiceagent.guard.checks import Guards, load_guards
from voiceagent.llm.engine import HistoryLimits, no_tools
from voiceagent.models.choice import profile_of, registry_of
from voiceagent.models.fitness import foreign_models, unfit
from voiceagent.models.registry import Registry
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AgentConfig, data_dir, taking_over
from voiceagent.settings.steps import unknown_tools
from voiceagent.settings.values import unknown_parameters
from voiceagent.store.personal_data import PersonalData
from voiceagent.stt.vocabulary import words_of
from voiceagent.tools.modules import module_folders
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.engine import TtsEngine
from voiceagent.tts.spoken_voice import AgentSpeech
from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.spoken_language import AUTO

OF_THE_LANGUAGE = (
    "check_in",
    "farewell",
    "apology",
    "not_understood",
    "stopped",
    "offer_person",
    "transfer",
    "transfer_failed",
    "resumed",
)
"""The phrases that the agent's language supplies if its settings leave them out."""


@dataclass(frozen=True, slots=True)
class Weakness:
    """A weakness that callers will suffer from, although the server starts."""

    problem: str
    advice: str = ""
    is_failure: bool = False
    """True if no call is answered until it is mended."""


@dataclass(slots=True)
class OtherVoices:
    """The voices of the agents that take calls over. Each is loaded once, and freed with the server."""

    engines: Engines
    known: Registry
    _loaded: dict[bytes, Engines] = field(default_factory=dict)

    async def of(self, agent: AgentConfig) -> Engines:
        """The engines of a call that this agent takes over. Raises ModelError, ConfigError."""
        key = msgspec.json.encode((agent.profile, agent.tts, agent.voices, agent.options.tts, agent.base_dir), order="sorted")
        if key not in self._loaded:
            self._loaded[key] = await load_voices(self.engines, agent, self.known)
        return self._loaded[key]

    async def close(self) -> None:
        """Free them."""
        voices: list[TtsEngine] = [voice for one in self._loaded.values() for voice in (one.tts, *one.voices.values())]
        async with AsyncExitStack() as stack:  # closes each, whatever the one before it raises
            for voice in voices:
                stack.push_async_callback(voice.close)


class LoadedAgent:
    """An agent and what its calls share."""

    def __init__(self, agent: AgentConfig) -> None:
        self.agent = agent
        self.tools: ToolSet
        self.guards: Guards
        self.sources: Sources
        self.speech: AgentSpeech
        self.others: dict[str, OtherAgent] = {}
        """The agents that calls may be handed off to, by the names that steps have for them."""
        self.personal = PersonalData()
        self._closing = AsyncExitStack()
        self._calls = 0
        self._no_calls = asyncio.Event()
        self._no_calls.set()

    @classmethod
    async def load(
        cls,
        agent: AgentConfig,
        voices: OtherVoices,
        metrics: Metrics,
        tell: Callable[[Weakness], None],
        tools: ToolSet | None = None,
    ) -> LoadedAgent:
        """Load an agent; `tools` are its own, where they are loaded already. `tell` is called for each of its weaknesses. Raises
        ConfigError, ModelError; then nothing is left of it."""
        loaded = cls(agent)
        try:
            await loaded._load(voices, metrics, tell, tools)
        except BaseException:
            await loaded.close()
            raise
        return loaded

    async def _load(self, voices: OtherVoices, metrics: Metrics, tell: Callable[[Weakness], None], tools: ToolSet | None) -> None:
        agent, engines = self.agent, voices.engines
        if tools is None:
            tools = await asyncio.to_thread(ToolSet.from_config, agent.tools, agent.base_dir, metrics.tools.add)
        self.tools = tools
        self._closing.push_async_callback(tools.close)
        self.sources, self.guards = await asyncio.to_thread(_sources_and_guards, agent, metrics)
        self._closing.push_async_callback(self.sources.close)
        self._closing.push_async_callback(self.guards.close)
        self.speech = await asyncio.to_thread(_speech, agent, engines)
        await tools.open()
        _require_fitting(agent, tools, engines)
        for name, settings in agent.agents.items():
            if name != agent.file:
                self.others[name] = await self._load_other(name, taking_over(agent, settings), voices, metrics, tell)
        if agent.file in agent.agents:  # a call may come back to it
            self.others[agent.file] = OtherAgent(agent, tools, self.guards, self.speech, self.sources)
        tell_of_unfit_models(agent, tools, engines.llm.limits, tell)
        _tell_of_unasked_tools(agent, tools, tell)
        await self.sources.open()
        spoken = [language(code) for code in agent.spoken_languages]
        schemas = [schema for one in (tools, *(other.tools for other in self.others.values())) for schema in one.schemas()]
        self.personal = PersonalData(agent.records.redact, spoken, schemas)

    async def _load_other(
        self, name: str, agent: AgentConfig, voices: OtherVoices, metrics: Metrics, tell: Callable[[Weakness], None]
    ) -> OtherAgent:
        """An agent that calls may be handed off to. Raises ConfigError, ModelError."""
        sources, guards = await asyncio.to_thread(_sources_and_guards, agent, metrics)
        self._closing.push_async_callback(guards.close)
        self._closing.push_async_callback(sources.close)
        tools = await asyncio.to_thread(ToolSet.from_config, agent.tools, agent.base_dir, metrics.tools.add)
        self._closing.push_async_callback(tools.close)
        spoken = await voices.of(agent)
        speech = await asyncio.to_thread(_speech, agent, spoken)
        await tools.open()
        await sources.open()
        try:
            _require_fitting(agent, tools, spoken)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
        _tell_of_unasked_tools(agent, tools, tell)
        return OtherAgent(agent, tools, guards, speech, sources)

    def begin_call(self) -> CallObserver:
        """Count a call that begins with it. Returns the observer that tells when it has ended."""
        self._calls += 1
        self._no_calls.clear()
        return _CallCount(self._end_call)

    def _end_call(self) -> None:
        self._calls -= 1
        if not self._calls:
            self._no_calls.set()

    async def retire(self) -> None:
        """Wait for the end of its calls, then close it."""
        await self._no_calls.wait()
        await self.close()

    async def close(self) -> None:
        """Free what was loaded for it. May be called twice."""
        await self._closing.aclose()


class _CallCount(CallObserver):
    """Tells once that a call has ended."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    @override
    def ended(self) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()


def folders_of(agent: AgentConfig) -> set[Path]:
    """The folders of the Python modules of an agent, and of those that take its calls over."""
    found: set[Path] = set()
    for one in (agent, *agent.agents.values()):
        found |= module_folders([entry for entry in one.tools if isinstance(entry, str)], Path(one.base_dir))
    return found


def tell_of_unfit_models(agent: AgentConfig, tools: ToolSet, limits: HistoryLimits, tell: Callable[[Weakness], None]) -> None:
    """Tell of models that were not made for the agent, or have no room for what it is told. Raises ConfigError, ModelError."""
    if line := cramped(agent, tools, limits):
        tell(Weakness(line))
    found = unfit(agent, tools.schemas())
    if found is not None:
        tell(Weakness(found.problem, found.advice))
    known = registry_of(agent)
    for line in foreign_models(agent, profile_of(agent, known), known):
        tell(Weakness(line))


def _tell_of_unasked_tools(agent: AgentConfig, tools: ToolSet, tell: Callable[[Weakness], None]) -> None:
    verbs = frozenset().union(*(language(code).destroying for code in ("en", *agent.spoken_languages)))
    for name in tools.destroying_unasked(verbs):
        problem = f"tool {name} destroys something, by its name or its description, and does not ask the caller first"
        tell(Weakness(problem, 'give it a question, confirm="Shall I …?", or say confirm=False (in YAML: false)'))


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
    for name in OF_THE_LANGUAGE:
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
