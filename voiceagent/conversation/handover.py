"""A call that goes on at another server. The first one ends what is being said and done at this moment, as an interruption does:
the history holds what was heard, and the rest of the reply is kept. The state that is left (`State`) is all that the second one
needs. There the caller's connection counts as lost until they are back (`connection`). `sudden_end` makes the same of a call
whose server does not get to stop it."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import collecting
from voiceagent.conversation import events as ev
from voiceagent.conversation.caller_words import note_wish
from voiceagent.conversation.floor import take_floor
from voiceagent.conversation.reply import ToolRun
from voiceagent.conversation.reply_lifecycle import keep_rest, plan_next
from voiceagent.conversation.rules import ReplyWish, Rules
from voiceagent.conversation.state import (
    CallerTurn,
    Connection,
    LateResults,
    Phase,
    Replies,
    State,
    Step,
    StepProgress,
    TurnTools,
)
from voiceagent.conversation.steps import rules_of_agent
from voiceagent.conversation.tools import UNKNOWN
from voiceagent.turn_taking.languages import language

HANDED_OVER = "handed_over"
"""The reason of the call's end at the first server."""


def hand_over(step: Step, event: ev.HandedOver) -> None:
    """Stop here. An answer that was being made, or was to begin, is made at the other server if nothing of it was heard."""
    reply, wanted = step.spoken(), step.state.replies.next_reply
    is_heard = step.state.phase in (Phase.HEARING, Phase.FINALISING) and step.state.rules.turns.answers
    if reply is not None and not reply.is_detached and reply.answers_user:
        note_wish(step, reply.wish or ReplyWish())
    elif is_heard:
        note_wish(step, step.state.caller_turn.wish or ReplyWish())
    elif wanted is not None and wanted.kind == "answer":
        note_wish(step, wanted.wish or ReplyWish())
    if event.asks_again and is_heard and reply is None:
        keep_rest(step, step.sayings.not_understood)
    take_floor(step, "interrupted")
    plan_next(step, None)
    step.clear_timers(step.state.timers)
    step.put(phase=Phase.ENDED)
    step.do(act.End(HANDED_OVER))


def going_on(rules: Rules, left: State) -> State:
    """The state in which a call begins that another server has left. Nobody knows what came of the tools that ran there: the
    caller is told so, and none runs again."""
    flow = left.flow
    if flow.agent in rules.agents:
        rules = replace(rules_of_agent(rules, left.flow.agent), instructions=left.rules.instructions)
    elif flow.agent:  # the files of this server know it no more
        flow = StepProgress(values=flow.values)
    collected, flow = collecting.left(rules, left.collecting, flow)
    turn, replies = left.caller_turn, left.replies
    has_words = bool(turn.unanswered)
    prompts = language(left.spoken.code).prompts.with_texts(rules.prompts)
    unknown = tuple(
        ToolRun(
            one.calls[0],
            prompts.tool_interrupted
            if rules.tools.get(one.calls[0].name, UNKNOWN).effect == "none"
            else prompts.tool_outcome_unknown,
            is_owed=True,
        )
        for one in left.late.running
    )
    return State(
        rules,
        left.spoken,
        memory=replace(left.memory, keys=tuple(map(earlier_keys, left.memory.keys)), summarising=0, summarised=None),
        caller_turn=CallerTurn(
            unanswered=turn.unanswered,
            keys=earlier_keys(turn.keys),
            wish=turn.wish if has_words else None,
            context=turn.context,
            refusal=turn.refusal,
            last_words=turn.last_words,
            not_understood=turn.not_understood,
        ),
        habit=left.habit,
        replies=Replies(
            unheard_text="" if has_words else replies.unheard_text,
            next_reply_id=replies.next_reply_id,
            offers_person=replies.offers_person,
            last=replies.last,
            owes_answer=replies.owes_answer,
        ),
        tools=TurnTools(
            confirming=left.tools.confirming,
            asked_nothing=left.tools.asked_nothing,
            fillers_said=left.tools.fillers_said,
        ),
        late=LateResults(owed=(*left.late.owed, *unknown)),
        connection=Connection(lost_ms=0.0),
        flow=flow,
        collecting=collected,
        kept=left.kept,
    )


def earlier_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The names of what was said at the first server. Utterances are counted anew at the second one, replies go on."""
    return tuple(earlier_key(key) for key in keys)


def earlier_key(key: str) -> str:
    """See `earlier_keys`."""
    return f"earlier {key}" if "utterance " in key else key
