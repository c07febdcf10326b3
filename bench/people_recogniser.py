"""Measures the recognisers and the voice detector on people: words wrong of published models, by how much padding their encoder
is given; short answers in whole utterances, in a browser's and a telephone's band; speech missed and noise taken for speech."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bench.harness import Figure, plain
from bench.stt.encoders import LEAD_S, PADDED, Heard, Padding, heard, load
from bench.stt.everyday import by_telephone
from bench.stt.people_detector import detector_rows
from bench.stt.speech import RATE_HZ, Spoken
from bench.stt.spelling import compared
from bench.stt.streaming import Listener
from tests.people.people import Recording, recordings
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.short_whisper import ShortWhisper
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.patience import ExpectedValue

NOTES = """\
People's speech (`tests/people`, and the sets that `$VOICEAGENT_PEOPLE` names). Only texts that are certain count, but for the
rows *telephone turns*, whose texts a recogniser wrote. Greedy decoding of whole utterances, up to 400 ms of what stands before
them and 200 ms of silence behind, on one thread in 8 bits; CPU seconds are the process's own. Numbers, spelled letters and
abbreviations are compared in one spelling (`bench/stt/spelling.py`).

- *padded to 30 s*: what faster-whisper does. *before*: the short encoder with two seconds of padding, as the profiles had it.
  *now*: as the profiles run it: tiny.en as `starter`, base by the defaults.
- *single digits* are cut off close to the words, with 130 ms before them; in an utterance they get a call's 400 ms. *codes*:
  spelled words, numbers and both. *words and phrases*: three words at most.
- *asked for*: the agent's question was for digits, or for one of three or four choices that hold the word
  (`voiceagent/stt/decoder.py`).
- *in an utterance*: through the voice detector, the preroll, the gates and the second decode, as `starter` runs them, without
  partials. *lost*: nothing was heard. *other words*: words were heard that differ from the text.
- Key terms given to the model as its prompt were tried and left out. Of ten terms, seven were said (14 times). Five times one
  was misheard; once it was heard with the prompt, but written twice. Of all words more were wrong: tiny.en 20.1 % without a
  prompt, 24.7 % with these terms, 22.6 % with eight others. With "Yes. No. Okay. Sure. Thank you." 19.4 % of people's commands
  and short answers were wrong, 2.8 % without.
- The detector is compared with Silero's own edges (frames of 32 ms), so Silero is no independent judge. *missed*: labelled speech
  outside the utterances that the detector found. *taken for speech*: the share of rooms, typing and kitchen noise within
  utterances.
"""
DIGITS = ExpectedValue(digits=True)
CHOICES = (
    ExpectedValue(choices=("aardvark", "ceiling", "flooring", "tablecloth")),
    ExpectedValue(choices=("warning", "emergency", "condition", "blather")),
    ExpectedValue(choices=("cannister", "wine glass", "a cheddar block")),
)
KINDS = ("words and phrases", "single digits, asked for", "backchannels and fillers")
SHORT_WORDS = 3
LONGEST_TURN_S = 28.0
LANGUAGES = ("es", "fr", "it", "ru")
TINY, BASE = "whisper-tiny.en", "whisper-base"
SETTINGS = {
    TINY: (PADDED, Padding("before", 200, 0.5), Padding("now", 400, 0.5)),
    BASE: (PADDED, Padding("before", 256, step_frames=100), Padding("now", 200, "silence", 800, 100)),
}


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about seven minutes of an idle core."""
    figures = [*detector_rows()]
    groups = english()
    for model in (TINY, BASE):
        figures += word_rows(model, load(resolve(model)), groups)
        figures += await asked_rows(model, groups["single digits"], groups["words and phrases"])
    engine = create(resolve(TINY), profile("starter").stt.options)
    try:
        figures += await utterance_rows(engine)
    finally:
        await engine.close()
    return figures


def english() -> dict[str, list[Spoken]]:
    """The recordings with an English text, by kind."""
    found: dict[str, list[Spoken]] = {kind: [] for kind in ("single digits", "codes", "words and phrases", "sentences")}
    for each in [*recordings("digits_cc_by_sa"), *recordings("utterances")]:
        if each.language == "en" and each.text_is_certain:
            found[_kind(each)].append(_spoken(each))
    found["prompts, en"] = [_spoken(each) for each in recordings("prompts") if each.language == "en"]
    turns = [each for each in recordings("turns") if each.end_s - each.start_s <= LONGEST_TURN_S and each.text]
    found["telephone turns (doubtful texts)"] = [_spoken(each) for each in turns]
    return found


def _kind(recording: Recording) -> str:
    words = recording.text.split()
    if recording.kind == "single digit":
        return "single digits"
    if DIGITS.holds(recording.text, language("en")) or sum(len(word) == 1 for word in words) > 1:
        return "codes"
    return "words and phrases" if len(words) <= SHORT_WORDS else "sentences"


def _spoken(recording: Recording) -> Spoken:
    """The speech with what stands up to 300 ms before it: with `bench.stt.encoders`' silence, a call's preroll."""
    start = max(0, int((recording.start_s - 0.4 + LEAD_S) * RATE_HZ))
    return Spoken(recording.text, recording.audio()[start : int(recording.end_s * RATE_HZ)], ())


