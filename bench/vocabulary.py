"""Measures the words of a house: words of a vocabulary that are heard, and words put in that were not said, without a vocabulary,
with it as the model's prompt, by sound alone, and as calls use it."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
import time
import unicodedata
import wave
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np
import soxr
import yaml
from numpy.typing import NDArray

from bench.harness import Figure, at_least, at_most, plain
from bench.stt.encoders import LEAD_S, TAIL_S
from bench.stt.everyday import Sentence, by_piper, by_telephone
from bench.stt.speech import RATE_HZ, Spoken
from bench.stt.spelling import word_errors
from tests.people.people import recordings
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.decoder import BatchDecoder
from voiceagent.stt.hypothesis import DecodeWindow
from voiceagent.stt.vocabulary import Vocabulary, VocabularyWord, with_trials
from voiceagent.stt.vocabulary import plain as bare
from voiceagent.stt.whisper import create

NOTES = """\
Eight made-up houses of 14 names, products and streets each (`bench/stt/vocabulary.yaml`), two sentences a word, by the published
voices en_US-joe-medium (Piper) and slt, rms, awb (Flite) in turn: 112 of the words and 224 of the sentences in all. `tuning` was
looked at while the limits were chosen, `held_out` only for this result. Voices read foreign names as English spelling
suggests. People's speech is English of `tests/people` and of the sets that `$VOICEAGENT_PEOPLE` names; no word of any house was
said in it, so every one that stands in a text is wrong. tiny.en as `starter` runs it; whole utterances, one thread, CPU
time of the process. No person has said the words: how well people's are heard was not measured.

- *prompt*: all words of the house stand before every decode. faster-whisper's `hotwords` are the same tokens as its
  `initial_prompt`, so they are one row. Of tuning, 56 words in one prompt were worse than 14: 34 of 112 heard, and 38 % of the
  words of people's utterances wrong, because the model went round in circles.
- *by sound alone*: the nearest word is written in place of what sounds like it, unless it is farther than 0.2.
- *as calls use it*: `voiceagent/stt/vocabulary.py`. That no word is tried in a text of which the model is sure was chosen on the
  tuning sentences and on this people's speech.
- *more CPU a decode*: with so many words, on people's speech, where none was said: what a vocabulary costs a decode.
"""
VOICES = ("joe", "slt", "rms", "awb")
TITLES = re.compile(r"^(Doctor|Mister|Ms|Madame|Chef|the|a|two) ")
SETS = ("utterances", "prompts", "turns", "turns_measure_only", "backchannels")
LONGEST_S = 28.0
BY_SOUND = 0.2
MOST_ADDED_MS = 5.0
JOINED = "words that joined by themselves"
Hear = Callable[[NDArray[np.float32]], str]


@dataclass(slots=True)
class Tally:
    """What one way of hearing made of some speech."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    heard: int = 0
    inserted: int = 0
    cpu_ms: list[float] = field(default_factory=list)

    def add(self, text: str, hear: Hear, audio: NDArray[np.int16], words: Sequence[str], said: str = "") -> None:
        """Hear audio with this text, in which a word of the vocabulary may be `said`."""
        padded = np.pad(audio.astype(np.float32) / np.float32(32768), (int(LEAD_S * RATE_HZ), int(TAIL_S * RATE_HZ)))
        began_s = time.process_time()
        heard = hear(padded)
        self.cpu_ms.append((time.process_time() - began_s) * 1000)
        self.pairs.append((text, heard))
        self.heard += bool(said) and bare(said) in bare(heard)
        self.inserted += sum(bare(word) in bare(heard) and bare(word) not in bare(text) for word in words)


