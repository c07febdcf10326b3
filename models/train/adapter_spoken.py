"""Callers' turns as people say them, to learn where they end: the loss is that of the judge by meaning
(`voiceagent.turn_judges.meaning`), the probability of all endings together behind the words.

A turn is one sentence or several of a topic (`turns/patterns`), with openings, joins, tails, fillers, restarts and the
recogniser's stray marks. Behind its last word it ends; behind the words where people pause it goes on.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tokenizers import Tokenizer

from models.train.adapter_prompt import message_text
from models.train.adapter_tokenizer import END_OF_TEXT, TURN_END
from models.train.tools.talk import Message
from models.train.turns.draw import SMALL, draw
from models.train.turns.patterns import Part, Pattern, patterns
from models.train.turns.values import DIGITS
from voiceagent.llm.endings import ends_turn
from voiceagent.turn_judges.meaning import without_closing_marks

LISTS = Path(__file__).parent / "turns" / "spoken.yaml"
ENDS, GOES_ON = -1, -2
"""Labels of the place behind a word."""
SENTENCES_OF_A_TURN = (1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5)
SHORT_SHARE, CODE_SHARE, HEARD_SHARE = 0.12, 0.1, 0.5
"""Of the turns, short ones and codes that nobody asked for; of the others, those of conversations, where there are some."""
MORE_SHARE, OPENED_SHARE, ANSWER_OPENED_SHARE, TAIL_SHARE, AFTERWARDS_SHARE = 0.35, 0.35, 0.15, 0.15, 0.08
"""Of the answers, those with a sentence more; of the turns and of the answers, those with an opening; of all, those with a tail,
or with a short sentence afterwards."""
GREETED_SHARE, JOINED_SHARE = 0.4, 0.4
"""Of the turns that nobody asked for, those that follow words of the agent; of the sentences after the first, those with a
join."""
BARE_SHARE, DIGITS_SHARE, STRAY_SHARE, FILLED_SHARE, HANGING_SHARE = 0.3, 0.5, 0.3, 0.5, 0.15
"""Of the turns, those without any marks or capitals and those with numbers in digits; of the pauses, those behind which the
recogniser writes a mark; of the fillers, those that it writes down; of the pauses, those with words that nobody ends with."""
INSIDE = 3
"""Labels at most inside a turn's sentences, beside those between them."""
BASE_SHARE = 0.1
"""Of the other words, those behind which a pause would be possible."""
STRAY_MARKS = (".", ".", "...", ",", "?")
FILLERS = frozenset(("um", "uh", "er", "hmm"))


@functools.cache
def said(name: str) -> tuple[str, ...]:
    """A list of `spoken.yaml`: `openings`, `joins` and `tails` of sentences, short ones `afterwards`, what is left `hanging`
    before a pause, whole `short` turns and `codes`, and an agent's `greetings` and other words before a turn."""
    lists: dict[str, str] = yaml.safe_load(LISTS.read_text(encoding="utf-8"))
    return tuple(item.strip() for item in lists[name].split("|"))


@dataclass(frozen=True)
class SpokenTurn:
    """What was asked, what is said, and the characters behind the words where the caller paused, the last of them at the end."""

    asked: str
    text: str
    paused: tuple[int, ...]


