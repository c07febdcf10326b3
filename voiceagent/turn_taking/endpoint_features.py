"""What a pause looks like in numbers: features of the words so far, of what the agent had asked, and of how the voice ended. All
of them can be read off any recogniser's transcript. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from voiceagent.turn_taking.pause import PauseEvidence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PREPOSITIONS = _words(
    """to for from of in on at by with about into than as between until before after during without under over near like via per
    around"""
)
AUXILIARIES = _words(
    """is are am was were be been have has had do does did can could will would shall should may might must i'm i'd i'll it's
    what's where's how's that's we're let's don't can't isn't going gonna"""
)
LAST_WORDS: Mapping[str, frozenset[str]] = {
    "filler": _words("uh um uhm er erm hmm hm mm well so actually"),
    "joiner": _words(
        "and or but because if then when while that who what who's which where how why also plus minus times divided"
    ),
    "determiner": _words("a an the my your our his her its their this these some any every each no another"),
    "preposition": PREPOSITIONS,
    "auxiliary": AUXILIARIES,
    "pronoun": _words("i we they he she"),
    "verb": _words(
        """want wants need needs wish book reserve check cancel change move make get give tell find know send set start track
        schedule reschedule order buy call bring put add remove turn play open close remind delete stop calculate mean meant
        said say ask waiting calling very too really more next last"""
    ),
    "half_day": _words("am pm noon midnight o'clock"),
    "day": _words("monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow now"),
    "month": _words("january february march april june july august september october november december"),
    "polite": _words("please thanks thank bye goodbye"),
}
"""Closed classes of the last word; the first that holds it counts."""
CLASS_OF: Mapping[str, str] = {word: name for name, members in reversed([*LAST_WORDS.items()]) for word in members}
DATES = LAST_WORDS["day"] | LAST_WORDS["month"]
NO_NAMES = DATES | {"i"}
"""Written with a capital, but no name that ends a request."""
STRANDED = PREPOSITIONS | AUXILIARIES
"""Words that a question hardly ends with."""
QUESTION_WORDS = _words("what when where who which how why")
OPENERS = _words(
    """okay ok oh um uh please well so and hello hi hey there now alright right great good perfect fine sorry no yes actually
    morning evening afternoon this is thank you thanks"""
)
"""Words that are said before what one wants."""
PLEASANTRIES = OPENERS | _words("how are you doing going today it can hear me very much a lot anyone")
"""And those of the questions nobody wants answered."""
WHOLE = _words(
    """yes yeah yep yup no nope sure right stop wait thanks thank you bye goodbye never mind please repeat again correct exactly
    cancel help nothing none that's it is pardon enough quiet fine hold hang on of course a one just moment second excuse me"""
)
"""Words that are a turn by themselves."""
YES_OR_NO = _words(
    "yes yeah yep yup no nope sure right correct exactly please thanks thank you of course okay ok not now that is it"
)
"""Words that answer a question of yes or no."""
_STOCK = """how are you|how are you doing|how are you today|how is it going|how's it going|what's up|who are you|what are you|
what's your name|what is your name|what can you do|what can i ask you|what do you know|what are you able to do|who made you|
how can you help me|what can you help me with|how does this work|are you there|is anyone there|is anybody there|can you hear me|
are you a robot|are you human|are you real|what time is it|what time is it now|what's the time|what day is it|
what day is it today|what's the date|what is the date today|what is today's date|what did you say|
can you repeat that|could you repeat that|can you say that again|what was that|never mind|that's all|that is all"""
STOCK = frozenset(" ".join(phrase.split()) for phrase in _STOCK.split("|"))
"""Sentences that are said in just these words, and end there."""
NUMBERS = _words(
    """zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"""
)
OPERATORS = _words("plus minus times divided")
BOOKED = _words("table appointment reservation booking meeting haircut massage dentist")
WEATHER = _words("weather forecast temperature rain raining snow sunny")
CAN_BE_CALLED_OFF = BOOKED | {"timer", "order"}
CALLED_OFF = _words("cancel delete stop end don't off")
COMMANDS = _words(
    """set start book reserve cancel check change move make give tell find track send reschedule order buy call put add remove
    turn play open close remind delete stop calculate show get repeat say help let"""
)
"""Verbs that begin a request."""
QUESTION_AUXILIARIES = _words("is am are was were have has had do does did can could will would shall should may might")
"""Verbs that begin a question of yes or no."""
CLOCK = re.compile(r"\d{1,2}:\d\d")
MARK = re.compile(r"[^\w\s':]|_")
SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
CODE_DIGITS = 5
"""Codes of so many digits are mostly complete."""
SHORT_MS, LONG_MS = 500.0, 4000.0


