"""Values that the turn engine collects itself, for a step or for a tool's parameter: it asks, hears the answer, asks for the rest
of it, reads it back, takes corrections, and gives up in the end. The language model answers only what is not about the value, and
then the engine asks again. A value that the caller tells unasked, in the words with which its task begins, is read back at once.
This file writes `State.collecting`. `voiceagent/values` hears and writes the values."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import steps
from voiceagent.conversation.history import ToolCall, read_arguments
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.rules import TRANSFER, CollectRule, Rules
from voiceagent.conversation.state import Collecting, State, Step, StepProgress, ValueTask
from voiceagent.turn_taking.language import ValueWords
from voiceagent.turn_taking.patience import ExpectedValue, Progress
from voiceagent.turn_taking.request import agrees
from voiceagent.values.kind import Frame, HeardValue
from voiceagent.values.kinds import kind

KEPT = frozenset({"phone", "email", "name", "address", "date_of_birth"})
"""Kinds that stay the same through a call: a tool's parameter of another kind is asked for again at the tool's next call."""
TOLD_UNASKED = frozenset({"phone", "email", "date", "time", "date_of_birth", "digits", "money", "choice", "card"})
"""Kinds that are recognised in words that answer no question for them. Anything may be a name."""
OPEN_ENDED = frozenset({"name", "address", "money"})
"""Kinds of which more may follow what is one already."""
KEYED = {"phone": 15, "digits": 32, "card": 19, "date_of_birth": 8}
"""Most keys by which a value may be keyed in at a telephone."""
OF_DIGITS = frozenset({"phone", "digits", "money", "card", "date_of_birth", "time"})
"""Kinds that are said in digits or number words."""
CARD = "card"
"""The kind whose values the engine knows by marks alone."""
GIST_SHARE = 0.7
"""The share of a value that was read back which the caller must have heard before a yes counts."""


class NextMove(Struct, frozen=True):
    """The agent's answer to words about a value."""

    line: str = ""
    """It says this. Empty: the language model goes on."""
    noted: tuple[ToolCall, str] | None = None
    """The language model reads that this was noted: a call of `note`, and its result."""
    call: ToolCall | None = None
    """It runs this tool call, whose values are complete."""
    transfers: bool = False
    """It transfers the caller to a person."""


def begin(step: Step, today: str) -> None:
    """The call begins on this day, an ISO date."""
    step.change("collecting", today=today)


def forget(step: Step) -> None:
    """The caller starts over, or has another agent. What was collected for tools is gone, and so is the call that waits."""
    step.put(collecting=Collecting(today=step.state.collecting.today))


# --- which value is collected -----------------------------------------------------------------------------------------


def _next_name(step: Step) -> str | None:
    """The value that is to be collected now: of the tool call that waits, else of the step."""
    state, flow = step.state.collecting, step.state.flow
    if state.call is not None:
        return next(iter(_lacking(step, state.call)), None)
    rule = step.state.rules.steps.get(flow.step)
    names = rule.collect if rule is not None else ()
    return next((name for name in names if name not in flow.values and name not in flow.given_up), None)


def _lacking(step: Step, call: ToolCall) -> list[str]:
    state = step.state.collecting
    return [name for name in _parameters(step, call.name) if name not in state.known and name not in state.given_up]


def _parameters(step: Step, tool: str) -> list[str]:
    """The parameters of a tool that are collected, as `tool.parameter`."""
    rule = step.state.rules.tools.get(tool)
    return [f"{tool}.{parameter}" for parameter in rule.collect] if rule is not None else []


def _rule_of(step: Step, name: str) -> CollectRule:
    tool, _, parameter = name.partition(".")
    return step.state.rules.tools[tool].collect[parameter] if parameter else _step_rules(step)[name]


def _step_rules(step: Step) -> dict[str, CollectRule]:
    rule = step.state.rules.steps.get(step.state.flow.step)
    return dict(rule.collect) if rule is not None else {}


def _task(step: Step) -> ValueTask | None:
    """The task that is going on. One whose step is over has ended, and the next one begins."""
    name, task = _next_name(step), step.state.collecting.task
    if task is not None and task.name == name:
        return task
    task = None if name is None else ValueTask(name)
    if task is not None or step.state.collecting.task is not None:
        step.change("collecting", task=task, before=None)
    if task is not None:
        _tell(step, task, "collecting")
    return task


def _going_on(step: Step) -> ValueTask | None:
    """The task that is going on, if it still is."""
    task = step.state.collecting.task
    return task if task is not None and task.name == _next_name(step) else None


