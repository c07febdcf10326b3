"""Speculative replies. A reply begins in a pause, before it is known that the caller has finished. Until the turn is committed
with the same words, its audio is held, its tools with effects wait, the client gets no event and nothing enters the history."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import collecting, steps
from voiceagent.conversation.caller_words import said_so_far
from voiceagent.conversation.history import Message
from voiceagent.conversation.memory import known_history
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.reply_lifecycle import (
    announce_reply,
    await_model,
    cancel_reply,
    generate,
    make_live,
    remember_words,
    revise,
)
from voiceagent.conversation.state import Phase, Step
from voiceagent.conversation.tool_runs import next_round, run_tool
from voiceagent.conversation.tools import may_predict, only_tells_to_stop

PREDICTABLE_WORDS = 3
"""With fewer words no tool call is predicted."""


def is_affordable(step: Step, load: float) -> bool:
    """Returns whether the turn's limits and the engines' load leave room for speculative work."""
    begun, most = step.state.speculation, step.state.rules.speculation
    return not step.is_leaving and begun.replies < most.max_replies and begun.tokens < most.max_tokens and load < most.busy_load


def speculate(step: Step) -> None:
    """Begin a reply to the words before the pause, as if the caller had finished."""
    state, pause = step.state, step.state.utterance.pause
    if pause is None or not pause.text or state.reply is not None or state.replies.cancelling is not None:
        return
    if not state.rules.turns.answers or state.rules.replies.text_only or state.caller_turn.wish is not None:
        return
    if state.tools.confirming is not None or state.caller_turn.awaiting_final or not is_affordable(step, pause.load):
        return
    if pause.refusal is not None or state.caller_turn.refusal is not None:
        return
    text, context = said_so_far(step, pause.text), state.caller_turn.context
    if collecting.answers_itself(step, text) or collecting.step_asked_for(step, text) or steps.line_again(step, text):
        return
    if only_tells_to_stop(step, text):
        return
    reply = Reply(state.replies.next_reply_id, state.memory.turns + 1, assumed_text=text, context=context, answers_user=True)
    make_live(step, reply)
    step.do(act.PauseReply(reply.reply_id))
    generate(step, reply)


def commit_reply(step: Step, reply: Reply) -> None:
    """The caller had finished. The speculative reply becomes the turn's reply and may be heard."""
    remember_words(step, reply.assumed_text, reply.context)
    kept = revise(step, replace(reply, assumed_text=""))
    step.put(phase=Phase.THINKING)
    announce_reply(step, kept)
    step.do(act.SpeculationEnded(kept.reply_id, "kept", kept.tokens))
    for number, part in enumerate(kept.rounds):
        _tell(step, kept, number)
        for run in part.tools:
            run_tool(step, kept, run.call)
            if run.output is not None:
                step.do(act.ToolEnded(kept.reply_id, run.call.call_id, run.call.name, run.output, run.ok))
    step.do(act.ResumeReply(kept.reply_id))
    if kept.awaits_text:
        await_model(step)
    next_round(step)


def _tell(step: Step, kept: Reply, round_number: int) -> None:
    """Announce the reply's clauses of a round. The first clause of the reply is synthesised already."""
    for index, clause in enumerate(kept.clauses):
        if clause.round == round_number:
            if index:
                step.do(act.Speak(kept.reply_id, index, clause.text))
            step.do(act.ReplyText(kept.reply_id, index, clause.text))


def settle_speculation(step: Step, text: str) -> bool:
    """`text` is committed. Keep the speculative reply if it answers just these words, else cancel it. Returns whether it was
    kept."""
    reply = step.speculative()
    if reply is None:
        return False
    if reply.assumed_text == text:
        commit_reply(step, reply)
        return True
    cancel_reply(step, "changed")
    return False


def prefill(step: Step, stable: str, words: str) -> None:
    """While the caller still speaks, have the language model read the words that will not change. If a slow tool may be needed,
    have it predict the tool call from all words so far."""
    state = step.state
    if (
        state.reply is not None
        or state.replies.cancelling is not None
        or not state.rules.speculation.max_replies
        or state.caller_turn.refusal is not None
    ):
        return
    predicts = may_predict(step) and any(rule.worth_predicting for rule in state.rules.tools.values())
    if predicts and len(words.split()) >= PREDICTABLE_WORDS:
        step.do(act.Prefill(next_prompt(step, words), state.utterance.utterance_id))
    elif stable:
        step.do(act.Prefill(next_prompt(step, stable)))


def next_prompt(step: Step, text: str) -> tuple[Message, ...]:
    """The known part of the next prompt, if the caller says no more than `text`."""
    return (*known_history(step), step.asked(said_so_far(step, text), step.state.caller_turn.context))
