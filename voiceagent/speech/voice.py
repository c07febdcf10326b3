"""A voice that reads: around any speech synthesiser, it turns a clause as it is written into what is said, and the words of what
is said back into those that were written. It is a `TtsEngine` itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from voiceagent.conversation.events import SpokenWord
from voiceagent.speech.clips import Clip, load_clips
from voiceagent.speech.formulas import as_written, in_english
from voiceagent.speech.marks import marked, unmarked
from voiceagent.speech.prose import Prose
from voiceagent.speech.reading import Piece, Reading, SpokenText
from voiceagent.speech.settings import SpeechSettings
from voiceagent.tts.engine import SpeechChunk, TtsEngine, reads_ipa

MOST_VERBATIM = 64
"""Strings to be said exactly that a call remembers; the oldest is forgotten."""


class Speech:
    """How an agent speaks. One for all calls."""

    def __init__(self, settings: SpeechSettings, phrases: Mapping[str, str], base_dir: str, engine: TtsEngine) -> None:
        """`phrases` are the agent's by name. Clips are read from `base_dir`. Raises ConfigError."""
        self._engine = engine
        lexicon = settings.lexicon if reads_ipa(engine) else {}
        self._reading = Reading(language=settings.language, day_first=settings.day_first, lexicon=lexicon)
        plain = {name: unmarked(text) for name, text in phrases.items()}
        self._clips = load_clips(settings.clips, plain, base_dir, engine.sample_rate_hz)
        self._marked = tuple(found for text in phrases.values() for found in marked(text))

        self._code = settings.code
        self._formula = in_english if settings.language == "en" else as_written

    def prose(self) -> Prose:
        """What makes a generation's text speakable, as it comes."""
        return Prose(self._code, self._formula)

    def voice(self) -> SpokenVoice:
        """The voice of a call."""
        return SpokenVoice(self._engine, self._reading, self._clips, self._marked)


class SpokenVoice:
    """A voice that reads, for one call."""

    def __init__(self, engine: TtsEngine, reading: Reading, clips: Mapping[str, Clip], verbatim: tuple[str, ...] = ()) -> None:
        self.sample_rate_hz = engine.sample_rate_hz
        self._engine = engine
        self._reading = reading
        self._clips = clips
        self._verbatim = dict.fromkeys(verbatim)

    def take_marks(self, text: str) -> str:
        """Remember what is marked `<verbatim>` in the text; the text without the marks."""
        for found in marked(text):
            self._verbatim.pop(found, None)
            self._verbatim[found] = None
        while len(self._verbatim) > MOST_VERBATIM:
            del self._verbatim[next(iter(self._verbatim))]
        return unmarked(text)

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        """See `TtsEngine.synthesise`: `text` and the words are as written."""
        clip = self._clips.get(" ".join(text.split()))
        if clip is not None:
            yield SpeechChunk(clip.pcm, clip.words)
            return
        spoken = self._reading.spoken(text, self._verbatim)
        written = WrittenWords(spoken)
        async with aclosing(self._engine.synthesise(spoken.said)) as chunks:
            async for chunk in chunks:
                yield SpeechChunk(chunk.pcm, written.of(chunk.words))

    async def close(self) -> None:
        """The voice behind it is shared: its owner closes it."""


class WrittenWords:
    """Turns the spoken words of a clause, as they come, into its written words. A written word is told with the last of its
    spoken words: before that nobody can have heard it to its end."""

    def __init__(self, spoken: SpokenText) -> None:
        self._pieces = list(reversed(spoken.pieces))
        self._heard: list[SpokenWord] = []

    def of(self, words: tuple[SpokenWord, ...]) -> tuple[SpokenWord, ...]:
        """The written words that are complete with these."""
        written: list[SpokenWord] = []
        for word in words:
            self._heard.append(word)
            if self._pieces and len(self._heard) == len(self._pieces[-1].said.split()):
                written += _shared_out(self._pieces.pop(), self._heard)
                self._heard = []
        return tuple(written)


def _shared_out(piece: Piece, said: list[SpokenWord]) -> list[SpokenWord]:
    """The written words of a piece, with the times of their share of its spoken words."""
    count = len(piece.written)
    bounds = [round(index * len(said) / count) for index in range(count + 1)]
    words = []
    for index, word in enumerate(piece.written):
        first, last = bounds[index], bounds[index + 1]
        start_ms = said[first].start_ms if first < len(said) else said[-1].end_ms
        end_ms = said[last - 1].end_ms if last > first else start_ms
        words.append(SpokenWord(word, start_ms, end_ms))
    return words