def card_task(state: State) -> ValueTask | None:
    """The task that is going on, if it collects a card."""
    step = Step(state, 0.0)
    task = _going_on(step)
    return task if task is not None and _rule_of(step, task.name).kind == CARD else None


def collects_cards(rules: Rules) -> bool:
    """Returns whether a card is ever collected."""
    return bool(_cards(rules)) or any(map(collects_cards, rules.agents.values()))


def _cards(rules: Rules) -> set[str]:
    """The names of the values that are cards."""
    found = {name for rule in rules.steps.values() for name, one in rule.collect.items() if one.kind == CARD}
    return found | {
        f"{tool}.{name}" for tool, rule in rules.tools.items() for name, one in rule.collect.items() if one.kind == CARD
    }


def left(rules: Rules, collecting: Collecting, flow: StepProgress) -> tuple[Collecting, StepProgress]:
    """The values that another server has left. It has kept the numbers of cards to itself, so they are collected again."""
    cards, task = _cards(rules), collecting.task
    if task is not None and task.name in cards:
        task = ValueTask(task.name, tries=task.tries)
    known = {name: value for name, value in collecting.known.items() if name not in cards}
    values = {name: value for name, value in flow.values.items() if name not in cards}
    return replace(collecting, before=None, task=task, known=known), replace(flow, values=values)


# --- tools that need values -------------------------------------------------------------------------------------------


def needs_values(step: Step, call: ToolCall) -> bool:
    """Returns whether the tool call needs a value that is not collected yet. What the language model wrote for it is none."""
    return bool(_lacking(step, call))


def hold(step: Step, call: ToolCall) -> None:
    """The tool call waits for its values. One that waited before is forgotten."""
    step.change("collecting", call=call)


def with_values(step: Step, call: ToolCall) -> ToolCall:
    """The tool call with the values that were collected, and with none that the language model wrote in their place."""
    rule, given = step.state.rules.tools.get(call.name), read_arguments(call.arguments)
    if rule is None or not rule.collect or given is None:
        return call
    known = step.state.collecting.known
    own = {name: value for name, value in given.items() if name not in rule.collect}
    collected = {name: known[f"{call.name}.{name}"] for name in rule.collect if f"{call.name}.{name}" in known}
    return replace(call, arguments=json.dumps(own | collected, ensure_ascii=False))


def let_go(step: Step) -> None:
    """The caller has gone to another step. The tool call that waits is forgotten, and all values where they start over."""
    if steps.starts_over(step, step.state.flow.step):
        forget(step)
    else:
        step.change("collecting", task=None, before=None, call=None)


def tool_ended(step: Step, tool: str, ok: bool) -> None:
    """The tool has run. Values that may be others the next time are forgotten."""
    if tool == steps.GO_TO and ok and step.state.rules.steps:
        let_go(step)
    state = step.state.collecting
    gone = {name for name in _parameters(step, tool) if name in state.given_up or _rule_of(step, name).kind not in KEPT}
    if gone:
        known = {name: value for name, value in state.known.items() if name not in gone}
        step.change("collecting", known=known, given_up=state.given_up - gone)


# --- hearing ----------------------------------------------------------------------------------------------------------


def hear(step: Step, said: str) -> NextMove | None:
    """The caller said this. Returns the answer if it is about the value that is being collected, or if that is given up; None if
    the language model answers."""
    task = _task(step)
    if task is None:
        return None
    step.change("collecting", before=task)
    rule = _rule_of(step, task.name)
    heard = _heard(step, task, rule, said)
    if not task.asked_in and not (heard.value is not None and rule.kind in TOLD_UNASKED):
        return None
    if task.stage == "reading_back" and (agrees(said, step.language) or heard.value == task.value):
        return _confirmed(step, task)
    if task.stage == "reading_back" and not heard.about_it:
        answer = kind("yes_no").hear(said, "", _frame(step, rule))
        if answer.value == "yes":
            return _confirmed(step, task)
        return _ask_again(step, task, rule) if answer.value == "no" else _aside(step, task, rule)
    if not heard.about_it:
        return _aside(step, task, rule)
    if heard.value is not None:
        return _took(step, task, rule, heard)
    if heard.partial and heard.partial != task.so_far:
        return _say(step, replace(task, stage="hearing", so_far=heard.partial, value=""), _words(step).rest)
    return _ask_again(step, task, rule)


