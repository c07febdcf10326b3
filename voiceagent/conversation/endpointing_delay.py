"""How long the open utterance may be silent before the caller's turn is over: what the engine knows of a pause, and the rules'
limits. `turn_taking.endpointing` judges the evidence."""

from __future__ import annotations

from collections.abc import Iterator

from voiceagent.conversation import actions as act
from voiceagent.conversation.not_understood import sounds_like_a_turn
from voiceagent.conversation.speculation import said_so_far
from voiceagent.conversation.state import Pause
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.endpointing import EndpointingDelays
from voiceagent.turn_taking.expected_value import ExpectedValue, expected_value
from voiceagent.turn_taking.patience import ValueShape, pending, progress
from voiceagent.turn_taking.pause import PauseEvidence

NO_WORDS_MS = 1000.0
"""The shortest endpointing delay of an utterance without words."""


def delays_of(step: Step, pause: Pause, words: str) -> EndpointingDelays:
    """The delays for a pause after these words of the open utterance. Without words, a sound that is no turn waits longest."""
    rules = step.state.rules.endpointing
    if rules.model is None or not (words or (pause.judged and sounds_like_a_turn(pause))):
        return EndpointingDelays(rules.min_delay_ms, rules.max_delay_ms)
    asked, said = step.last_said, said_so_far(step, words)
    values = pending(_shapes(step), asked)
    value = progress(said, values, step.language)
    evidence = PauseEvidence(
        said, asked, pause.voiced_ms, pause.prosody, value, _calls_tool(step, said), pause.judged, step.state.habit
    )
    shortest_ms = _shortest_ms(step, pause, words)
    return rules.model.delays(evidence, step.language, shortest_ms=shortest_ms, longest_ms=rules.max_delay_ms)


def value_asked_for(step: Step) -> ExpectedValue:
    """What the caller was asked for, as far as it is known."""
    return expected_value(_shapes(step), step.last_said, step.language)


def _shapes(step: Step) -> Iterator[ValueShape]:
    return (shape for rule in step.state.rules.tools.values() for shape in rule.values)


def _shortest_ms(step: Step, pause: Pause, words: str) -> float:
    """The shortest endpointing delay. The turn judges get time to answer. A caller who has just taken the floor is not talked
    over in the first pause between two sentences. Where no words were recognised, they may follow."""
    rules = step.state.rules.endpointing
    shortest = [rules.min_delay_ms]
    if any(judge not in pause.answers for judge in _asked(step, pause)):
        shortest.append(rules.judges_wait_ms)
    if step.state.utterance.interrupts:
        shortest.append(rules.interruption_delay_ms)
    if not words:
        shortest.append(NO_WORDS_MS)
    return min(max(shortest), max(rules.min_delay_ms, rules.max_delay_ms))


def _asked(step: Step, pause: Pause) -> tuple[str, ...]:
    """The turn judges that are asked about a pause."""
    rules = step.state.rules.endpointing
    return rules.judges if pause.text and pause.refusal is None else rules.judges_by_sound


def _calls_tool(step: Step, said: str) -> bool:
    """Whether the speculative reply to just these words calls a tool."""
    reply = step.speculative()
    return reply is not None and reply.assumed_text == said and reply.used_tools


def set_delays(step: Step, delays: EndpointingDelays) -> None:
    """Set how long the open utterance may be silent."""
    step.do(act.SetEndpointing(step.state.utterance.utterance_id, delays.eager_ms, delays.endpoint_ms))
