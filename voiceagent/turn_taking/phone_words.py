"""What a telephone needs of a language: what answering machines say, and what the language model is told of a phone's tools.
Data; a language's file holds it. Pure.

What an agent says when it hands a caller over to a colleague, in one language. Data; a language's file holds it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.turn_taking.person_request import PersonWords


@dataclass(frozen=True, slots=True)
class PhoneWords:
    """Of one language. Phrases are as `language.phrase_set` makes them."""

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
    """What the language model is told of the tool `collect_digits`."""
    collecting: str = ""
    """And what that gives it."""
    transfer: str = ""
    """What the language model is told of the tool `transfer`."""
    transferring: str = ""
    """And what that gives it."""
    stop_recording: str = ""
    """What the language model is told of the tool `stop_recording`."""
    press_keys: str = ""
    """What the language model is told of the tool `press_keys`."""
    call_facts: str = ""
    """Put in front of what is known of the caller in the language model's instructions."""
    person: PersonWords = field(default_factory=PersonWords)
    """How callers ask for a person."""


@dataclass(frozen=True, slots=True)
class TransferWords:
    """What an agent says in a warm transfer, in one language."""

    connecting: str = ""
    """To the caller, before they wait."""
    opening: str = ""
    """To the colleague, when they answer."""
    ask: str = ""
    """Has the language model write what follows the opening."""
    unknown: str = ""
    """What follows it where the language model failed."""
    press: str = ""
    """Asks the colleague for the key that takes the call; `{key}` stands for it."""
    gone: str = ""
    """To the colleague, when the caller has hung up before both were joined."""
    joined: str = ""
    """To both, before the agent leaves."""
