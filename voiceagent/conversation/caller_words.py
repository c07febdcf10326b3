"""The caller's words: the open utterance and its pause, the words that are not answered yet, what documents say about them, and
the caller's habit of pausing. This file writes `State.utterance`, `State.caller_turn`, `State.habit` and `State.spoken`.
`caller_turn` handles the events."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import silence
from voiceagent.conversation.events import FinalTranscript, Refusal
from voiceagent.conversation.history import Chunk, Message
from voiceagent.conversation.rules import ReplyWish
from voiceagent.conversation.state import Pause, Step, Utterance
from voiceagent.turn_taking.endpointing import Habit
from voiceagent.turn_taking.spoken_language import SpokenLanguage

COUNTED_MS = 200.0
"""Shorter silences lie inside words and phrases."""
CUT_OFF_MS = 1500.0
"""A caller who speaks again so soon after what was taken for the end of the turn, and is listened to, had not finished."""


def speak(step: Step, spoken: SpokenLanguage) -> None:
    """The caller speaks this language."""
    before = step.state.spoken.code
    step.put(spoken=spoken)
    if spoken.code != before:
        step.do(act.LanguageChanged(spoken.code))


# --- the open utterance -----------------------------------------------------------------------------------------------


def open_utterance(step: Step, utterance_id: int, onset_ms: float) -> None:
    """The caller began to speak. Chunks that were found for an earlier utterance stay only where its words are not answered."""
    step.put(utterance=Utterance(utterance_id, onset_ms))
    if not step.state.caller_turn.unanswered:
        step.change("caller_turn", context=())


def note_partial(step: Step, words: str, stable: str) -> None:
    """The open utterance has these words so far, of which the stable ones will not change."""
    step.change("utterance", partial=words, stable=stable)


def note_sound(step: Step, words_chance: float, voiced_ms: float) -> None:
    """The sound of the open utterance, spoken over the agent, was judged: the chance that it is words."""
    step.change("utterance", words_chance=words_chance, voiced_ms=voiced_ms)


def note_hush(step: Step) -> None:
    """The open utterance hushes the live reply now."""
    step.change("utterance", hushed_ms=step.at_ms)


def yield_floor(step: Step, *, asked: bool) -> None:
    """The agent yields the floor to the open utterance. `asked`: the agent had asked for it."""
    step.change("utterance", interrupts=not asked)


def begin_pause(step: Step, pause: Pause) -> None:
    """The open utterance fell silent."""
    step.change("utterance", pause=pause)


def end_pause(step: Step) -> None:
    """The open utterance goes on, or it is over."""
    step.change("utterance", pause=None)


def note_pause_words(step: Step, pause: Pause, event: FinalTranscript) -> Pause:
    """The words up to the pause are known. Returns the pause with them."""
    known = replace(pause, text=event.text, refusal=event.refusal, language=event.language, failed=event.failed)
    step.change("utterance", pause=known, partial=event.text or step.state.utterance.partial)
    return known


def note_judgement(step: Step, pause: Pause, judge: str, chance: float | None) -> None:
    """A turn judge has answered about the pause."""
    step.change("utterance", pause=replace(pause, answers={**pause.answers, judge: chance}))


# --- the words to be answered -----------------------------------------------------------------------------------------


def await_final(step: Step, utterance_id: int, *, by_hand: bool = False) -> None:
    """An utterance has ended, and its final transcript is still to come. `by_hand`: the client ended it."""
    turn, ended = step.state.caller_turn, {utterance_id}
    step.change(
        "caller_turn", awaiting_final=turn.awaiting_final | ended, by_hand=turn.by_hand | ended if by_hand else turn.by_hand
    )


def final_came(step: Step, utterance_id: int) -> None:
    """The final transcript of this utterance has come, or is given up."""
    turn, known = step.state.caller_turn, {utterance_id}
    step.change("caller_turn", awaiting_final=turn.awaiting_final - known, by_hand=turn.by_hand - known)


def await_no_finals(step: Step) -> None:
    """Final transcripts that are still to come are of no interest."""
    step.change("caller_turn", awaiting_final=frozenset(), by_hand=frozenset())


def words_came(step: Step) -> None:
    """The caller said something that was understood, or typed something."""
    silence.words_heard(step)
    step.change("caller_turn", not_understood=0)


def add_words(step: Step, text: str, refusal: Refusal | None, key: str = "") -> None:
    """The caller said or typed this, and is to be answered. `refusal`: the input guard withheld the words. `key` is the client's
    name for them."""
    before = step.state.caller_turn
    step.change(
        "caller_turn",
        unanswered=said_so_far(step, text),
        keys=(*before.keys, key) if key and text else before.keys,
        refusal=refusal or before.refusal,
        last_words=text or before.last_words,
    )


def note_end(step: Step, ended_ms: float) -> None:
    """The caller's speech, or writing, that is to be answered ended at this time."""
    step.change("caller_turn", ended_ms=ended_ms)


