"""Turns of one or two words, as callers say them alone: commands, answers, backchannels, questions, and single words of
every kind. A recogniser that has mostly heard sentences writes nothing for a lone "No.".

A `random.Random` comes in, the units of a turn come out.
"""

from __future__ import annotations

import random

from models.train import domain
from models.train.domain import Unit
from models.train.general_english import word_salad

_COMMANDS = [
    *["No."] * 4, *["Stop.", "Wait.", "Hold on."] * 2, "No, no.", "No, no, no.", "Nope.", "No, wait.", "No, stop.", "No, sorry.",
    "Oh no.", "Stop, please.", "Please stop.", "Stop it.", "Okay, stop.", "Wait, please.", "Wait, wait.", "Wait a minute.",
    "Wait a second.", "Hang on.", "Cancel.", "Cancel that.", "Enough.", "That's enough.", "Be quiet.", "Quiet.", "Quiet, please.",
    "Never mind.", "Pause.", "One moment.", "Just a moment.", "Just a second.", "Excuse me.", "Forget it.", "Actually, no.",
    "Not now.", "Not that.", "Sorry.", "But.", "Actually.",
]  # fmt: skip
_ANSWERS = [
    *["Yes.", "Okay.", "Thanks.", "Uh-huh."] * 2, "Yes, please.", "Yes, yes.", "Yeah.", "Yep.", "Yup.", "Okay, great.",
    "Oh, okay.", "Okay, okay.", "Right.", "All right.", "Alright.", "Sure.", "Sure, okay.", "Good.", "Great.", "Fine.", "Nice.",
    "Cool.", "Wow.", "Perfect.", "Exactly.", "Indeed.", "True.", "Correct.", "Of course.", "I see.", "Got it.", "Thank you.",
    "No, thanks.", "Oh.", "Ah.", "Hmm.", "Hm.", "Um.", "Uh.", "Please.", "Maybe.", "Both.", "Neither.", "Nothing.", "Hello.",
    "Hello?", "Hi.", "Hey.", "Bye.", "Bye bye.", "Goodbye.", "Go on.", "Go ahead.", "Again.", "Once more.", "Next.", "Back.",
    "Help.", "Louder.", "Slower.", "Done.", "Ready.", "So.", "Well.", "And.",
]  # fmt: skip
_QUESTIONS = [
    *["Sorry?", "What?"] * 2, "Pardon?", "Why?", "When?", "Where?", "Who?", "How?", "Which?", "How much?", "How many?", "Really?",
    "Right?", "Okay?", "Yes?", "No?", "Oh really?", "Is it?", "What else?", "When exactly?", "Which one?", "At what time?",
]  # fmt: skip
_SLOTS = ("city", "name", "day", "on_day", "number", "people", "minutes", "time", "service", "item", "room", "device", "topic")
_HUMS = {"Mm-hm.": ("[[m_h'm]]", "[[m:h'm:]]", "[[mh'Vm]]", "[[m:h'Vm:]]", "[[m'h@m]]"), "Mm.": ("[[m'm]]", "[[m:]]", "[[m'm:]]")}
"""Spoken as espeak-ng's phonemes: it would spell the letters."""
_SHARES = {"command": 30, "answer": 24, "question": 6, "slot": 20, "word": 15, "hum": 5}


def short_turn(rng: random.Random, *, hums: bool) -> tuple[Unit, ...]:
    """A turn that may be trained on; with `hums`, some are spoken in espeak-ng's phonemes (`[[m_h'm]]`)."""
    while True:
        units = _any_turn(rng, hums)
        if not domain.is_held_out(" ".join(unit.written for unit in units)):
            return units


def _any_turn(rng: random.Random, hums: bool) -> tuple[Unit, ...]:
    (kind,) = rng.choices(list(_SHARES), list(_SHARES.values()))
    if kind == "hum" and hums:
        written = rng.choice(list(_HUMS))
        return (Unit(written, rng.choice(_HUMS[written])),)
    mark = rng.choice("...?")
    patterns = {
        "command": lambda: rng.choice(_COMMANDS),
        "answer": lambda: rng.choice(_ANSWERS),
        "question": lambda: rng.choice(_QUESTIONS),
        "slot": lambda: f"{{{rng.choice(_SLOTS)}}}{mark}",
    }
    pattern = patterns.get(kind, lambda: word_salad(rng, most=2) + mark)()
    return domain.fill(rng, pattern, "short_turn").units