class Ways:
    """The ways of hearing with one recogniser."""

    def __init__(self, decoder: BatchDecoder) -> None:
        self._decoder = decoder

    def plainly(self, audio: NDArray[np.float32]) -> str:
        """Without a vocabulary."""
        return self._decoder.decode([DecodeWindow(audio)])[0].text

    def prompted(self, words: Sequence[str]) -> Hear:
        """With all words before every decode, however long that is."""
        tokenizer = self._decoder._tokenizer
        ids = [tokenizer.sot_prev, *tokenizer.encode(f" {', '.join(words)}.")]

        def hear(audio: NDArray[np.float32]) -> str:
            self._decoder._prompt = lambda text: ids if text else []  # type: ignore[method-assign]
            try:
                return self._decoder.decode([DecodeWindow(audio, prompt="words")])[0].text
            finally:
                del self._decoder._prompt

        return hear

    def by_sound(self, words: Sequence[str]) -> Hear:
        """With the nearest words in place of what sounds like them."""
        vocabulary = Vocabulary([VocabularyWord(word) for word in words])
        vocabulary._limits = [BY_SOUND] * len(vocabulary._limits)

        def hear(audio: NDArray[np.float32]) -> str:
            heard = vocabulary.spelled(self._decoder.decode([DecodeWindow(audio)])[0].words)
            return " ".join(word.text for word in with_trials(heard, vocabulary.trials(heard)))

        return hear

    def as_calls(self, words: Sequence[str], automatic: Sequence[str] = ()) -> Hear:
        """As calls use it."""
        vocabulary = Vocabulary([VocabularyWord(word) for word in words], automatic)
        return lambda audio: self._decoder.decode([DecodeWindow(audio, vocabulary=vocabulary)])[0].text

    def named(self, words: Sequence[str]) -> dict[str, Hear]:
        """All of them, by name."""
        return {
            "without": self.plainly,
            "prompt": self.prompted(words),
            "as calls use it": self.as_calls(words),
            "by sound alone": self.by_sound(words),
        }