def said_so_far(step: Step, text: str) -> str:
    """The words to be answered if `text` were committed now."""
    return " ".join(f"{step.state.caller_turn.unanswered} {text}".split())


def words_answered(step: Step) -> None:
    """The words are in the history now."""
    step.change("caller_turn", unanswered="", keys=(), context=())


def forget_words(step: Step, key: str, text: str) -> None:
    """The client takes these words back before they are answered."""
    before = step.state.caller_turn
    if key in before.keys:
        left = " ".join(before.unanswered.replace(text, "", 1).split())
        step.change("caller_turn", unanswered=left, keys=tuple(one for one in before.keys if one != key))


def note_wish(step: Step, wish: ReplyWish | None) -> None:
    """The client wishes for a reply as soon as there can be one. None: it is made, or not wished for any more."""
    step.change("caller_turn", wish=wish)


def words_unanswered(step: Step, asked: Message, keys: tuple[str, ...]) -> None:
    """The caller heard nothing of the reply to `asked`, so these words are to be answered together with those since then."""
    since = step.state.caller_turn
    words = " ".join(f"{asked.content} {since.unanswered}".split())
    step.change("caller_turn", unanswered=words, keys=(*keys, *since.keys), context=asked.context)
    take_in(step, since.context)


def refusal_told(step: Step) -> None:
    """The caller is told that their words were withheld."""
    step.change("caller_turn", refusal=None)


def count_not_understood(step: Step) -> int:
    """One more turn was heard and not understood. Returns how many in a row."""
    step.change("caller_turn", not_understood=step.state.caller_turn.not_understood + 1)
    return step.state.caller_turn.not_understood


def take_in(step: Step, chunks: Iterable[Chunk]) -> bool:
    """Add the new chunks to the turn's context, as far as there is room. They are only added behind the earlier ones, so that
    every prompt of the call begins with the one before it, and a prefix cache need not read that part again. Chunks that an
    earlier turn put into the history are not repeated. Returns whether any chunk was added."""
    rules, before = step.state.rules.memory, step.state.caller_turn.context
    told = {chunk for message in step.state.memory.history for chunk in message.context}
    kept = list(before)
    left = rules.max_chunk_characters - sum(len(chunk.text) for chunk in kept)
    for chunk in chunks:
        if len(kept) < rules.max_chunks and len(chunk.text) <= left and chunk not in told and chunk not in kept:
            kept.append(chunk)
            left -= len(chunk.text)
    if len(kept) == len(before):
        return False
    step.change("caller_turn", context=tuple(kept))
    return True


# --- the habit of pausing ---------------------------------------------------------------------------------------------


def count_resumed_pause(step: Step, resumed_ms: float) -> None:
    """The caller went on after a pause of the open utterance."""
    pause = step.state.utterance.pause
    if step.spoken() is None and pause is not None and resumed_ms - pause.speech_end_ms >= COUNTED_MS:
        count_pause(step, ends_turn=False)


def count_pause(step: Step, *, ends_turn: bool) -> None:
    """A pause ended the caller's turn, or the caller went on after it."""
    step.put(habit=step.state.habit.after_pause(ends_turn=ends_turn))


def count_cut_off(step: Step) -> None:
    """The agent yields to the open utterance. If the caller's last turn ended just before it, they had been cut off."""
    before, since_ms = step.state.habit, step.state.utterance.onset_ms - step.state.caller_turn.ended_ms
    if before.ended and since_ms < CUT_OFF_MS:
        step.put(habit=Habit(before.went_on + 1, before.ended - 1))
