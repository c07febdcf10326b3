"""Makes the turn engine's rules from an agent's settings, its tools and its turn judges, and of what a client changed in its
session."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from voiceagent.call.scope import AgentParts
from voiceagent.call.step_tools import AgentStepTools
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import tokens_of
from voiceagent.conversation.rules import (
    CollectRule,
    EndpointingRules,
    Limits,
    MemoryRules,
    Phrases,
    Rules,
    SpeculationRules,
    StepRule,
    ToolRule,
    TransitionRule,
    TurnRules,
)
from voiceagent.errors import ConfigError
from voiceagent.llm.engine import HistoryLimits
from voiceagent.realtime.response_settings import reply_rules
from voiceagent.realtime.settings import ClientSettings, Eagerness, SessionFacts, Truncation, TurnDetection
from voiceagent.settings import agent as config
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.steps import StepSettings
from voiceagent.settings.values import collected, is_collected
from voiceagent.text_normalization.reading import unmarked
from voiceagent.tools.call_tools import NO_STEPS, CallTools, EndCallTool, StepTools
from voiceagent.tools.schemas import MAX_SHAPES, shapes
from voiceagent.tools.tool import Tool
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_judges.judge import TurnJudge
from voiceagent.turn_taking.endpointing import ENDPOINTING_MANNERS, WITHOUT_JUDGES, EndpointModel, Manner
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.overlap import MANNERS
from voiceagent.turn_taking.patience import ValueShape
from voiceagent.values.kinds import prepare

MIN_ROOM_TOKENS = 300
"""The least room for a conversation: about five turns."""
NO_LIMITS = HistoryLimits()
DEFAULTS = Rules()
MAX_FILE_BYTES = 100_000
EAGER_MS = 200.0
"""The silence after which a speculative reply begins, where a fixed one ends the turn."""


def rules_of(
    agent: AgentConfig,
    tools: ToolSet,
    judges: Sequence[TurnJudge] = (),
    limits: HistoryLimits = NO_LIMITS,
    legs: Sequence[Tool] = (),
) -> Rules:
    """The turn engine's rules for an agent, its tools, its turn judges, its language model's limits and the tools of a call's
    leg."""
    moving = step_tools(agent).every if agent.steps else ()
    parameters = {name: collected(value).rule for name, value in agent.collect.items()}
    if parameters or any(is_collected(value) for step in agent.steps.values() for value in step.values.values()):
        for code in agent.spoken_languages:
            prepare(code)
    fixed_ms = agent.turn.fixed_endpointing_delay_ms
    return Rules(
        language=agent.language,
        first_language=agent.spoken_languages[0],
        instructions=agent.instructions,
        phrases=_phrases(agent.phrases),
        prompts={name: line for name, line in msgspec.structs.asdict(agent.prompts).items() if line is not None},
        limits=_limits(agent.turn),
        steps={name: _step_rule(step) for name, step in agent.steps.items()},
        tools={
            **{tool.name: ToolRule(tool.policy.effect, values=_values(moving, tool.name)) for tool in moving},
            **{tool.name: _leg_rule(tool) for tool in legs},
            **{name: _tool_rule(tools, name, parameters) for name in tools.names},
        },
        endpointing=_endpointing(agent, judges) if fixed_ms is None else _fixed_endpointing(fixed_ms),
        speculation=SpeculationRules(
            max_replies=agent.turn.max_speculative_replies, max_tool_calls=agent.turn.max_speculative_tool_calls
        ),
        memory=MemoryRules(
            max_chunks=agent.turn.max_chunks,
            max_chunk_characters=agent.turn.max_chunk_characters,
            long_history_tokens=_long_history_tokens(agent, tools, limits),
            summarise=agent.llm.summarise,
        ),
        transfers=bool(agent.telephony.human.transfer),
        manners=MANNERS[agent.turn.overlap],
    )


def rules_of_call(parts: AgentParts, tools: CallTools) -> Rules:
    """The rules of a call of an agent, with those of the agents that it may be handed off to."""
    agent, engines = parts.agent, parts.engines
    rules = rules_of(agent, tools.agents, engines.turn, engines.llm.limits, tools.legs)
    if not parts.others:
        return rules
    others = {
        name: rules_of(one.agent, one.tools, engines.turn, engines.llm.limits, legs_of(one.agent, tools.legs))
        for name, one in parts.others.items()
    }
    return replace(rules, agents=others)


def legs_of(agent: AgentConfig, legs: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools of a leg where this agent goes on, which has an `end_call` of its own."""
    return (*(tool for tool in legs if not isinstance(tool, EndCallTool)), *end_call_tools(agent))


def end_call_tools(agent: AgentConfig) -> tuple[Tool, ...]:
    """The tool `end_call`, if the agent may end its calls."""
    if not agent.end_call:
        return ()
    own, prompts = agent.prompts, language(agent.spoken_languages[0]).prompts
    description = prompts.end_call if own.end_call is None else own.end_call
    reason = prompts.end_call_reason if own.end_call_reason is None else own.end_call_reason
    return (EndCallTool(description, reason),)


