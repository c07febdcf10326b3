"""A reply's life: it is announced, generated, spoken, heard, cancelled, settled. This file writes `State.reply`, `State.replies`
and `State.speculation`. `generation` and `tool_runs` take the events with the model's text and tool calls."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_words, collecting, silence
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk, Message, estimated_tokens
from voiceagent.conversation.memory import known_history, make_room, remember, remember_turn, replace_reply, take_back
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.rules import ReplyRules, ReplyWish
from voiceagent.conversation.state import NextReply, Phase, Step
from voiceagent.conversation.tools import (
    confirmation_over,
    drop_lookups,
    end_speculative_calls,
    gist_heard,
    is_dismissal,
    judge_request,
    keep_untold,
    left_effects,
    let_results_be,
    let_tools_run_on,
)

CALL_LIMIT, FINAL, REPLY, OVERLAP, FILLER = "call_limit", "final", "reply", "overlap", "filler"
BRIDGE, THINKING, RELEASE = "bridge", "thinking", "release"
"""Timers of a generation: until a filler, until thinking is given up, and until a sentence is said whose next text does not
come."""
GO_ON = "go_on"
"""The timer after which a paused reply goes on, because the caller did not take the floor."""
REST = "rest"
"""The timer after which the rest of an interrupted reply is said to a caller who was asked to say it again and says nothing."""
REST_MS = 6000.0
OF_A_GENERATION = (REPLY, BRIDGE, THINKING, RELEASE)
OF_A_REPLY = (*OF_A_GENERATION, OVERLAP, FILLER, GO_ON)
FLOOR_IS_THE_AGENTS = (Phase.THINKING, Phase.SPEAKING)
CUT_MARGIN_MS = 60.0
"""Audio of a filler this far beyond what was sent still counts as begun, because it may be on its way."""


def make_live(step: Step, reply: Reply) -> Reply:
    """Make it the live reply."""
    step.put(reply=reply)
    step.change("replies", next_reply_id=reply.reply_id + 1)
    if reply.assumed_text:
        step.change("speculation", replies=step.state.speculation.replies + 1)
    return reply


def revise(step: Step, reply: Reply) -> Reply:
    """Put this state of the live reply in place of the one before."""
    assert step.live(reply.reply_id) is not None, "only the live reply can change"
    step.put(reply=reply)
    return reply


def remember_words(step: Step, said: str, context: tuple[Chunk, ...]) -> None:
    """A turn begins: put the caller's words and the chunks found for them into the history."""
    judge_request(step, said)
    if step.state.tools.asked_nothing:
        let_results_be(step)
        if is_dismissal(step, said):
            drop_lookups(step)
    remember_turn(step, step.asked(said, context), step.state.caller_turn.keys)
    caller_words.words_answered(step)


def announce_reply(step: Step, reply: Reply) -> None:
    """The reply answers a committed turn. Tell the client."""
    owes_answer = step.state.replies.owes_answer and not reply.turn
    step.change("replies", unheard_text="", offers_person=False, owes_answer=owes_answer)
    step.change("speculation", replies=0, tokens=0)
    key = reply.wish.key if reply.wish is not None else ""
    step.do(act.ReplyStarted(reply.reply_id, reply.turn, key, reply.text_only, reply.is_detached))
    if reply.is_answer:
        silence.end_with_answer(step)


def generate(step: Step, reply: Reply) -> None:
    """Start a generation of the language model for the reply."""
    asked = (step.asked(reply.assumed_text, reply.context),) if reply.assumed_text else ()
    messages = (*_prompt_of(step, reply), *asked, *reply.messages(step.prompts, as_heard=False))
    estimate = round(estimated_tokens(messages))
    uncounted = (estimate, reply.tokens)
    prompt_tokens = reply.prompt_tokens + estimate
    revise(step, replace(reply, generating=True, unsaid=None, prompt_tokens=prompt_tokens, uncounted=uncounted))
    rules = reply.wish.rules if reply.wish is not None and reply.wish.rules is not None else step.state.rules.replies
    if len(reply.rounds) > 1:
        rules = replace(rules, must_call="")
    step.do(act.Generate(reply.reply_id, messages, bool(reply.assumed_text), None if rules == ReplyRules() else rules))
    if not reply.assumed_text:
        await_model(step)


