"""Answering the caller: how a reply begins, what the language model adds to it, and how a cancelled reply settles."""

from __future__ import annotations

from dataclasses import replace as replace_call

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.compaction import compact
from voiceagent.conversation.context import take_in
from voiceagent.conversation.late_results import keep_untold, telling
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.reply_lifecycle import (
    OF_A_GENERATION,
    RELEASE,
    REPLY,
    THINKING,
    announce,
    check_complete,
    end,
    fail,
    generate,
    go_idle,
    new_reply,
    put_through,
    read_ahead,
    speak,
    take_turn,
)
from voiceagent.conversation.silence import SILENCE
from voiceagent.conversation.state import NextReply, Phase
from voiceagent.conversation.step import Step
from voiceagent.conversation.tool_runs import left_effects, next_round, start_tool
from voiceagent.turn_taking.agreement import agrees


def begin(step: Step, wanted: NextReply) -> None:
    """Start the wanted reply. If a cancelled reply has not settled yet, remember the wanted one until it has."""
    step.clear_timers([SILENCE])
    step.put(phase=Phase.THINKING)
    step.put_replies(next_reply=wanted)
    if step.state.replies.cancelling is not None:
        return
    step.put_replies(next_reply=None)
    text = step.state.replies.unheard_text if wanted.kind == "resume" else wanted.text
    if wanted.kind == "answer" or (wanted.kind == "ask_again" and step.state.caller_turn.unanswered):
        _answer(step)
    elif wanted.kind == "put_through":
        _put_through(step)
    elif wanted.kind == "tell":
        _tell(step)
    elif wanted.kind == "ask_again":
        _ask_again(step, wanted)
    elif text:
        _say(step, text, resumes=wanted.resumes)
    elif step.state.caller_turn.unanswered:
        _answer(step)
    elif step.state.silence.ending:
        end(step, step.state.silence.ending)
    else:
        go_idle(step, goes_on=wanted.kind == "resume")


def _answer(step: Step) -> None:
    """Let the language model answer what the caller said."""
    said = step.state.caller_turn.unanswered
    if said:
        take_turn(step, said, step.state.caller_turn.context)
    reply = new_reply(step, Reply(step.state.replies.next_reply_id, step.state.memory.turns, answers_user=bool(said)))
    announce(step, reply)
    asked = step.state.replies.confirming
    step.put_replies(confirming=None)
    if step.state.caller_turn.refusal is not None:
        _refuse(step, reply, step.state.caller_turn.refusal)
    elif asked is not None and agrees(said, step.language):
        confirmed = replace_call(asked, call_id=f"{asked.call_id}_confirmed")
        step.put(reply=reply.with_tool(confirmed))
        start_tool(step, reply, confirmed)
    else:
        generate(step, reply)


def _refuse(step: Step, reply: Reply, refusal: ev.Refusal) -> None:
    """The language model must not read the caller's words. Answer with the guard's line."""
    reply, pieces = reply.with_text(refusal.line, step.language, final=True)
    step.put(reply=reply)
    step.put_caller_turn(refusal=None)
    step.do(act.GuardHit(reply.reply_id, "input", refusal.rule))
    speak(step, reply, pieces)
    check_complete(step)


def _tell(step: Step) -> None:
    """Let the language model tell the results that the caller is owed. No words of the caller ask for it."""
    reply = new_reply(step, telling(step))
    announce(step, reply)
    generate(step, reply)


def _put_through(step: Step) -> None:
    """Tell the caller that they are put through. The language model has no part in it."""
    if step.state.caller_turn.unanswered:
        take_turn(step, step.state.caller_turn.unanswered, step.state.caller_turn.context)
    if step.sayings.transfer:
        _say(step, step.sayings.transfer, puts_through=True)
    else:
        put_through(step)
        go_idle(step)


