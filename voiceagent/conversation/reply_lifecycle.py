"""A reply's life: it is announced, generated, spoken, heard, cancelled, ended. `generation` and `tool_runs` take the events with
the model's text and tool calls."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import silence
from voiceagent.conversation.compaction import compact
from voiceagent.conversation.confirmation import gist_heard
from voiceagent.conversation.fillers import cut_filler
from voiceagent.conversation.history import Chunk, Message
from voiceagent.conversation.late_results import drop_lookups, let_be, run_on
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.speculative_tools import end_speculative_calls
from voiceagent.conversation.state import Phase
from voiceagent.conversation.step import Step
from voiceagent.conversation.withholding import is_dismissal, judge_turn

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


def new_reply(step: Step, reply: Reply) -> Reply:
    """Make it the live reply."""
    step.put(reply=reply)
    step.put_replies(next_reply_id=reply.reply_id + 1)
    return reply


def take_turn(step: Step, said: str, context: tuple[Chunk, ...]) -> None:
    """A turn begins: put the caller's words and the chunks found for them into the history."""
    judge_turn(step, said)
    if step.state.replies.asked_nothing:
        let_be(step)
        if is_dismissal(step, said):
            drop_lookups(step)
    step.put_memory(history=(*step.state.memory.history, step.asked(said, context)), turns=step.state.memory.turns + 1)
    step.put_caller_turn(unanswered="", context=())


def announce(step: Step, reply: Reply) -> None:
    """The reply answers a committed turn. Tell the client."""
    step.put_replies(unheard_text="", offers_person=False)
    step.put_speculation(replies=0, tokens=0)
    step.do(act.ReplyStarted(reply.reply_id, reply.turn))


def generate(step: Step, reply: Reply) -> None:
    """Start a generation of the language model for the reply."""
    asked = (step.asked(reply.assumed_text, reply.context),) if reply.assumed_text else ()
    step.put(reply=replace(reply, generating=True))
    messages = (*known_history(step), *asked, *reply.messages(step.prompts, as_heard=False))
    step.do(act.Generate(reply.reply_id, messages, bool(reply.assumed_text)))
    if not reply.assumed_text:
        await_model(step)


def await_model(step: Step) -> None:
    """The caller waits for the language model's text."""
    step.set_timer(REPLY, step.state.rules.limits.reply_timeout_ms)
    step.set_timer(BRIDGE, step.state.rules.limits.reply_filler_after_ms)


def known_history(step: Step) -> tuple[Message, ...]:
    """The beginning of every prompt: the instructions, the summary and the history."""
    memory = step.state.memory
    earlier = f"{step.prompts.summary} {memory.summary}" if memory.summary else ""
    instructions = "\n\n".join(part for part in (step.state.rules.instructions, earlier) if part)
    return (*((Message("system", instructions),) if instructions else ()), *memory.history)


def speak(step: Step, reply: Reply, pieces: tuple[str, ...]) -> None:
    """Have new clauses synthesised. Of a speculative reply only the first clause is synthesised, and the client is not told."""
    first = len(reply.clauses) - len(pieces)
    for index, text in enumerate(pieces, start=first):
        if not reply.assumed_text:
            step.do(act.Speak(reply.reply_id, index, text), act.ReplyText(reply.reply_id, index, text))
        elif index == 0:
            step.do(act.Speak(reply.reply_id, index, text))


def cancel(step: Step, status: str) -> None:
    """Cancel the live reply, speculative or not, if there is one. It has settled when `PlayoutStopped` comes."""
    reply = step.state.reply
    step.clear_timers(OF_A_REPLY)
    step.put_replies(voice="full")
    if reply is None:
        return
    if not reply.assumed_text and not (status == "interrupted" and gist_heard(reply)):
        step.put_replies(confirming=None)
    keeps: tuple[str, ...] = ()
    if not reply.assumed_text:
        reply, keeps = run_on(step, reply, status)
    step.put(reply=None)
    step.put_replies(cancelling=replace(reply, status=status, generating=False))
    step.do(act.CancelReply(reply.reply_id, keeps))
    if reply.assumed_text:
        step.put_speculation(tokens=step.state.speculation.tokens + reply.tokens)
        step.do(act.SpeculationEnded(reply.reply_id, status, reply.tokens))
    else:
        end_speculative_calls(step)


