"""What a telephone needs of a language: what answering machines say, and what the language model is told of a phone's tools.
Data; a language's file holds it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.turn_taking.person_request import PersonWords


@dataclass(frozen=True, slots=True)
class PhoneWords:
    """Of one language. Phrases are as `language.phrase_set` makes them."""

    machine: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that a machine says and a person who answers does not."""
    absent: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that machines say, and now and then a person who answers for another one."""
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