def _prompt_of(step: Step, reply: Reply) -> tuple[Message, ...]:
    """The beginning of the reply's prompts: the conversation, or what the client gave in its place."""
    wish = reply.wish or ReplyWish()
    known = known_history(step, wish.instructions)
    if wish.input is not None:
        return (*(message for message in known[:1] if message.role == "system"), *wish.input)
    unanswered = step.state.caller_turn.unanswered if wish.is_detached else ""
    return (*known, *((step.asked(unanswered, ()),) if unanswered else ()))


def await_model(step: Step) -> None:
    """The caller waits for the language model's text."""
    step.set_timer(REPLY, step.state.rules.limits.reply_timeout_ms)
    step.set_timer(BRIDGE, step.filler_after(step.state.rules.limits.reply_filler_after_ms))


def add_text(step: Step, reply: Reply, text: str, *, final: bool) -> Reply:
    """Add text to the live reply, and have the clauses synthesised that are complete with it. `final`: no more text comes."""
    reply, pieces = reply.with_text(text, step.language, final=final)
    return speak_clauses(step, reply, pieces)


def speak_clauses(step: Step, reply: Reply, pieces: tuple[str, ...]) -> Reply:
    """Have the reply's last clauses, which are new, synthesised. A speculative reply has only its first clause synthesised, and
    the client gets no event."""
    first = len(reply.clauses) - len(pieces)
    reply = reply.written(first) if reply.text_only else reply
    revise(step, reply)
    for index, text in enumerate(pieces, start=first):
        if reply.text_only:
            step.do(act.ReplyText(reply.reply_id, index, text))
            continue
        if not reply.assumed_text:
            step.do(act.Speak(reply.reply_id, index, text), act.ReplyText(reply.reply_id, index, text))
        elif index == 0:
            step.do(act.Speak(reply.reply_id, index, text))
    return reply


def set_voice(step: Step, voice: Literal["full", "ducked", "hushed", "paused"]) -> None:
    """The live reply, if there is one, is said at this level."""
    if step.state.reply is not None:
        revise(step, replace(step.state.reply, voice=voice))


def plan_next(step: Step, wanted: NextReply | None) -> None:
    """The wanted reply begins as soon as the cancelled one has settled. None: none does."""
    step.change("replies", next_reply=wanted)


def keep_rest(step: Step, rest: str) -> None:
    """Keep the unheard rest of an interrupted reply for later."""
    step.change("replies", unheard_text=rest)


def owe_answer(step: Step) -> None:
    """Another agent has taken over: it answers the caller, and says no rest of what the one before was saying."""
    step.change("replies", unheard_text="", owes_answer=True)


def note_offer(step: Step, *, offers_person: bool) -> None:
    """The live reply asks, or does not ask, whether the caller wants to be transferred to a person."""
    step.change("replies", offers_person=offers_person)


def cancel_reply(step: Step, status: str) -> None:
    """Cancel the live reply, speculative or not, if there is one. It has settled when `PlayoutStopped` comes."""
    reply = step.state.reply
    step.clear_timers(OF_A_REPLY)
    if reply is None:
        return
    if not reply.assumed_text and not (status == "interrupted" and gist_heard(reply)):
        confirmation_over(step)
    keeps: tuple[str, ...] = ()
    if not reply.assumed_text:
        reply, keeps = let_tools_run_on(step, reply, status)
    step.put(reply=None)
    step.change("replies", cancelling=replace(reply, status=status, generating=False))
    step.do(act.CancelReply(reply.reply_id, keeps))
    if reply.assumed_text:
        step.change("speculation", tokens=step.state.speculation.tokens + reply.tokens)
        step.do(act.SpeculationEnded(reply.reply_id, status, reply.tokens))
    else:
        end_speculative_calls(step)


def settle(step: Step, event: ev.PlayoutStopped) -> bool:
    """It is known how much of the cancelled reply the caller heard. Returns False if the event is of another reply."""
    cancelled = step.state.replies.cancelling
    if cancelled is None or cancelled.reply_id != event.reply_id:
        return False
    step.change("replies", cancelling=None)
    if not cancelled.assumed_text:
        _remember_cancelled(step, cancelled.with_played(event.clause, event.played_ms))
    return True


