"""Makes the turn engine's rules of what a client changed in its session."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from msgspec.structs import replace

from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import EndpointingRules, MemoryRules, Rules, TurnRules
from voiceagent.realtime.response_settings import reply_rules
from voiceagent.realtime.settings import ClientSettings, Eagerness, SessionFacts, Truncation, TurnDetection
from voiceagent.settings.agent import AgentConfig
from voiceagent.turn_taking.endpointing import ENDPOINTING_MANNERS, Manner

EAGER_MS = 200.0
"""The silence after which a speculative reply begins, where a fixed one ends the turn."""
MANNERS: dict[Eagerness, Manner] = {"low": "patient", "medium": "balanced", "high": "brisk"}


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
        endpointing=_endpointing(turns, agents.endpointing),
        turns=TurnRules(
            turns.answers and not settings.transcribes_only,
            turns.interruptible,
            settings.transcribes_only,
            float(turns.idle_ms or 0),
        ),
        replies=reply_rules(settings),
        memory=_memory(settings.truncation, agents.memory),
    )


def _endpointing(turns: TurnDetection, agents: EndpointingRules) -> EndpointingRules:
    if turns.by == "silence" and turns.silence_ms is not None:
        return EndpointingRules(min_delay_ms=min(EAGER_MS, turns.silence_ms), max_delay_ms=float(turns.silence_ms))
    manner = MANNERS.get(turns.eagerness) if turns.by == "meaning" else None
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