def tools_of_steps(agent: AgentConfig) -> StepTools:
    """The tools of the agent's steps and of the values that it collects, if it has any. Raises ConfigError."""
    return step_tools(agent) if agent.steps or agent.collect else NO_STEPS


def _phrases(phrases: config.PhraseSettings) -> Phrases:
    return Phrases(
        greeting=unmarked(phrases.text("greeting") or ""),
        check_in=_plain(phrases.text("check_in")),
        farewell=_plain(phrases.text("farewell")),
        apology=_plain(phrases.apology),
        not_understood=_plain(phrases.not_understood),
        stopped=_plain(phrases.stopped),
        offer_person=_plain(phrases.offer_person),
        transfer=_plain(phrases.text("transfer")),
        transfer_failed=_plain(phrases.text("transfer_failed")),
        handoff=unmarked(phrases.text("handoff") or ""),
        resumed=_plain(phrases.resumed),
        fillers=None if phrases.fillers is None else tuple(map(unmarked, phrases.fillers)),
        protected=phrases.protected,
    )


def _long_history_tokens(agent: AgentConfig, tools: ToolSet, limits: HistoryLimits) -> int:
    """The agent's setting, else the language model's default. Never more than the model's context has room for."""
    most = agent.llm.long_history_tokens
    if most is None:
        most = limits.history_tokens or DEFAULTS.memory.long_history_tokens
    if limits.prompt_tokens is None:
        return most
    room = max(1, int(limits.prompt_tokens - _head_tokens(agent, tools)))
    return min(most or room, room)


def cramped(agent: AgentConfig, tools: ToolSet, limits: HistoryLimits) -> str:
    """One line if the agent's instructions and tools leave hardly any room for the conversation; empty if there is room."""
    head = round(_head_tokens(agent, tools))
    if limits.prompt_tokens is None or limits.prompt_tokens - head >= MIN_ROOM_TOKENS:
        return ""
    return (
        f"the agent's instructions and tools take about {head} of the {limits.prompt_tokens} tokens that a prompt may have, so "
        "the agent forgets after a few turns; shorten them, or raise the language model's context_tokens"
    )


def _head_tokens(agent: AgentConfig, tools: ToolSet) -> float:
    return tokens_of(agent.instructions) + tokens_of(json.dumps(tools.schemas(), ensure_ascii=False))


def _plain(phrase: str | None) -> str | None:
    return None if phrase is None else unmarked(phrase)


def _limits(turn: config.TurnSettings) -> Limits:
    return Limits(
        silence_timeout_ms=turn.silence_timeout_s * 1000.0,
        max_call_ms=turn.max_call_s * 1000.0,
        reply_timeout_ms=turn.reply_timeout_s * 1000.0,
        thinking_timeout_ms=turn.thinking_timeout_s * 1000.0,
        reply_filler_after_ms=turn.reply_filler_after_ms,
        filler_after_ms=turn.filler_after_ms,
        max_tool_rounds=turn.max_tool_rounds,
        resume_timeout_ms=turn.resume_timeout_s * 1000.0,
        handoff_summary_ms=turn.handoff_summary_timeout_ms,
    )


def _endpointing(agent: AgentConfig, judges: Sequence[TurnJudge]) -> EndpointingRules:
    shortest_ms, longest_ms = agent.turn.endpointing_delays_ms
    return EndpointingRules(
        model=endpointing_of(agent, judges),
        min_delay_ms=shortest_ms,
        max_delay_ms=longest_ms,
        interruption_delay_ms=agent.turn.interruption_endpointing_delay_ms,
        judges_by_sound=tuple(judge.name for judge in judges if not judge.needs_words),
        judges_by_words=tuple(judge.name for judge in judges if judge.needs_words),
    )


def _fixed_endpointing(delay_ms: float) -> EndpointingRules:
    return EndpointingRules(min_delay_ms=min(EAGER_MS, delay_ms), max_delay_ms=float(delay_ms))


def step_tools(agent: AgentConfig) -> AgentStepTools:
    """The tools of the agent's steps. Raises ConfigError."""
    own, prompts = agent.prompts, language(agent.spoken_languages[0]).prompts
    note = prompts.note if own.note is None else own.note
    go_to = prompts.go_to_step if own.go_to_step is None else own.go_to_step
    return AgentStepTools(agent.steps, note, go_to, agent.collect)


def _values(tools: Sequence[Tool], name: str) -> tuple[ValueShape, ...]:
    return tuple(shape for tool in tools if tool.name == name for shape in shapes(tool.parameters))[:MAX_SHAPES]


def _step_rule(step: StepSettings) -> StepRule:
    ways = tuple(TransitionRule(way.to, way.when, way.after, way.result) for way in step.next)
    own = {name: collected(value).rule for name, value in step.values.items() if is_collected(value)}
    return StepRule(
        step.instructions,
        tuple(step.values),
        ways,
        own,
        step.handoff,
        step.summary,
        step.pass_values,
        step.everywhere == "person",
        bool(step.everywhere),
        step.final,
    )