def _remember_cancelled(step: Step, cancelled: Reply) -> None:
    interrupted = cancelled.status == "interrupted"
    if cancelled.truncated_ms is not None:
        cancelled = cancelled.heard_until(cancelled.truncated_ms)
    if cancelled.is_detached:
        pass
    elif interrupted and _is_unheard_answer(step, cancelled) and not left_effects(step, cancelled):
        caller_words.words_unanswered(step, *take_back(step))
        collecting.take_back(step)
    else:
        _remember_reply(step, keep_untold(step, cancelled))
        rest = cancelled.unheard if cancelled.resumes else step.state.replies.unheard_text
        keep_rest(step, rest if interrupted and cancelled.truncated_ms is None else "")
    _count(step, cancelled)
    step.do(act.ReplyEnded(cancelled.reply_id, cancelled.status, cancelled.heard, cancelled.unheard))
    if cancelled.transfers and step.state.phase is not Phase.ENDED:
        transfer_caller(step, cancelled.transfers_to)


def _is_unheard_answer(step: Step, reply: Reply) -> bool:
    """Returns whether the caller heard nothing of the answer to the last message. The client may have changed what that is."""
    history = step.state.memory.history
    return reply.answers_user and not reply.heard and bool(history) and history[-1].role == "user"


def _remember_reply(step: Step, reply: Reply) -> None:
    """The reply is over: put what was heard of it into the history."""
    if reply.is_detached:
        return
    remember(step, reply.messages(step.prompts, as_heard=True), (key_of_reply(reply.reply_id),))
    collecting.reply_over(step, reply)
    step.change("replies", last=reply)


def key_of_reply(reply_id: int) -> str:
    """The name of a reply's messages in the history."""
    return f"reply {reply_id}"


def _count(step: Step, reply: Reply) -> None:
    if reply.prompt_tokens:
        step.do(act.ReplyCounted(reply.reply_id, reply.prompt_tokens, reply.tokens, reply.cached_tokens))


def truncate(step: Step, reply_id: int, played_ms: float) -> None:
    """The client has played this much of a reply. A live one ends there. Of one that is over, the history holds no more."""
    replies = step.state.replies
    reply = step.spoken()
    if reply is not None and reply.reply_id == reply_id:
        if reply.protected:
            return
        revise(step, replace(reply, truncated_ms=played_ms, tells=False))
        cancel_reply(step, "interrupted" if step.state.phase is Phase.HEARING else "cancelled")
        plan_next(step, None)
        if step.state.phase in FLOOR_IS_THE_AGENTS:
            go_idle(step)
    elif replies.cancelling is not None and replies.cancelling.reply_id == reply_id:
        step.change("replies", cancelling=replace(replies.cancelling, truncated_ms=played_ms))
    elif replies.last is not None and replies.last.reply_id == reply_id:
        cut = replace(replies.last.heard_until(played_ms), status="interrupted")
        step.change("replies", last=cut)
        replace_reply(step, key_of_reply(reply_id), cut.messages(step.prompts, as_heard=True))
        step.do(act.ReplyCorrected(reply_id, cut.heard, played_ms))


def take_back_heard(step: Step, until: ev.HeardUntil) -> None:
    """The caller has heard no more than this, although more was sent. The rest of a reply that is over is kept for later."""
    reply, last = step.spoken(), step.state.replies.last
    if reply is not None and reply.reply_id >= until.reply_id:
        reply = revise(step, reply.heard_no_more(until))
        step.do(act.ReplyHeard(reply.reply_id, reply.heard))
    elif reply is None and last is not None and last.reply_id >= until.reply_id:
        cut = replace(last.heard_no_more(until), status="interrupted")
        step.change("replies", last=cut, unheard_text=cut.unheard if cut.resumes else "")
        replace_reply(step, key_of_reply(cut.reply_id), cut.messages(step.prompts, as_heard=True))
        step.do(act.ReplyCorrected(cut.reply_id, cut.heard, sum(clause.played_ms for clause in cut.clauses)))


def go_idle(step: Step, *, goes_on: bool = False) -> None:
    """Nobody speaks: wait for the caller until the silence timer runs out. `goes_on`: the silence goes on, because there was only
    a sound without words."""
    end_speculative_calls(step)
    if not goes_on:
        silence.begins(step)
    step.put(phase=Phase.IDLE)
    make_room(step)
    if step.state.replies.unheard_text:
        step.set_timer(REST, REST_MS)
    if not step.state.replies.transferring and not step.state.late.running:
        silence.await_caller(step)