def _took(step: Step, task: ValueTask, rule: CollectRule, heard: HeardValue) -> NextMove | None:
    """A value was heard."""
    corrected = task.stage == "reading_back"
    task = replace(task, stage="reading_back", so_far="", value=heard.value or "", tries=task.tries + corrected)
    is_plain = rule.confirm == "doubtful" and not heard.doubtful and task.asked_in > 0
    if not corrected and (rule.confirm == "never" or is_plain):
        return _confirmed(step, task)
    if task.tries >= rule.tries:
        return _give_up(step, task, rule)
    _tell(step, task, "heard")
    return _say(step, task, _read_back(step, rule, task.value))


def _ask_again(step: Step, task: ValueTask, rule: CollectRule) -> NextMove | None:
    """It was no such value, or not the right one."""
    task = ValueTask(task.name, tries=task.tries + 1)
    if task.tries >= rule.tries:
        return _give_up(step, task, rule)
    return _say(step, task, f"{_words(step).again} {_question(step, rule)}")


def _aside(step: Step, task: ValueTask, rule: CollectRule) -> NextMove | None:
    """The caller said something else. The language model answers it, and the engine asks again."""
    task = replace(task, tries=task.tries + bool(task.asked_in), asked_in=0)
    if task.tries >= rule.tries:
        return _give_up(step, task, rule)
    step.change("collecting", task=task)
    return None


def _confirmed(step: Step, task: ValueTask) -> NextMove:
    """The value is known. Ask for the next one; without one, run the tool that waited, or let the language model go on."""
    _tell(step, task, "confirmed")
    step.change("collecting", task=None, before=None)
    if "." in task.name:
        step.change("collecting", known={**step.state.collecting.known, task.name: task.value})
        return _go_on(step, _words(step).thanks, None)
    noted = _note(step, task.name, task.value)
    steps.noted(step, {task.name: task.value})
    return _go_on(step, _words(step).thanks, noted)


def _give_up(step: Step, task: ValueTask, rule: CollectRule) -> NextMove:
    _tell(step, task, "given_up")
    step.change("collecting", task=None, before=None, call=None)
    if "." in task.name:
        step.change("collecting", given_up=step.state.collecting.given_up | {task.name})
    else:
        steps.give_up(step, task.name)
    if rule.give_up == TRANSFER and step.state.rules.transfers:
        return NextMove(transfers=True)
    noted = _note(step, task.name.rpartition(".")[2], step.prompts.value_given_up)
    if rule.give_up in step.state.rules.steps:
        steps.go_to(step, rule.give_up)
    return _go_on(step, "", noted)


def _note(step: Step, name: str, told: str) -> tuple[ToolCall, str]:
    noted = {name: told}
    call = ToolCall(f"value{_reply_id(step)}_{name}", steps.NOTE, json.dumps(noted, ensure_ascii=False))
    return call, json.dumps({"noted": noted}, ensure_ascii=False)


def _go_on(step: Step, thanks: str, noted: tuple[ToolCall, str] | None) -> NextMove:
    call, task = step.state.collecting.call, _task(step)
    if task is not None:
        return NextMove(f"{thanks} {_ask(step, task)}".strip(), noted)
    step.change("collecting", call=None)
    if call is None:
        return NextMove(noted=noted)
    return NextMove(noted=noted, call=replace(with_values(step, call), call_id=f"{call.call_id}_collected"))


def take_back(step: Step) -> None:
    """The caller heard nothing of the answer to the last words, which are to be heard again together with those since."""
    state = step.state.collecting
    if state.before is not None and state.task is not None and state.before.name == state.task.name:
        step.change("collecting", task=state.before, before=None)


def reply_over(step: Step, reply: Reply) -> None:
    """A reply is over. A question of which the caller heard nothing, or a value of which they heard too little, was not asked."""
    task = step.state.collecting.task
    if task is None or task.asked_in != reply.reply_id:
        return
    words = len(task.line.split())
    heard = words - len(reply.unheard.split())
    if heard < (GIST_SHARE * words if task.stage == "reading_back" else 1):
        step.change("collecting", task=replace(task, asked_in=0))


# --- asking -----------------------------------------------------------------------------------------------------------


def next_question(step: Step, tools: Collection[str]) -> NextMove | None:
    """These tools of the reply have ended. Returns what is done about a value that they led to, or need. None: there is none, or
    the language model has something to tell. The caller's last words may hold the value."""
    before, call = step.state.collecting.task, step.state.collecting.call
    if not {steps.NOTE, steps.GO_TO, "" if call is None else call.name}.issuperset(tools) or (task := _task(step)) is None:
        return None
    said = next((message.content for message in reversed(step.state.memory.history) if message.role == "user"), "")
    is_new = before is None or before.name != task.name
    return (hear(step, said) if is_new else None) or NextMove(_ask(step, step.state.collecting.task or task))


