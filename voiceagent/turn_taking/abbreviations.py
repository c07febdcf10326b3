"""What a language writes with a full stop that ends no sentence. Data; a language's file holds it. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Abbreviations:
    """Of one language. Words are in small letters; abbreviations have their full stops."""

    never: frozenset[str] = frozenset()
    """No sentence ends with them: titles, "e.g."."""
    before_number: frozenset[str] = frozenset()
    """They go on with a number or a letter: "No. 5", "Fig. 3", "Jan. 5". Before a word the sentence has ended."""
    compounds: frozenset[str] = frozenset()
    """Ends of words that go on with a number: "Hauptstr. 5"."""
    before_name: frozenset[str] = frozenset()
    """They go on with a name, which a word of `starters` is not: "St. Louis"."""
    may_end: frozenset[str] = frozenset()
    """A sentence often ends with them: "etc.", "a.m.". A word in capitals, or one of `names`, continues it."""
    names: frozenset[str] = frozenset()
    """Words with a capital letter that may follow a time of day: days, months, time zones."""
    starters: frozenset[str] = frozenset()
    """Words with which sentences begin and names do not."""
    pronouns: frozenset[str] = frozenset()
    """Single letters that are words."""
    lettered: frozenset[str] = frozenset()
    """Words that a letter follows as their name: "Plan B."."""
    months: frozenset[str] = frozenset()
    """Months, if the language writes ordinals with a full stop."""
    before_ordinal: frozenset[str] = frozenset()
    """Words before an ordinal, if the language writes ordinals with a full stop: "der 2. Weltkrieg"."""