def word_rows(model: str, whisper: ShortWhisper, groups: dict[str, list[Spoken]]) -> Iterator[Figure]:
    """Words wrong and CPU time of each kind of speech, in each setting."""
    name, settings = model.removeprefix("whisper-"), SETTINGS[model]
    every = {setting.name: Heard() for setting in settings}
    for kind, spoken in groups.items():
        results = heard(whisper, settings, spoken)
        for setting, result in results.items():
            yield plain(f"{name}, {kind} ({len(spoken)}): {setting}: words wrong", result.errors(), "%")
            if "doubtful" not in kind:
                every[setting].pairs += result.pairs
                every[setting].cpu_ms += result.cpu_ms
                every[setting].again += result.again
    for setting, result in every.items():
        yield plain(f"{name}, all with certain texts ({len(result.pairs)}): {setting}: words wrong", result.errors(), "%")
        yield plain(f"{name}, all: {setting}: CPU a decode, mean", float(np.mean(result.cpu_ms)), "ms", 0)
        yield plain(f"{name}, all: {setting}: written again after a loop", result.again, "")
    if whisper.model.is_multilingual:
        yield from _other_languages(name, whisper, settings)


def _other_languages(name: str, whisper: ShortWhisper, settings: Sequence[Padding]) -> Iterator[Figure]:
    for code in LANGUAGES:
        prompts = [each for each in recordings("prompts") if each.language == code]
        samples = [each for each in recordings("utterances") if each.language == code and each.text_is_certain]
        spoken = [_spoken(each) for each in (*prompts, *samples)]
        for setting, result in heard(whisper, settings, spoken, code).items():
            yield plain(f"{name}, prompts, {code} ({len(spoken)}): {setting}: words wrong", result.errors(code), "%")


async def asked_rows(model: str, digits: Sequence[Spoken], phrases: Sequence[Spoken]) -> list[Figure]:
    """Single digits and choices, where the recogniser knows that they were asked for and where it does not."""
    options = profile("starter").stt.options if model == TINY else {"compute_type": "int8"}
    engine = create(resolve(model), {**options, "doubt_below": None})
    name = model.removeprefix("whisper-")
    by_band = {"browser": digits, "telephone": by_telephone(digits)}
    found = []
    for band, spoken in by_band.items():
        for asked, of in (("", engine), (", asked for", engine.expecting(DIGITS))):
            right = [await _heard(of, each) for each in spoken]
            found.append(plain(f"{name}, {band}, single digits{asked}: heard right, of {len(right)}", sum(right), ""))
        chosen = phrases if band == "browser" else by_telephone(phrases)
        plainly = asked_for = said = 0
        for value in CHOICES:
            expecting = engine.expecting(value)
            for each in chosen:
                if each.text in value.choices:
                    said, plainly = said + 1, plainly + await _heard(engine, each)
                    asked_for += await _heard(expecting, each)
        found.append(plain(f"{name}, {band}, choices: heard right, of {said}", plainly, ""))
        found.append(plain(f"{name}, {band}, choices, asked for: heard right, of {said}", asked_for, ""))
    await engine.close()
    return found


async def _heard(engine: SttEngine, spoken: Spoken) -> bool:
    """True if the words are heard right; "table cloth" is."""
    audio = np.pad(spoken.audio.astype(np.float32) / np.float32(32768), (RATE_HZ // 10, RATE_HZ // 5))
    text = (await engine.transcribe(audio, final=True)).text
    return "".join(compared(text)) == "".join(compared(spoken.text))


async def utterance_rows(engine: WhisperEngine) -> list[Figure]:
    """Short answers as a call hears them."""
    every = [*recordings("utterances"), *recordings("digits_cc_by_sa"), *recordings("backchannels")]
    by_folder: dict[str, list[Recording]] = {"utterances": [], "digits_cc_by_sa": [], "backchannels": []}
    for each in every:
        if each.language == "en" and each.text and len(each.text.split()) <= SHORT_WORDS:
            by_folder[each.path.parent.name].append(each)
    found = []
    for band in ("browser", "telephone"):
        for (folder, chosen), kind in zip(by_folder.items(), KINDS, strict=True):
            spoken = [Spoken(each.text, each.audio(), ()) for each in chosen]
            hearing = engine.expecting(DIGITS) if folder.startswith("digits") else engine
            texts = await _heard_in_utterances(hearing, by_telephone(spoken) if band == "telephone" else spoken)
            other = sum(bool(text) and compared(text) != compared(each.text) for each, text in zip(spoken, texts, strict=True))
            found.append(plain(f"in an utterance, {band}, {kind}: lost, of {len(spoken)}", texts.count(""), ""))
            if all(each.text_is_certain for each in chosen):
                found.append(plain(f"in an utterance, {band}, {kind}: other words", other, ""))
    return found


async def _heard_in_utterances(engine: SttEngine, spoken: Sequence[Spoken]) -> list[str]:
    listener = Listener(engine, interval_ms=float("inf"))
    return [(await listener.hear(each)).text for each in spoken]