class SpokenTurns:
    """An endless supply of a part's turns."""

    def __init__(self, rng: random.Random, part: Part = "fit", heard: Sequence[str] = ()) -> None:
        """`heard`: JSON lines of conversations, whose callers' turns are drawn half of the time."""
        self._rng, self._part = rng, part
        self._all = [*patterns(part), *(patterns("brief") if part == "fit" else ())]
        self._heard = [pattern for number, line in enumerate(heard) for pattern in callers_turns(json.loads(line), str(number))]
        self._of_topic: dict[str, list[Pattern]] = {}
        for pattern in [*self._all, *self._heard]:
            self._of_topic.setdefault(pattern.topic, []).append(pattern)

    def draw(self) -> SpokenTurn:
        """One."""
        pattern = self._pattern()
        if not pattern.asked and self._chance(GREETED_SHARE):
            pattern = Pattern(pattern.topic, pattern.kind, self._rng.choice(said("greetings")), pattern.text)
        drawn = draw(self._rng, pattern, self._part).turn
        words, pauses = [unit.written for unit in drawn.units], {pause.after_unit for pause in drawn.pauses}
        return self._written(drawn.asked, words, pauses)

    def _pattern(self) -> Pattern:
        roll = self._rng.random()
        if roll < SHORT_SHARE:
            return Pattern("", "short", "", self._rng.choice(said("short")))
        if roll < SHORT_SHARE + CODE_SHARE:
            return Pattern("", "dictated", "", f"{self._rng.choice(said('codes'))}.")
        first = self._rng.choice(self._heard if self._heard and self._chance(HEARD_SHARE) else self._all)
        if first.asked:
            sentences = [first.text, *(self._own(first.topic, 1) if self._chance(MORE_SHARE) else ())]
        else:
            sentences = self._own(first.topic, self._rng.choice(SENTENCES_OF_A_TURN))
        if self._chance(ANSWER_OPENED_SHARE if first.asked else OPENED_SHARE):
            sentences.insert(0, self._rng.choice(said("openings")))
        roll = self._rng.random()
        if roll < TAIL_SHARE:
            sentences[-1] = f"{without_closing_marks(sentences[-1])} {self._rng.choice(said('tails')).rstrip('.')}."
        elif roll < TAIL_SHARE + AFTERWARDS_SHARE:
            sentences.append(self._rng.choice(said("afterwards")))
        return Pattern(first.topic, first.kind, first.asked, " ".join(self._joined(sentences)))

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _own(self, topic: str, count: int) -> list[str]:
        """Sentences that nobody asked for: what is told first, what is asked for last."""
        mine = [one for one in self._of_topic[topic] if not one.asked and one.kind != "opening"] or self._all
        told = [one for one in mine if one.kind in ("statement", "restart", "list", "correction")] or mine
        chosen = [self._rng.choice(told) for _ in range(count - 1)] + [self._rng.choice(mine)]
        return list(dict.fromkeys(one.text for one in chosen))

    def _joined(self, sentences: Sequence[str]) -> Iterable[str]:
        for number, sentence in enumerate(sentences):
            if number and self._chance(JOINED_SHARE):
                join = self._rng.choice(said("joins"))
                sentence = f"{join} {_small(sentence)}"
            yield sentence

    def _written(self, asked: str, words: Sequence[str], pauses: set[int]) -> SpokenTurn:
        """The turn as a recogniser would write it."""
        bare, digits = self._chance(BARE_SHARE), self._chance(DIGITS_SHARE)
        written, paused, inner = "", list[int](), list[int]()
        for number, word in enumerate(words):
            last, pause = number == len(words) - 1, number in pauses
            if word.lower().strip(".,") in FILLERS and not last and not self._chance(FILLED_SHARE):
                continue
            shown = _in_digits(word) if digits else word
            written = f"{written} {_bare(shown) if bare else shown}".lstrip()
            place = len(without_closing_marks(written))
            if last or pause or word[-1:] in ".?!":
                paused.append(place)
            elif word.lower() in SMALL or self._chance(BASE_SHARE):
                inner.append(place)
            if pause and not last and not bare and self._chance(STRAY_SHARE):
                written = written[:place] + self._rng.choice(STRAY_MARKS)
            if pause and not last and self._chance(HANGING_SHARE):
                written += f" {self._rng.choice(said('hanging'))}"
                paused.append(len(written))
        chosen = self._rng.sample(inner, min(INSIDE, len(inner)))
        return SpokenTurn(asked, written, tuple(sorted({*chosen, *paused})))


def callers_turns(kept: dict[str, Any], topic: str) -> Iterable[Pattern]:
    """What callers say in an agent's conversations, each with the question that it answers."""
    for conversation in kept["conversations"]:
        asked = ""
        for message in conversation:
            text = message.get("content") or ""
            if message["role"] == "user" and text and "{" not in text:
                yield Pattern(topic, "request", asked, text)
            asked = text if message["role"] == "assistant" and text.endswith("?") else ""


def _in_digits(word: str) -> str:
    """A number below ten as a digit."""
    if word.lower().strip(".,?!") not in DIGITS:
        return word
    return re.sub(r"\w+", lambda found: str(DIGITS.index(found[0].lower())), word)


def _bare(word: str) -> str:
    """In small letters and without marks."""
    return re.sub(r"[^\w\s'@-]", "", word.lower())


def _small(sentence: str) -> str:
    """With a small first letter, but for I and for names of letters."""
    first = sentence.split()[0]
    return sentence if first in ("I", "I'm", "I'd", "I've", "I'll") or first.isupper() else sentence[:1].lower() + sentence[1:]


def messages(turn: SpokenTurn) -> list[Message]:
    """As a conversation."""
    asked: list[Message] = [{"role": "assistant", "content": turn.asked}] if turn.asked else []
    return [*asked, {"role": "user", "content": turn.text}]


def labelled(tokenizer: Tokenizer, turn: SpokenTurn) -> tuple[list[int], list[int]]:
    """Tokens of a turn's conversation, and of each what it is behind: ENDS, GOES_ON or 0. The label stands at the token after
    the place."""
    ids: list[int] = []
    labels: list[int] = []
    for message in messages(turn):
        opening, content = message_text(message)
        for text, own in ((opening, False), (content, message["role"] == "user"), ("\n", False)):
            found = tokenizer.encode(text, add_special_tokens=False)
            starts = {start: number for number, (start, _) in reversed(list(enumerate(found.offsets)))}
            row = [0] * len(found.ids)
            for place in turn.paused if own else ():
                if place in starts:
                    row[starts[place]] = ENDS if place == turn.paused[-1] else GOES_ON
            ids += found.ids
            labels += row
    return ids, labels


def ending_ids(tokenizer: Tokenizer) -> list[int]:
    """Of the tokens that end a turn, as `voiceagent.llm.endings` knows them."""
    texts = tokenizer.decode_batch([[token] for token in range(tokenizer.get_vocab_size())], skip_special_tokens=False)
    marks = {token for token, text in enumerate(texts) if ends_turn(text)}
    control = (tokenizer.token_to_id(token) for token in (TURN_END, END_OF_TEXT))
    return sorted(marks.union(token for token in control if token is not None))