@dataclass(frozen=True, slots=True)
class HouseSentence:
    """A sentence with a word of a house."""

    house: str
    word: str
    text: str


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about eight minutes of an idle core."""
    engine = create(resolve("whisper-tiny.en"), profile("starter").stt.options)
    ways = Ways(engine.decoder)
    figures: list[Figure] = []
    for part in ("tuning", "held_out"):
        figures += await sentence_rows(f"tiny.en, {part}", ways, part)
    figures += people_rows("tiny.en", ways)
    await engine.close()
    return figures


async def sentence_rows(name: str, ways: Ways, part: str) -> list[Figure]:
    """Words of the vocabulary heard, and other words wrong."""
    houses, sentences = words_of_houses(part), list(house_sentences(part))
    named = {house: ways.named(words) for house, words in houses.items()}
    every = [word for words in houses.values() for word in words]
    everything, joined = ways.as_calls(every), ways.as_calls((), every)
    spoken = await spoken_by_all(sentences)
    figures: list[Figure] = []
    for band, speech in (("browser", spoken), ("telephone", by_telephone(spoken))):
        tallies: dict[str, Tally] = {}
        for sentence, each in zip(sentences, speech, strict=True):
            found = {**named[sentence.house], "as calls use it, 56 words": everything, f"as calls use it, 56 {JOINED}": joined}
            for way, hear in found.items():
                tallies.setdefault(way, Tally()).add(sentence.text, hear, each.audio, houses[sentence.house], sentence.word)
        for way, tally in tallies.items():
            said = f"{name}, {band}: {way}"
            figures.append(plain(f"{said}: words of the house heard, of {len(sentences)}", tally.heard, ""))
            figures.append(plain(f"{said}: other words of the house put in", tally.inserted, ""))
            figures.append(
                plain(
                    f"{said}: all words wrong",
                    word_errors([(without_accents(a), without_accents(b)) for a, b in tally.pairs]),
                    "%",
                )
            )
            figures.append(plain(f"{said}: CPU a decode, mean", float(np.mean(tally.cpu_ms)), "ms"))
        if part == "held_out":
            ratio = tallies["as calls use it"].heard / max(1, tallies["without"].heard)
            figures.append(at_least(f"{name}, {band}: heard, against without", round(ratio, 1), 3, "×"))
    return figures


def people_rows(name: str, ways: Ways) -> Iterator[Figure]:
    """Words put in that nobody said, other words wrong, and what a vocabulary costs."""
    held_out = words_of_houses("held_out")
    words = [word for house in held_out.values() for word in house]
    every = [*words, *(word for house in words_of_houses("tuning").values() for word in house)]
    found: dict[str, Hear] = ways.named(held_out["vet"])
    found |= {f"as calls use it, {len(own)} words": ways.as_calls(own) for own in (words, every)}
    found.update({f"as calls use it, {count} {JOINED}": ways.as_calls((), every[:count]) for count in (10, 50, 100)})
    tallies = {way: {each: Tally() for each in SETS} for way in found}
    for folder in SETS:
        for recording in recordings(folder):
            if recording.language != "en" or not recording.text or recording.end_s - recording.start_s > LONGEST_S:
                continue
            start = max(0, int((recording.start_s - 0.3) * RATE_HZ))
            audio = recording.audio()[start : int(recording.end_s * RATE_HZ)]
            for way, hear in found.items():
                tallies[way][folder].add(recording.text, hear, audio, every)
    before = np.mean([ms for tally in tallies["without"].values() for ms in tally.cpu_ms])
    for way, by_set in tallies.items():
        count = sum(len(tally.pairs) for tally in by_set.values())
        inserted = sum(tally.inserted for tally in by_set.values())
        said = f"{name}, people: {way}"
        if way.startswith("as calls"):
            yield at_most(f"{said}: words put in that nobody said, in {count} recordings", inserted, 0.01 * count, "")
        else:
            yield plain(f"{said}: words put in that nobody said, in {count} recordings", inserted, "")
        for folder, tally in by_set.items():
            yield plain(f"{said}, {folder} ({len(tally.pairs)}): words wrong", word_errors(tally.pairs), "%")
        added = float(np.mean([ms for tally in by_set.values() for ms in tally.cpu_ms]) - before)
        if way.startswith("as calls"):
            yield at_most(f"{said}: more CPU a decode, mean", round(added, 1), MOST_ADDED_MS, "ms")
        elif way != "without":
            yield plain(f"{said}: more CPU a decode, mean", added, "ms")


def words_of_houses(part: str) -> dict[str, list[str]]:
    """The vocabulary of each house: its words without titles and articles."""
    houses = _listed()[part]["houses"]
    return {house: [TITLES.sub("", word) for words in kinds.values() for word in words] for house, kinds in houses.items()}


def house_sentences(part: str) -> Iterator[HouseSentence]:
    """Two sentences a word; the frames in turn."""
    listed = _listed()[part]
    used = dict.fromkeys(listed["frames"], 0)
    for house, kinds in listed["houses"].items():
        for kind, words in kinds.items():
            for word in (word for word in words for _ in range(2)):
                frame = listed["frames"][kind][used[kind] % len(listed["frames"][kind])]
                used[kind] += 1
                text = frame.format(word)
                yield HouseSentence(house, TITLES.sub("", word), text[0].upper() + text[1:])


def _listed() -> Any:
    text = resources.files("bench.stt").joinpath("vocabulary.yaml").read_text("utf-8")
    return yaml.safe_load(text)["en"]


def without_accents(text: str) -> str:
    """Letters without accents, because a recogniser may write them either way."""
    plainly = text.replace("ł", "l").replace("Ł", "L")
    return unicodedata.normalize("NFKD", plainly).encode("ascii", "ignore").decode()


async def spoken_by_all(sentences: Sequence[HouseSentence]) -> list[Spoken]:
    """The sentences by the voices in turn; the two of a word by different ones."""
    voices = [VOICES[(number + number // 2) % len(VOICES)] for number in range(len(sentences))]
    texts = [Sentence(each.text, "") for each, voice in zip(sentences, voices, strict=True) if voice == "joe"]
    by_joe = iter(await by_piper(resolve("piper-joe"), texts, (1.0,)))
    return [next(by_joe) if voice == "joe" else by_flite(each.text, voice) for each, voice in zip(sentences, voices, strict=True)]


def by_flite(text: str, voice: str) -> Spoken:
    """A sentence by a voice of Flite."""
    program = shutil.which("flite")
    if program is None:
        raise SystemExit("this benchmark needs Debian's package `flite`")
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run([program, "-voice", voice, "-t", without_accents(text), "-o", file.name], check=True)
        with wave.open(file.name) as sound:
            rate_hz = sound.getframerate()
            samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)
    audio = soxr.resample(samples.astype(np.float32) / np.float32(32768), rate_hz, RATE_HZ)
    return Spoken(text, np.asarray(np.clip(audio, -1, 1) * 32767, np.int16), ())