def _leg_rule(tool: Tool) -> ToolRule:
    policy = tool.policy
    return ToolRule(policy.effect, policy.fillers, policy.confirm, ends_call=isinstance(tool, EndCallTool))


def _tool_rule(tools: ToolSet, name: str, parameters: Mapping[str, CollectRule]) -> ToolRule:
    policy = tools.policy(name)
    collect = {key.partition(".")[2]: rule for key, rule in parameters.items() if key.partition(".")[0] == name}
    typical_ms = tools.run_times.typical_ms(name)
    return ToolRule(policy.effect, policy.fillers, policy.confirm, tools.values(name), typical_ms, collect)


def endpointing_of(agent: AgentConfig, judges: Sequence[TurnJudge] = ()) -> EndpointModel:
    """The weights that judge pauses: the agent's own if they cover all its turn judges, else the shipped ones, which are others
    where there are no judges. The agent's own and the latter bring a risk, which holds unless the agent names a manner. Raises
    ConfigError."""
    risk, own = agent.turn.endpointing_manner.risk, None if judges else WITHOUT_JUDGES
    if agent.turn.endpointing:
        named = _read(Path(agent.base_dir) / agent.turn.endpointing)
        own = named if all(named.weights.get(judge.name) for judge in judges) else own
    if own is None:
        return EndpointModel(risk=risk)
    return own if agent.turn.manner is None else dataclasses.replace(own, risk=risk)


@functools.lru_cache(maxsize=16)
def _read(path: Path) -> EndpointModel:
    """Read weights that `models.train.turns.fit` wrote."""
    try:
        text = path.read_bytes()[: MAX_FILE_BYTES + 1]
        if len(text) > MAX_FILE_BYTES:
            raise ConfigError(f"turn.endpointing: {path} has more than {MAX_FILE_BYTES} bytes; expected weights as JSON")
        found = msgspec.json.decode(text, type=EndpointModel)
    except OSError as error:
        raise ConfigError(f"turn.endpointing: {path} cannot be read ({error.strerror}); name a file, or leave it out") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"turn.endpointing: {path} holds no weights of an endpointer ({error})") from error
    if not found.weights or not 0 < found.risk < 1 or found.hesitation_ms <= 0 or found.spread <= 0:
        raise ConfigError(f"turn.endpointing: {path} holds no weights, or a risk or a spread that cannot be; fit them again")
    return found


EAGERNESS: dict[Eagerness, Manner] = {"low": "patient", "medium": "balanced", "high": "brisk"}


def turn_detection_of(agent: AgentConfig) -> TurnDetection:
    """The agent's own turn detection, as a client sees it."""
    fixed_ms = agent.turn.fixed_endpointing_delay_ms
    return TurnDetection() if fixed_ms is None else TurnDetection(by="silence", silence_ms=round(fixed_ms))


def facts_of(
    agent: AgentConfig, tools: Iterable[str], *, takes_audio: bool, no_forcing: str = "", is_telephone: bool = False
) -> SessionFacts:
    """The facts of an agent's sessions. `tools` are the names of those that the server runs; `takes_audio`: audio comes and goes
    by events; `no_forcing` is the reason why the language model cannot be made to call one."""
    languages = tuple(agent.spoken_languages)
    return SessionFacts(
        "",
        agent=agent.name,
        languages=languages,
        takes_audio=takes_audio,
        is_telephone=is_telephone,
        no_forcing=no_forcing,
        tools=tuple(tools),
    )


def changed_rules(at_ms: float, settings: ClientSettings, agents: Rules) -> ev.SettingsChanged:
    """The rules of the call; `agents` are those of the agent."""
    turns = settings.turn_detection
    return ev.SettingsChanged(
        at_ms,
        endpointing=_chosen_endpointing(turns, agents.endpointing),
        turns=TurnRules(
            turns.answers and not settings.transcribes_only,
            turns.interruptible,
            settings.transcribes_only,
            float(turns.idle_ms or 0),
        ),
        replies=reply_rules(settings),
        memory=_memory(settings.truncation, agents.memory),
    )


def _chosen_endpointing(turns: TurnDetection, agents: EndpointingRules) -> EndpointingRules:
    if turns.by == "silence" and turns.silence_ms is not None:
        return _fixed_endpointing(turns.silence_ms)
    manner = EAGERNESS.get(turns.eagerness) if turns.by == "meaning" else None
    if manner is None or agents.model is None:
        return agents
    chosen = ENDPOINTING_MANNERS[manner]
    model = dataclasses.replace(agents.model, risk=chosen.risk)
    return replace(agents, model=model, min_delay_ms=chosen.min_delay_ms, max_delay_ms=chosen.max_delay_ms)


def _memory(truncation: Truncation, agents: MemoryRules) -> MemoryRules:
    if truncation.kind == "auto":
        return agents
    if truncation.kind == "never":
        return replace(agents, long_history_tokens=0)
    most = agents.long_history_tokens if truncation.tokens is None else truncation.tokens
    return replace(agents, kept_share=truncation.ratio, long_history_tokens=most)
