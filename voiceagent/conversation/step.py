"""One step of the turn engine while it is computed: the state so far and the actions so far. Handlers change it. It is not seen
outside `machine.step`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation.history import Chunk, Message
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.state import State
from voiceagent.turn_taking.language import Language, Prompts, Sayings
from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.spoken_language import AUTO

Part = Literal["memory", "caller_turn", "utterance", "replies", "tools", "late", "speculation", "silence"]


class Step:
    """The step for one event."""

    __slots__ = ("actions", "at_ms", "state")

    def __init__(self, state: State, at_ms: float) -> None:
        self.state = state
        self.at_ms = at_ms
        self.actions: list[act.AnyAction] = []

    def do(self, *actions: act.AnyAction) -> None:
        """Add actions."""
        self.actions.extend(actions)

    def put(self, **changes: object) -> None:
        """Change the state: its phase, or a part that the calling file owns."""
        self.state = replace(self.state, **changes)

    def change(self, part: Part, **changes: object) -> None:
        """Change fields of a part of the state. Only the file that owns the part may call it."""
        self.put(**{part: replace(getattr(self.state, part), **changes)})

    def set_timer(self, name: str, after_ms: float) -> None:
        """Start a timer; 0: start none."""
        if after_ms > 0:
            self.put(timers=self.state.timers | {name})
            self.do(act.SetTimer(name, self.at_ms + after_ms))

    def clear_timers(self, names: Iterable[str]) -> None:
        """Stop those of the named timers that run."""
        for name in sorted(self.state.timers.intersection(names)):
            self.put(timers=self.state.timers - {name})
            self.do(act.ClearTimer(name))

    def timer_ran_out(self, name: str) -> bool:
        """Note that a timer has run out. Returns False if it was stopped before."""
        if name not in self.state.timers:
            return False
        self.put(timers=self.state.timers - {name})
        return True

    @property
    def language(self) -> Language:
        """The data of the caller's language."""
        return language(self.state.spoken.code)

    @property
    def possible_languages(self) -> tuple[Language, ...]:
        """The languages that the caller may be speaking."""
        return tuple(LANGUAGES.values()) if self.state.rules.language == AUTO else (self.language,)

    @property
    def sayings(self) -> Sayings:
        """The lines that the agent says on its own. Phrases that the rules leave open are those of the caller's language."""
        phrases, own = self.state.rules.phrases, self.language.sayings
        return Sayings(
            check_in=own.check_in if phrases.check_in is None else phrases.check_in,
            farewell=own.farewell if phrases.farewell is None else phrases.farewell,
            apology=own.apology if phrases.apology is None else phrases.apology,
            not_understood=own.not_understood if phrases.not_understood is None else phrases.not_understood,
            offer_person=own.offer_person if phrases.offer_person is None else phrases.offer_person,
            transfer=own.transfer if phrases.transfer is None else phrases.transfer,
            transfer_failed=own.transfer_failed if phrases.transfer_failed is None else phrases.transfer_failed,
            fillers=own.fillers if phrases.fillers is None else phrases.fillers,
        )

    @property
    def last_said(self) -> str:
        """The last words that the caller heard from the agent. "Are you still there?" and the like leave the question before them
        open."""
        said = (message.content for message in reversed(self.state.memory.history) if message.role == "assistant")
        between = (self.sayings.check_in, self.sayings.not_understood, self.sayings.apology)
        return next((text for text in said if text and text not in between), "")

    @property
    def prompts(self) -> Prompts:
        """Texts for the language model besides the instructions. Texts that the rules leave open are those of the caller's
        language."""
        return self.language.prompts.with_texts(self.state.rules.prompts)

    def asked(self, words: str, context: tuple[Chunk, ...]) -> Message:
        """The caller's words as a message, with the chunks found for them."""
        return Message("user", words, context=context, context_head=self.prompts.context if context else "")

    def live(self, reply_id: int) -> Reply | None:
        """The live reply, if it has this id."""
        reply = self.state.reply
        return reply if reply is not None and reply.reply_id == reply_id else None

    def spoken(self) -> Reply | None:
        """The live reply, if it is not speculative."""
        reply = self.state.reply
        return None if reply is None or reply.assumed_text else reply

    def speculative(self) -> Reply | None:
        """The live reply, if it is speculative."""
        reply = self.state.reply
        return reply if reply is not None and reply.assumed_text else None
