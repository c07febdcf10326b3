"""The steps of an agent that is a graph: the step in which the call is, the values that are known, and the step that follows. The
language model notes values and goes to a step by tools (`NOTE`, `GO_TO`); what follows is decided here. One turn of the caller
leads to one step that they ask for, whatever the model calls. This file writes `State.flow`.

A step may hand the call off to another agent. The reply that entered it ends, and the language model sums up meanwhile. Then the
rules of the other agent hold, and it goes on: at once if the caller speaks, else when the summary is there or too late."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_words, memory
from voiceagent.conversation.history import read_arguments
from voiceagent.conversation.reply_lifecycle import owe_answer
from voiceagent.conversation.rules import Rules, StepRule, TransitionRule
from voiceagent.conversation.state import Phase, Step
from voiceagent.turn_taking.person_request import person_requests
from voiceagent.turn_taking.request import asks_to_repeat, asks_to_start_over
from voiceagent.turn_taking.spoken_language import AUTO, SpokenLanguage

NOTE, GO_TO = "note", "go_to_step"


def begin(step: Step) -> None:
    """The call begins in the first step, or goes on in the one in which another server has left it."""
    rules, left = step.state.rules.steps, step.state.flow
    if left.step in rules:
        _enter(step, left.step, left.values)
    elif rules:
        _enter(step, next(iter(rules)), {})


def tool_ended(step: Step, name: str, output: str, ok: bool) -> None:
    """A tool of a committed reply has a result. Note what it changes, and go to the step that follows."""
    rules, flow = step.state.rules.steps, step.state.flow
    if not ok or flow.step not in rules:
        return
    result = read_arguments(output) or {}
    if name == GO_TO:
        wanted = str(result.get("step"))
        if wanted in rules and may_go(step):
            go_where_asked(step, wanted)
        return
    if name == NOTE and isinstance(kept := result.get("noted"), dict):
        collected = rules[flow.step].collect.keys() - flow.given_up
        noted(step, {value: told for value, told in kept.items() if value not in collected})
    else:
        _follow(step, name, result)


def noted(step: Step, values: Mapping[str, object]) -> None:
    """Values of the step are known. Go to the step that follows."""
    flow = step.state.flow
    step.put(flow=replace(flow, values={**flow.values, **values}))
    _follow(step, NOTE, {})


def give_up(step: Step, value: str) -> None:
    """The caller does not tell this value of the step."""
    flow = step.state.flow
    step.put(flow=replace(flow, given_up=flow.given_up | {value}))


def step_asked_for(step: Step, said: str, *, may_restart: bool) -> str:
    """The step to which a caller goes who asks for a person, or to start over, with these words. Empty: there is none, or they
    ask for neither."""
    rules = step.state.rules.steps
    person = next((name for name, rule in rules.items() if rule.for_person and name != step.state.flow.step), "")
    if person and person_requests(tuple(language.phone.person for language in step.possible_languages)).made_in(said):
        return person
    first = next(iter(rules), "")
    if not may_restart or not first or not rules[first].everywhere:
        return ""
    return first if any(asks_to_start_over(said, language) for language in step.possible_languages) else ""


def line_again(step: Step, said: str) -> str:
    """The agent's last words, if the caller only asks to hear them again, in an agent with steps; with the rest that was not
    heard. Empty: the caller asks for something else."""
    if not step.state.rules.steps or not asks_to_repeat(said, step.language):
        return ""
    return f"{step.last_said} {step.state.replies.unheard_text}".strip()


def may_go(step: Step) -> bool:
    """Returns whether the language model may lead to a step: the one that the call is in is not final, and the caller's turn has
    led to none yet."""
    flow, rules = step.state.flow, step.state.rules.steps
    return flow.step in rules and not rules[flow.step].final and flow.asked_in != step.state.memory.turns


def go_to(step: Step, name: str) -> None:
    """Go to a step, with the values that are known."""
    _enter(step, name, step.state.flow.values)


def go_where_asked(step: Step, name: str) -> None:
    """Go to a step that the caller asks for. The first one starts over."""
    step.put(flow=replace(step.state.flow, asked_in=step.state.memory.turns))
    if starts_over(step, name):
        memory.begin_anew(step)
    _enter(step, name, {} if starts_over(step, name) else step.state.flow.values)


def starts_over(step: Step, name: str) -> bool:
    """Returns whether the step is the beginning, where all values are forgotten."""
    return name == next(iter(step.state.rules.steps))


def place(step: Step) -> str:
    """The result of `GO_TO` where it does nothing: the step that the call is in."""
    return json.dumps({"step": step.state.flow.step})


def _follow(step: Step, tool: str, result: Mapping[str, object]) -> None:
    flow = step.state.flow
    current = step.state.rules.steps[flow.step]
    following = next((one for one in current.next if _holds(one, current, flow.values, tool, result)), None)
    if following is not None:
        _enter(step, following.to, flow.values)


def _holds(way: TransitionRule, current: StepRule, values: Mapping[str, object], tool: str, result: Mapping[str, object]) -> bool:
    if any(values.get(name) != wanted for name, wanted in way.when.items()):
        return False
    if way.after:
        return way.after == tool and all(result.get(field) == wanted for field, wanted in way.result.items())
    return tool == NOTE and all(name in values for name in current.values)


def _enter(step: Step, name: str, values: Mapping[str, object]) -> None:
    given_up = step.state.flow.given_up if values else frozenset()
    step.put(flow=replace(step.state.flow, step=name, values=values, known=_written(values), given_up=given_up))
    step.do(act.StepChanged(name))
    if step.is_leaving:
        _begin_handoff(step, step.state.rules.steps[name])


def _written(values: Mapping[str, object]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True) if values else ""


# --- another agent takes over -----------------------------------------------------------------------------------------

HEARING = (Phase.HEARING, Phase.FINALISING)


def rules_of_agent(rules: Rules, agent: str) -> Rules:
    """The rules of a call that this agent has taken over. What belongs to the call and to its client stays."""
    theirs = rules.agents[agent]
    limits = replace(theirs.limits, resume_timeout_ms=rules.limits.resume_timeout_ms, max_call_ms=rules.limits.max_call_ms)
    return replace(theirs, agents=rules.agents, limits=limits, turns=rules.turns, replies=rules.replies)


def _begin_handoff(step: Step, rule: StepRule) -> None:
    flow = step.state.flow
    sums_up = rule.summary and bool(step.state.memory.history)
    step.put(flow=replace(flow, handoffs=flow.handoffs + 1, summarising=sums_up, summary=""))
    if sums_up:
        messages = memory.told(step, step.prompts.sum_up)
        step.do(act.Summarise(messages, flow.handoffs + 1, step.state.rules.limits.handoff_summary_ms))


def take_summary(step: Step, handoff: int, text: str) -> None:
    """The summary for the next agent is there, or is not to be had."""
    flow = step.state.flow
    if flow.summarising and flow.handoffs == handoff:
        step.put(flow=replace(flow, summary=text, summarising=False))


def handoff_is_due(step: Step) -> bool:
    """Returns whether the other agent takes over now: nothing is said any more, and it waits for no summary."""
    state = step.state
    if not step.is_leaving or state.reply is not None or state.replies.cancelling is not None:
        return False
    if state.connection.lost_ms is not None:
        return False
    return state.phase in HEARING or (state.phase is Phase.IDLE and not state.flow.summarising)


def answer_is_due(step: Step) -> bool:
    """Returns whether an agent that has taken over answers the caller now."""
    replies, is_lost = step.state.replies, step.state.connection.lost_ms is not None
    return replies.owes_answer and step.state.phase is Phase.IDLE and not replies.transferring and not is_lost


def hand_off(step: Step) -> None:
    """The other agent takes over."""
    flow, rules = step.state.flow, step.state.rules
    rule = rules.steps[flow.step]
    values = {name: value for name, value in flow.values.items() if rule.passes is None or name in rule.passes}
    step.follow(rules_of_agent(rules, rule.handoff))
    memory.hand_on(step, flow.summary, forgets=not rule.summary)
    known = _written(values)
    step.put(
        flow=replace(
            flow, step="", values=values, known=known, agent=rule.handoff, summarising=False, summary="", given_up=frozenset()
        )
    )
    owe_answer(step)
    step.do(act.AgentChanged(rule.handoff, bool(flow.summary)))
    language = step.state.rules.language
    if language not in (AUTO, step.state.spoken.code):
        caller_words.speak(step, SpokenLanguage(language))
    if step.state.rules.steps:
        _enter(step, next(iter(step.state.rules.steps)), values)
