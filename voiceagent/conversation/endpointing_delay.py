"""How long the open utterance may be silent before the caller's turn is over: what the engine knows of a pause, and the rules'
limits. `turn_taking.endpointing` judges the evidence."""

from __future__ import annotations

from collections.abc import Iterator

from voiceagent.conversation import actions as act
from voiceagent.conversation.speculation import said_so_far
from voiceagent.conversation.state import Pause
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.endpointing import EndpointingDelays
from voiceagent.turn_taking.expected_value import ExpectedValue, expected_value
from voiceagent.turn_taking.patience import Shape, pending, progress
from voiceagent.turn_taking.pause import PauseEvidence


def delays_of(step: Step, pause: Pause, words: str) -> EndpointingDelays:
    """The delays for a pause after these words of the open utterance."""
    rules = step.state.rules.endpointing
    if rules.model is None or not words:
        return EndpointingDelays(rules.min_delay_ms, rules.max_delay_ms)
    asked, said = step.last_said, said_so_far(step, words)
    values = pending(_shapes(step), asked)
    value = progress(said, values, step.language)
    evidence = PauseEvidence(
        said, asked, pause.voiced_ms, pause.prosody, value, _calls_tool(step, said), pause.judged, step.state.habit
    )
    return rules.model.delays(evidence, step.language, shortest_ms=_shortest_ms(step), longest_ms=rules.max_delay_ms)


def value_asked_for(step: Step) -> ExpectedValue:
    """What the caller was asked for, as far as it is known."""
    return expected_value(_shapes(step), step.last_said, step.language)


def _shapes(step: Step) -> Iterator[Shape]:
    return (shape for rule in step.state.rules.tools.values() for shape in rule.values)


def _shortest_ms(step: Step) -> float:
    """The shortest endpointing delay. A caller who has just taken the floor is not talked over in the first pause between two
    sentences."""
    rules = step.state.rules.endpointing
    if not step.state.utterance.interrupts:
        return rules.min_delay_ms
    return max(rules.min_delay_ms, min(rules.interruption_delay_ms, rules.max_delay_ms))


def _calls_tool(step: Step, said: str) -> bool:
    """Whether the speculative reply to just these words calls a tool."""
    reply = step.speculative()
    return reply is not None and reply.assumed_text == said and reply.used_tools


def set_delays(step: Step, delays: EndpointingDelays) -> None:
    """Set how long the open utterance may be silent."""
    step.do(act.SetEndpointing(step.state.utterance.utterance_id, delays.eager_ms, delays.endpoint_ms))
