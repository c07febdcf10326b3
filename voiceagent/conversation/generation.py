"""Answering the caller: how a reply begins, and what the language model adds to it. `reply_lifecycle` keeps the reply."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_words, collecting, steps
from voiceagent.conversation import events as ev
from voiceagent.conversation.memory import compact, read_ahead
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.reply_lifecycle import (
    OF_A_GENERATION,
    RELEASE,
    REPLY,
    THINKING,
    add_text,
    announce_reply,
    end_call,
    end_if_complete,
    fail_reply,
    generate,
    go_idle,
    keep_rest,
    make_live,
    note_offer,
    plan_next,
    remember_words,
    revise,
    settle,
    speak_clauses,
    transfer_caller,
)
from voiceagent.conversation.rules import Degradation, ReplyWish
from voiceagent.conversation.silence import SILENCE
from voiceagent.conversation.state import NextReply, Phase, Step
from voiceagent.conversation.tool_runs import make_move, next_round, start_tool
from voiceagent.conversation.tools import ask_to_confirm, confirmation_over, only_tells_to_stop, reply_that_tells
from voiceagent.turn_taking.request import agrees


def begin_reply(step: Step, wanted: NextReply) -> None:
    """Start the wanted reply. If a cancelled reply has not settled yet, remember the wanted one until it has."""
    step.clear_timers([SILENCE])
    step.put(phase=Phase.THINKING)
    waits = step.state.replies.cancelling is not None
    plan_next(step, wanted if waits else None)
    if waits:
        return
    if step.is_leaving:
        hand_off(step)
    text = step.state.replies.unheard_text if wanted.kind == "resume" else wanted.text
    if wanted.kind == "answer" or (wanted.kind == "ask_again" and step.state.caller_turn.unanswered):
        _answer(step, wanted.wish)
    elif wanted.kind == "transfer":
        _transfer(step, wanted.text)
    elif wanted.kind == "tell":
        _tell(step)
    elif wanted.kind == "ask_again":
        _ask_again(step, wanted)
    elif text:
        _say(step, text, resumes=wanted.resumes, protected=wanted.protected)
    elif step.state.caller_turn.unanswered and step.state.rules.turns.answers:
        _answer(step)
    elif step.state.silence.ending:
        end_call(step, step.state.silence.ending)
    else:
        go_idle(step, goes_on=wanted.kind == "resume")


def hand_off(step: Step) -> None:
    """Another agent takes over, which collects values of its own."""
    steps.hand_off(step)
    collecting.forget(step)


def _answer(step: Step, wish: ReplyWish | None = None) -> None:
    """Let the language model answer what the caller said. `wish` is what a client wants of the reply."""
    if wish is not None and wish.is_detached:
        reply = make_live(step, _new_reply(step, 0, wish=wish))
        announce_reply(step, reply)
        generate(step, reply)
        return
    said = step.state.caller_turn.unanswered
    plain = bool(said) and _is_plain(wish)
    again, wanted = (steps.line_again(step, said), collecting.step_asked_for(step, said)) if plain else ("", "")
    stops = plain and only_tells_to_stop(step, said)
    if said:
        remember_words(step, said, step.state.caller_turn.context)
    reply = make_live(step, _new_reply(step, step.state.memory.turns, wish=wish, answers_user=bool(said)))
    announce_reply(step, reply)
    asked = confirmation_over(step)
    if step.state.caller_turn.refusal is not None:
        _refuse(step, reply, step.state.caller_turn.refusal)
    elif asked is not None and agrees(said, step.language):
        confirmed = replace(asked, call_id=f"{asked.call_id}_confirmed")
        revise(step, reply.with_tool(confirmed))
        start_tool(step, reply, confirmed)
    elif again:
        if asked is not None:
            ask_to_confirm(step, asked)
        make_move(step, reply, collecting.NextMove(again))
    elif wanted:
        steps.go_where_asked(step, wanted)
        collecting.let_go(step)
        make_move(step, reply, collecting.next_question(step, {steps.GO_TO}) or collecting.NextMove())
    elif plain and (move := collecting.hear(step, said)) is not None:
        make_move(step, reply, move)
    elif stops and step.state.collecting.task is None:
        make_move(step, reply, collecting.NextMove(step.sayings.stopped))
    else:
        generate(step, reply)


def _is_plain(wish: ReplyWish | None) -> bool:
    """Returns whether an answer is wished for as the agent would give it by itself."""
    return wish is None or (wish.instructions is None and wish.rules is None and wish.input is None)


def _new_reply(
    step: Step,
    turn: int,
    *,
    wish: ReplyWish | None = None,
    answers_user: bool = False,
    resumes: bool = True,
) -> Reply:
    """A reply with the next id, by the client's rules."""
    rules = wish.rules if wish is not None and wish.rules is not None else step.state.rules.replies
    return Reply(
        step.state.replies.next_reply_id,
        turn,
        answers_user=answers_user,
        resumes=resumes,
        wish=wish,
        text_only=rules.text_only,
    )


def _refuse(step: Step, reply: Reply, refusal: ev.Refusal) -> None:
    """The language model must not read the caller's words. Answer with the guard's line."""
    caller_words.refusal_told(step)
    step.do(act.GuardHit(reply.reply_id, "input", refusal.rule))
    add_text(step, reply, refusal.line, final=True)
    end_if_complete(step)