def go_idle(step: Step, *, goes_on: bool = False) -> None:
    """Nobody speaks: wait for the caller until the silence timer runs out. `goes_on`: the silence goes on, because there was only
    a sound without words."""
    end_speculative_calls(step)
    if not goes_on:
        step.put_silence(since_ms=step.at_ms)
    step.put(phase=Phase.IDLE)
    make_room(step)
    if step.state.replies.unheard_text:
        step.set_timer(REST, REST_MS)
    if not step.state.replies.putting_through and not step.state.late.running:
        silence.wait(step)


def put_through(step: Step) -> None:
    """What was to be said before is over: have the caller put through to a person."""
    step.put_replies(putting_through=True)
    step.do(act.PutThrough())


def make_room(step: Step) -> None:
    """While no turn waits, shorten a long history and prefill the known part of the next prompt. This also wakes a language model
    that sleeps."""
    compact(step)
    read_ahead(step)


def read_ahead(step: Step) -> None:
    """Prefill the known part of the next prompt."""
    known = known_history(step)
    if known and step.state.rules.speculation.max_replies:
        step.do(act.Prefill(known))


def check_complete(step: Step) -> None:
    """End the live reply if it is complete."""
    reply = step.spoken()
    if reply is None or not reply.complete:
        return
    done = replace(reply, status="completed" if reply.status == "live" else reply.status)
    step.clear_timers(OF_A_REPLY)
    step.put(reply=None)
    step.put_replies(voice="full")
    step.put_memory(history=step.state.memory.history + done.messages(step.prompts, as_heard=True))
    end_speculative_calls(step)
    step.do(act.ReplyEnded(done.reply_id, done.status, done.heard, done.unheard))
    if done.resumes:
        step.put_silence(words_ms=step.at_ms)
    if done.puts_through:
        put_through(step)
    if step.state.phase not in FLOOR_IS_THE_AGENTS:
        return
    if step.state.silence.ending:
        end(step, step.state.silence.ending)
    else:
        go_idle(step)


def end(step: Step, reason: str) -> None:
    """End the call."""
    cancel(step, "ended" if step.speculative() else "cancelled")
    end_speculative_calls(step)
    step.clear_timers(step.state.timers)
    step.put(phase=Phase.ENDED)
    step.put_replies(next_reply=None)
    step.do(act.End(reason))


def fail(step: Step, code: str, message: str) -> None:
    """The live reply failed before the caller heard all of it. The agent apologises once, after what it has said. A speculative
    reply is only cancelled."""
    if step.speculative():
        cancel(step, "failed")
        return
    step.do(act.Failure(code, message))
    reply = step.state.reply
    if reply is None:
        return
    reply = replace(reply, status="failed", generating=False, buffer="")
    reply, pieces = reply.with_text(step.sayings.apology, step.language, final=True)
    step.clear_timers(OF_A_GENERATION)
    step.put(reply=reply)
    speak(step, reply, pieces)
    check_complete(step)


def clause_audio(step: Step, event: ev.ClauseAudio) -> None:
    """A clause was synthesised, completely or in part."""
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    if reply.clauses[event.clause].cut:
        return
    clause = replace(reply.clauses[event.clause], ready=event.complete, duration_ms=event.duration_ms, words=event.words)
    step.put(reply=reply.with_clause(event.clause, clause))
    cut_filler(step, event.clause)
    check_complete(step)


def clause_failed(step: Step, event: ev.ClauseFailed) -> None:
    """The synthesis of a clause failed."""
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    if reply.assumed_text:
        fail(step, "tts_failed", event.error)
        return
    step.put(reply=reply.with_clause(event.clause, replace(reply.clauses[event.clause], failed=True)))
    step.do(act.Failure("tts_failed", event.error))
    check_complete(step)


def played(step: Step, event: ev.Played) -> None:
    """The caller heard more of the reply."""
    reply = step.live(event.reply_id)
    if reply is None or reply.assumed_text:
        return
    after = reply.with_played(event.clause, event.played_ms)
    step.put(reply=after)
    if step.state.phase in FLOOR_IS_THE_AGENTS:
        step.put(phase=Phase.SPEAKING)
    if not reply.started or after.heard_differs(reply):
        step.do(act.ReplyHeard(after.reply_id, after.heard))
    check_complete(step)