def question_behind(step: Step, reply: Reply) -> str:
    """The question for the value that is being collected, to be said behind what the language model said. Empty if that is a
    question itself, or if the question was asked before."""
    task = _task(step)
    text = " ".join(clause.text for clause in reply.clauses).rstrip()
    if task is None or task.asked_in or reply.transfers or step.state.silence.ending or text.endswith("?"):
        return ""
    return _ask(step, task)


def greeting(step: Step, text: str) -> str:
    """The greeting, with the first question behind it if it asks for nothing itself."""
    task = None if text.rstrip().endswith("?") else _task(step)
    return text if task is None else f"{text} {_ask(step, task)}".strip()


def _ask(step: Step, task: ValueTask) -> str:
    """The question, or what was heard so far once more."""
    rule = _rule_of(step, task.name)
    line = _words(step).rest if task.stage == "hearing" else _question(step, rule)
    line = _read_back(step, rule, task.value) if task.stage == "reading_back" else line
    step.change("collecting", task=replace(task, asked_in=_reply_id(step), line=line))
    return line


def _say(step: Step, task: ValueTask, line: str) -> NextMove:
    step.change("collecting", task=replace(task, asked_in=_reply_id(step), line=line))
    return NextMove(line)


def _reply_id(step: Step) -> int:
    return step.state.replies.next_reply_id if step.state.reply is None else step.state.reply.reply_id


def _question(step: Step, rule: CollectRule) -> str:
    return rule.ask or _words(step).ask.get(rule.kind, "")


def _read_back(step: Step, rule: CollectRule, value: str) -> str:
    return _words(step).read_back.replace("{value}", kind(rule.kind).confirm(value, _frame(step, rule)))


# --- before the turn is over ------------------------------------------------------------------------------------------


def step_asked_for(step: Step, said: str) -> str:
    """The step that the caller asks for; empty: none. While a value is said or read back, "start over" is about that alone."""
    task = _going_on(step)
    return steps.step_asked_for(step, said, may_restart=task is None or not task.asked_in or task.stage == "asking")


def answers_itself(step: Step, said: str) -> bool:
    """Returns whether the engine itself answers these words, so that the language model need not begin."""
    task = _going_on(step)
    if task is None or not task.asked_in:
        return False
    reads_back = task.stage == "reading_back"
    return _heard(step, task, _rule_of(step, task.name), said).about_it or (reads_back and agrees(said, step.language))


def progress_of(step: Step, said: str) -> Progress | None:
    """The progress of the value that is being collected at the end of these words; None if none is."""
    task = _going_on(step)
    if task is None or task.stage == "reading_back":
        return None
    rule = _rule_of(step, task.name)
    heard = _heard(step, task, rule, said)
    if not heard.about_it or (heard.value is None and not heard.partial):
        return ""
    if heard.value is None:
        return "open"
    return "growing" if heard.growing or rule.kind in OPEN_ENDED else "whole"


def expected(step: Step) -> ExpectedValue | None:
    """The sound of the answer that is waited for; None if no value was asked for."""
    task = _going_on(step)
    if task is None or not task.asked_in or task.stage == "reading_back":
        return None
    rule = _rule_of(step, task.name)
    return ExpectedValue(digits=rule.kind in OF_DIGITS, hint=kind(rule.kind).hint(_frame(step, rule)))


# --- helpers ----------------------------------------------------------------------------------------------------------


def _heard(step: Step, task: ValueTask, rule: CollectRule, said: str) -> HeardValue:
    return kind(rule.kind).hear(said, task.value if task.stage == "reading_back" else task.so_far, _frame(step, rule))


def _frame(step: Step, rule: CollectRule) -> Frame:
    today = step.state.collecting.today
    region = str(rule.options.get("region", ""))
    return Frame(step.language.code, date.fromisoformat(today) if today else date.min, region, rule.options)


def _words(step: Step) -> ValueWords:
    return step.language.values


def _tell(step: Step, task: ValueTask, stage: act.ValueStage) -> None:
    rule = _rule_of(step, task.name)
    length = rule.options.get("length")
    most = length if isinstance(length, int) else KEYED.get(rule.kind, 0)
    most = 1 if rule.kind == "yes_no" and rule.options.get("keys") else most
    step.do(act.ValueCollected(task.name, stage, task.value, rule.kind, most))