def _say(step: Step, text: str, *, resumes: bool = True, puts_through: bool = False) -> None:
    """Say a given text without the language model."""
    reply = new_reply(step, Reply(step.state.replies.next_reply_id, 0, resumes=resumes, puts_through=puts_through))
    announce(step, reply)
    reply, pieces = reply.with_text(text, step.language, final=True)
    step.put(reply=reply)
    speak(step, reply, pieces)


def _ask_again(step: Step, wanted: NextReply) -> None:
    """Tell the caller that they were not understood. The rest of the reply that they interrupted is kept for later."""
    rest = step.state.replies.unheard_text
    _say(step, wanted.text, resumes=False)
    step.put_replies(unheard_text=rest, offers_person=wanted.offers_person)


def text_delta(step: Step, event: ev.TextDelta) -> None:
    """The language model generated text."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY, THINKING, RELEASE])
    reply = replace(reply, tokens=reply.tokens + event.tokens, text_ms=event.at_ms)
    reply, pieces = reply.with_text(event.text, step.language, final=False)
    step.put(reply=reply)
    speak(step, reply, pieces)
    step.set_timer(RELEASE, reply.wait_ms(step.language))


def generation_done(step: Step, event: ev.GenerationDone) -> None:
    """The language model has finished this generation."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers(OF_A_GENERATION)
    reply, pieces = replace(reply, generating=False).with_text("", step.language, final=True)
    step.put(reply=reply)
    speak(step, reply, pieces)
    if all(clause.filler for clause in reply.clauses) and not reply.used_tools:
        fail(step, "empty_reply", "the language model answered with nothing")
    else:
        next_round(step)


def generation_failed(step: Step, event: ev.GenerationFailed) -> None:
    """The language model failed."""
    reply = step.live(event.reply_id)
    if reply is not None and reply.generating:
        fail(step, "llm_failed", event.error)


def output_blocked(step: Step, event: ev.OutputBlocked) -> None:
    """The output guard stopped the language model. Text that was held back is dropped, and the guard's line ends the reply."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers(OF_A_GENERATION)
    reply = replace(reply, generating=False, status="completed", buffer="")
    reply, pieces = reply.with_text(event.line, step.language, final=True)
    step.put(reply=reply)
    step.do(act.GuardHit(reply.reply_id, "output", event.rule))
    speak(step, reply, pieces)
    check_complete(step)


def playout_stopped(step: Step, event: ev.PlayoutStopped) -> None:
    """The cancelled reply has settled: it is known how much of it the caller heard."""
    cancelled = step.state.replies.cancelling
    if cancelled is None or cancelled.reply_id != event.reply_id:
        return
    step.put_replies(cancelling=None)
    if not cancelled.assumed_text:
        _settle(step, cancelled.with_played(event.clause, event.played_ms))
    if step.state.replies.next_reply is not None:
        begin(step, step.state.replies.next_reply)
    elif step.state.phase is Phase.HEARING and compact(step):
        read_ahead(step)


def _settle(step: Step, cancelled: Reply) -> None:
    history = step.state.memory.history
    interrupted = cancelled.status == "interrupted"
    if interrupted and cancelled.answers_user and not cancelled.heard and not left_effects(step, cancelled):
        asked, since = history[-1], step.state.caller_turn
        step.put_memory(history=history[:-1])
        step.put_caller_turn(unanswered=" ".join(f"{asked.content} {since.unanswered}".split()), context=asked.context)
        take_in(step, since.context)
    else:
        step.put_memory(history=history + keep_untold(step, cancelled).messages(step.prompts, as_heard=True))
        rest = cancelled.unheard if cancelled.resumes else step.state.replies.unheard_text
        step.put_replies(unheard_text=rest if interrupted else "")
    step.do(act.ReplyEnded(cancelled.reply_id, cancelled.status, cancelled.heard, cancelled.unheard))
    if cancelled.puts_through and step.state.phase is not Phase.ENDED:
        put_through(step)