def transfer_caller(step: Step, to: str = "") -> None:
    """Have the caller transferred to a person. All that was to be said before is over."""
    step.change("replies", transferring=True)
    step.do(act.Transfer(to))


def caller_is_back(step: Step) -> None:
    """Nobody took the caller, who was to be transferred."""
    step.change("replies", transferring=False)


def end_if_complete(step: Step) -> None:
    """End the live reply if it is complete."""
    reply = step.spoken()
    if reply is None or not reply.complete:
        return
    done = replace(reply, status="completed" if reply.status == "live" else reply.status)
    step.clear_timers(OF_A_REPLY)
    step.put(reply=None)
    _remember_reply(step, done)
    end_speculative_calls(step)
    _count(step, done)
    step.do(act.ReplyEnded(done.reply_id, done.status, done.heard, done.unheard))
    if done.resumes:
        silence.agent_spoke(step)
    if done.transfers:
        transfer_caller(step, done.transfers_to)
    if step.state.phase not in FLOOR_IS_THE_AGENTS:
        return
    if step.state.silence.ending and not done.transfers:
        end_call(step, step.state.silence.ending)
    else:
        go_idle(step)


def end_call(step: Step, reason: str) -> None:
    """End the call."""
    cancel_reply(step, "ended" if step.speculative() else "cancelled")
    end_speculative_calls(step)
    step.clear_timers(step.state.timers)
    step.put(phase=Phase.ENDED)
    plan_next(step, None)
    ending = step.state.silence
    step.do(act.End(reason, ending.detail if reason == ending.ending else ""))


def fail_reply(step: Step, code: str, message: str) -> None:
    """The live reply failed before the caller heard all of it. The agent apologises once, after what it has said. A speculative
    reply is only cancelled."""
    if step.speculative():
        cancel_reply(step, "failed")
        return
    step.do(act.Failure(code, message))
    reply = step.state.reply
    if reply is None:
        return
    step.clear_timers(OF_A_GENERATION)
    add_text(step, replace(reply, status="failed", generating=False, buffer=""), step.sayings.apology, final=True)
    end_if_complete(step)


def clause_audio(step: Step, event: ev.ClauseAudio) -> None:
    """A clause was synthesised, completely or in part."""
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    if reply.clauses[event.clause].cut:
        return
    clause = replace(reply.clauses[event.clause], ready=event.complete, duration_ms=event.duration_ms, words=event.words)
    revise(step, reply.with_clause(event.clause, clause))
    _cut_filler(step, event.clause)
    end_if_complete(step)


def _cut_filler(step: Step, clause: int) -> None:
    """A clause can be heard. A filler before it gives way: it ends after the word that is being said, or before its first one."""
    reply = step.state.reply
    before = reply.clauses[clause - 1] if reply is not None and clause > 0 else None
    if reply is None or before is None or not before.filler or before.over or before.cut:
        return
    heard_ms = before.played_ms + CUT_MARGIN_MS if before.played_ms else 0.0
    words = tuple(word for word in before.words if word.start_ms < heard_ms)
    end_ms = words[-1].end_ms if words else 0.0
    if before.ready and end_ms >= before.words[-1].end_ms:
        return
    kept = replace(before, text=" ".join(word.text for word in words), words=words, duration_ms=end_ms, ready=True, cut=True)
    revise(step, reply.with_clause(clause - 1, kept))
    step.do(act.EndClauseAt(reply.reply_id, clause - 1, end_ms))


def clause_failed(step: Step, event: ev.ClauseFailed) -> None:
    """The synthesis of a clause failed."""
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    if reply.assumed_text:
        fail_reply(step, "tts_failed", event.error)
        return
    revise(step, reply.with_clause(event.clause, replace(reply.clauses[event.clause], failed=True)))
    step.do(act.Failure("tts_failed", event.error))
    end_if_complete(step)


def played(step: Step, event: ev.Played) -> None:
    """The caller heard more of the reply."""
    reply = step.live(event.reply_id)
    if reply is None or reply.assumed_text:
        return
    after = reply.with_played(event.clause, event.played_ms)
    revise(step, after)
    if step.state.phase in FLOOR_IS_THE_AGENTS:
        step.put(phase=Phase.SPEAKING)
    if not reply.started or after.heard_differs(reply):
        step.do(act.ReplyHeard(after.reply_id, after.heard))
    end_if_complete(step)