def features(evidence: PauseEvidence) -> dict[str, float]:
    """The evidence as numbers, most of them 0 or 1."""
    text = evidence.words.strip()
    words = _bare(text)
    found = {"bias": 1.0, **_voice(evidence, text)}
    if not words:
        return found | {"no_words": 1.0}
    sentences = _sentences(text)
    found |= _ending(text, words, sentences[-1])
    found |= _request(text, sentences[-1], open_end=not OPEN_ENDS.isdisjoint(found))
    found |= _sentence(text, words, sentences)
    found |= _needs(words)
    found |= _answer(words, evidence.asked)
    return found


def _bare(text: str) -> list[str]:
    """Words in lower case without marks."""
    return [bare for word in MARK.sub("", text.lower()).split() if (bare := word.strip(":'"))]


def _sentences(text: str) -> list[list[str]]:
    """The words of each that has some."""
    return [bare for part in SENTENCE_END.split(text) if (bare := _bare(part))]


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBERS


def _voice(evidence: PauseEvidence, text: str) -> dict[str, float]:
    fall, asks = evidence.prosody.pitch_fall_st, text.endswith("?")
    clipped = max(-8.0, min(8.0, fall)) if fall is not None else 0.0
    return {
        "pitch_fall": clipped,
        "pitch_moved": abs(clipped),
        "pitch_moved_in_question": abs(clipped) if asks else 0.0,
        "pitch_moved_squared": clipped * clipped / 5.0,
        "pitch_unknown": float(fall is None),
        "energy_fall": max(-10.0, min(15.0, evidence.prosody.energy_fall_db)),
        "long": min(1.0, evidence.voiced_ms / LONG_MS),
        "short": float(evidence.voiced_ms < SHORT_MS and not asks),
    }


def _ending(text: str, words: list[str], sentence: list[str]) -> dict[str, float]:
    """The last mark and the last word."""
    last = words[-1]
    asks = text.endswith("?")
    found = {
        "ends_sentence": float(text.endswith((".", "!"))),
        "ends_question": float(asks),
        "ends_comma": float(text.endswith((",", "-", "…", "..."))),
        "asks_about_place": float(asks and words[-2:-1] != [] and words[-2] in PREPOSITIONS),
    }
    if " ".join(sentence) in STOCK:
        return found | {"stock": 1.0}
    if asks and _asks_indirectly(words):
        return found
    if asks and last in STRANDED:
        return found | {"stranded": 1.0}
    if words[-2:] == ["thank", "you"]:
        return found | {"last_polite": 1.0}
    if last in LAST_WORDS["polite"] and len(words) <= 2:
        return found
    kind = CLASS_OF.get(last, "")
    return found | ({f"last_{kind}": 1.0} if kind else _number(words) if _is_number(last) else {})


OPEN_ENDS = _words("last_filler last_joiner last_determiner last_preposition last_auxiliary last_pronoun last_verb stranded")
"""Features of a last word that something follows."""


