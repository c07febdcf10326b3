"""The facts about a language that a telephone needs: the words of answering machines, the descriptions of a phone's tools for the
language model, and an agent's sentences in a warm transfer. Data; a language's file holds it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.turn_taking.person_request import PersonWords


@dataclass(frozen=True, slots=True)
class PhoneWords:
    """The telephone's words in one language. Phrases are as `language.phrase_set` makes them."""

    machine: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that machines say, and a person who answers only when they ask, offer something or speak of another one."""
    sure: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that only a machine says."""
    absent: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that machines say, and now and then a person who answers for another one."""
    acts: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row by which a person who answers says what they do now, or offers to do. No machine says them."""
    asks: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row by which a person who answers asks something, and now and then a machine."""
    another: frozenset[str] = frozenset()
    """Words for one who is spoken of."""
    screens: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row of a service that asks who calls before it puts them through."""
    collect_digits: str = ""
    """The description of the tool `collect_digits` for the language model."""
    collecting: str = ""
    """The result of `collect_digits`."""
    transfer: str = ""
    """The description of the tool `transfer` for the language model."""
    transferring: str = ""
    """The result of `transfer`, where the transfer follows the reply."""
    stop_recording: str = ""
    """The description of the tool `stop_recording` for the language model."""
    press_keys: str = ""
    """The description of the tool `press_keys` for the language model."""
    call_facts: str = ""
    """Put in front of what is known of the caller in the language model's instructions."""
    person: PersonWords = field(default_factory=PersonWords)
    """The words with which callers ask for a person."""


@dataclass(frozen=True, slots=True)
class TransferWords:
    """An agent's sentences in a warm transfer, in one language."""

    connecting: str = ""
    """To the caller, before they wait."""
    opening: str = ""
    """To the colleague, when they answer."""
    ask: str = ""
    """Has the language model write what follows the opening."""
    unknown: str = ""
    """Follows the opening if the language model failed."""
    press: str = ""
    """Asks the colleague for the key that takes the call; `{key}` stands for it."""
    gone: str = ""
    """To the colleague, when the caller has hung up before both were joined."""
    joined: str = ""
    """To both, before the agent leaves."""