def _tell(step: Step) -> None:
    """Let the language model tell the results that the caller is owed. No words of the caller ask for it."""
    reply = make_live(step, reply_that_tells(step))
    announce_reply(step, reply)
    generate(step, reply)


def _transfer(step: Step, to: str) -> None:
    """Tell the caller that they are transferred, to whom the settings name so. The language model has no part in it."""
    if step.state.caller_turn.unanswered:
        remember_words(step, step.state.caller_turn.unanswered, step.state.caller_turn.context)
    if step.sayings.transfer:
        _say(step, step.sayings.transfer, transfers=True, transfers_to=to, protected=step.is_protected("transfer"))
    else:
        transfer_caller(step, to)
        go_idle(step)


def _say(
    step: Step, text: str, *, resumes: bool = True, protected: bool = False, transfers: bool = False, transfers_to: str = ""
) -> None:
    """Say a given text without the language model."""
    reply = replace(_new_reply(step, 0, resumes=resumes), protected=protected, transfers=transfers, transfers_to=transfers_to)
    make_live(step, reply)
    announce_reply(step, reply)
    add_text(step, reply, text, final=True)
    if reply.text_only:
        end_if_complete(step)


def _ask_again(step: Step, wanted: NextReply) -> None:
    """Tell the caller that they were not understood. The rest of the reply that they interrupted is kept for later."""
    rest = step.state.replies.unheard_text
    _say(step, wanted.text, resumes=False)
    keep_rest(step, rest)
    note_offer(step, offers_person=wanted.offers_person)


def text_delta(step: Step, event: ev.TextDelta) -> None:
    """The language model generated text."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY, THINKING, RELEASE])
    reply = replace(reply, tokens=reply.tokens + event.tokens, text_ms=event.at_ms)
    if reply.unsaid is not None:
        _leave_unsaid(step, replace(reply, unsaid=reply.unsaid + event.text))
        return
    reply = add_text(step, reply, event.text, final=False)
    if Degradation.SHORT_REPLIES in step.state.degraded and reply.is_long_enough(step.language):
        reply = replace(reply, buffer="", unsaid=reply.buffer)
        if event.may_call:
            revise(step, reply)
        else:
            _end_generation(step, reply)
        return
    step.set_timer(RELEASE, reply.wait_ms(step.language))


def _leave_unsaid(step: Step, reply: Reply) -> None:
    """The reply is said already. The language model writes one sentence more, because a tool call may follow it."""
    if reply.wrote_sentence_more(step.language):
        _end_generation(step, reply)
    else:
        revise(step, reply)


def _end_generation(step: Step, reply: Reply) -> None:
    step.do(act.EndGeneration(reply.reply_id))
    _generated(step, reply)


def text_pauses(step: Step) -> None:
    """The text behind a sentence's end does not come. Say the sentence."""
    reply = step.state.reply
    if reply is not None and reply.generating:
        speak_clauses(step, *reply.released(step.language))


def thought_generated(step: Step, event: ev.ThoughtGenerated) -> None:
    """The language model thinks. It is given up only after the time for thoughts, or when no more of them come."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    revise(step, replace(reply, tokens=reply.tokens + event.tokens))
    if reply.assumed_text:
        return
    step.set_timer(REPLY, step.state.rules.limits.reply_timeout_ms)
    if THINKING not in step.state.timers:
        step.set_timer(THINKING, step.state.rules.limits.thinking_timeout_ms)


def tool_call_begun(step: Step, event: ev.ToolCallBegun) -> None:
    """The language model writes a tool call, which may take long. The text before it is said meanwhile."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY, THINKING, RELEASE])
    add_text(step, reply, "", final=True)


def generation_done(step: Step, event: ev.GenerationDone) -> None:
    """The language model has finished this generation."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    if event.prompt_tokens:
        reply = reply.counted(event.prompt_tokens, event.tokens, event.cached_tokens)
    _generated(step, reply, cut_short=event.cut_short)


def _generated(step: Step, reply: Reply, *, cut_short: bool = False) -> None:
    """This generation of the reply is over."""
    step.clear_timers(OF_A_GENERATION)
    reply = add_text(step, replace(reply, generating=False), "", final=True)
    if cut_short:
        revise(step, replace(reply, status="incomplete"))
        end_if_complete(step)
    elif all(clause.filler for clause in reply.clauses) and not reply.used_tools:
        fail_reply(step, "empty_reply", "the language model answered with nothing")
    else:
        next_round(step)


def generation_failed(step: Step, event: ev.GenerationFailed) -> None:
    """The language model failed."""
    reply = step.live(event.reply_id)
    if reply is not None and reply.generating:
        fail_reply(step, "llm_failed", event.error)


def output_blocked(step: Step, event: ev.OutputBlocked) -> None:
    """The output guard stopped the language model. Text that was held back is dropped, and the guard's line ends the reply."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers(OF_A_GENERATION)
    step.do(act.GuardHit(reply.reply_id, "output", event.rule))
    add_text(step, replace(reply, generating=False, status="completed", buffer=""), event.line, final=True)
    end_if_complete(step)


def playout_stopped(step: Step, event: ev.PlayoutStopped) -> None:
    """The cancelled reply has settled. Start the reply that waited for that."""
    if not settle(step, event):
        return
    if step.state.replies.next_reply is not None:
        begin_reply(step, step.state.replies.next_reply)
    elif step.state.phase is Phase.HEARING and compact(step):
        read_ahead(step)
