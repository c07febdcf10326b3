"""The cards of one call. Their numbers are kept here and given to tools. Everything else knows marks: the turn engine, the
language model, clients, logs and the store."""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.conversation.collecting import card_task, collects_cards
from voiceagent.conversation.state import State
from voiceagent.turn_taking.languages import language
from voiceagent.values.card_kind import hide_card, hide_digits


class CallCards:
    """One per call. It does nothing for an agent that collects no card."""

    def __init__(self, state: Callable[[], State]) -> None:
        """`state` returns the turn engine's."""
        self._state = state
        self._is_on = collects_cards(state().rules)
        self._digits: dict[str, str] = {}
        """Their digits, by mark."""

    @property
    def is_asked(self) -> bool:
        """True while a card is being collected."""
        return self._is_on and card_task(self._state()) is not None

    def hide(self, said: str) -> str:
        """The caller's final words, with marks in place of a card's digits."""
        if not self._is_on or not said or said[1:-1] in self._digits:  # keys come with the mark in their place
            return said
        state = self._state()
        task = card_task(state)
        so_far = None if task is None else self._digits.get(task.value or task.so_far, "")
        hidden = hide_card(said, language(state.spoken.code), len(self._digits), so_far)
        if hidden.mark:
            self._digits[hidden.mark] = hidden.digits
        return hidden.text

    def hide_partial(self, words: str) -> str:
        """Words that may still change, without a card's digits."""
        return hide_digits(words, language(self._state().spoken.code), asked=self.is_asked) if self._is_on else words

    def hide_known(self, text: str) -> str:
        """A text of a tool, with marks in place of the numbers that tools have got."""
        for mark, digits in self._digits.items():
            text = text.replace(digits, mark) if mark.startswith("card") else text
        return text

    def reveal(self, arguments: str) -> str:
        """A tool's arguments, with the numbers in place of their marks."""
        for mark, digits in self._digits.items():
            arguments = arguments.replace(f'"{mark}"', f'"{digits}"')
        return arguments