def _request(text: str, sentence: list[str], *, open_end: bool) -> dict[str, float]:
    """The form of the last sentence, without the words before what one wants."""
    wanted = list(itertools.dropwhile(OPENERS.__contains__, sentence)) or sentence[-1:]
    asks, last = text.endswith("?"), text.rstrip(".?!,").rpartition(" ")[2]
    name = len(sentence) > 1 and last[:1].isupper() and last.lower() not in NO_NAMES
    asks_what = wanted[0].partition("'")[0] in QUESTION_WORDS or _asks_indirectly(sentence)
    return {
        "closed_end": float(not open_end),
        "asks_what": float(asks and asks_what and not open_end),
        "asks_yes_or_no": float(asks and not asks_what and wanted[0] in QUESTION_AUXILIARIES),
        "commands": float(wanted[0] in COMMANDS),
        "calls_off": float(not CALLED_OFF.isdisjoint(wanted) and wanted[-1] in CAN_BE_CALLED_OFF),
        "last_name": float(name),
        "last_name_of_place": float(name and sentence[-2] in PREPOSITIONS),
    }


def _asks_indirectly(words: list[str]) -> bool:
    """Whether it ends as a question inside another does, with its verb: "do you know what day it is"."""
    return words[-2:] == ["it", "is"] and not QUESTION_WORDS.isdisjoint(words[1:-2])


def _number(words: list[str]) -> dict[str, float]:
    """A number at the end: of a sum, a time, a code, or something else."""
    if OPERATORS.intersection(words[1:-1]):
        return {"last_operand": 1.0}
    digits = 0
    for word in reversed(words):
        if not word.isdigit() and word not in NUMBERS:
            break
        digits += len(word) if word.isdigit() else 1
    if CLOCK.fullmatch(words[-1]) or words[-2:-1] in (["at"], ["around"], ["to"]):
        return {"last_clock": 1.0}
    if digits >= CODE_DIGITS - 2 or "order" in words:
        return {"last_code": 1.0, "code_digits_missing": float(max(0, CODE_DIGITS - digits))}
    return {"last_number": 1.0}


def _sentence(text: str, words: list[str], sentences: list[list[str]]) -> dict[str, float]:
    """The form of the whole and of its last sentence."""
    current = sentences[-1]
    return {
        "opener": float(OPENERS.issuperset(words)),
        "pleasantry": float(PLEASANTRIES.issuperset(words) and not OPENERS.issuperset(words)),
        "whole": float(WHOLE.issuperset(words)),
        "one_word": float(len(words) == 1),
        "several_sentences": float(len(sentences) > 1),
        "introduces": float(current[:2] == ["this", "is"] or {"my", "name"} <= set(current[:3])),
        "condition": float(_is_condition(current) and "," not in text[:-1]),
    }


def _is_condition(sentence: list[str]) -> bool:
    """Whether it begins like half a sentence ("when I am home"), not like a question ("when will it arrive")."""
    return sentence[0] in {"if", "because"} or (sentence[0] == "when" and not AUXILIARIES.intersection(sentence[1:2]))


def _needs(words: list[str]) -> dict[str, float]:
    """What a request still leaves open."""
    said = set(words)
    numbers = [word for word in words if _is_number(word)]
    if said & CALLED_OFF:
        return {}
    if "timer" in said:
        return {"number_missing": float(not numbers)}
    day = bool(said & DATES)
    if said & WEATHER:
        return {"weather_day_missing": float(not day)}
    if not said & BOOKED:
        return {}
    time = bool(said & LAST_WORDS["half_day"]) or any(CLOCK.fullmatch(word) for word in numbers)
    return {"day_missing": float(not day), "time_missing": float(not time), "time_alone_missing": float(day and not time)}


def _answer(words: list[str], asked: str) -> dict[str, float]:
    """How much of the agent's question is answered."""
    if not asked.rstrip().endswith("?"):
        return {}
    said = set(words)
    number = any(_is_number(word) for word in words)
    given = {
        "day": bool(said & DATES),
        "time": bool(said & LAST_WORDS["half_day"]) or any(CLOCK.fullmatch(word) for word in words),
        "many": number,
        "number": number,
    }
    wanted = [given[name] for name in _bare(asked) if name in given]
    yes_or_no = _bare(SENTENCE_END.split(asked.strip())[-1])[:1]
    return {
        "answers": float(len(words) <= 6),
        "answers_all": float(bool(wanted) and all(wanted)),
        "answers_yes_or_no": float(not QUESTION_AUXILIARIES.isdisjoint(yes_or_no) and YES_OR_NO.issuperset(words)),
    }
