"""Puts text normalization around any speech synthesiser. It turns a written clause into what is said, and the spoken words back
into the written ones. It is a `TtsEngine` itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from voiceagent.conversation.events import SpokenWord
from voiceagent.text_normalization.formulas import as_written, in_english
from voiceagent.text_normalization.prose import Prose
from voiceagent.text_normalization.reading import Reading, ReadPiece, SpokenText, marked, unmarked
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tts.clips import Clip, load_clips
from voiceagent.tts.engine import SpeechChunk, TtsEngine, reads_ipa
from voiceagent.turn_taking.languages import language

MOST_VERBATIM = 64
"""The number of strings to be said exactly that a call remembers; the oldest is forgotten."""


class AgentSpeech:
    """Makes the prose and the voices of an agent. One for all calls."""

    def __init__(
        self,
        settings: SpeechSettings,
        phrases: Mapping[str, str],
        base_dir: str,
        engine: TtsEngine,
        language: str = "en",
        voices: Mapping[str, TtsEngine] | None = None,
        respelled: Mapping[str, str] | None = None,
    ) -> None:
        """`phrases` are the agent's, by name. Clips are read from `base_dir`. `voices` are voices for other languages, by code.
        `respelled` are words by others that are read like them. Raises ConfigError."""
        self._engine, self._voices = engine, dict(voices or {})
        self._settings, self._language, self._respelled = settings, language, respelled
        self._readings: dict[tuple[str, bool], Reading] = {}
        """The readings by language, and by the voice's ability to read the lexicon's pronunciations."""
        plain = {name: unmarked(text) for name, text in phrases.items()}
        self._clips = load_clips(settings.clips, plain, base_dir, engine.sample_rate_hz, language)
        self._marked = tuple(found for text in phrases.values() for found in marked(text))
        for code in (language, *self._voices):
            self.voice(code)

    def prose(self, code: str = "") -> Prose:
        """Makes a generation's text speakable as it streams in, in the language of that code; empty: the agent's."""
        code = code or self._language
        instead = language(code).sayings.code if self._settings.code is None else self._settings.code
        return Prose(instead, in_english if code == "en" and self._settings.written_forms else as_written)

    def voice(self, code: str = "") -> SpokenVoice:
        """A voice for a call, in the language of that code; empty: the agent's."""
        code = code or self._language
        engine = self._voices.get(code, self._engine)
        clips = self._clips if engine is self._engine else {}
        return SpokenVoice(engine, self._reading(code, reads_ipa(engine)), clips, self._marked)

    def _reading(self, code: str, ipa: bool) -> Reading:
        """Each reading is made once, because a lexicon may be long."""
        if (code, ipa) not in self._readings:
            self._readings[code, ipa] = Reading(
                language=code,
                written_forms=self._settings.written_forms,
                day_first=self._settings.day_first,
                lexicon=self._settings.lexicon if ipa else {},
                respelled=self._respelled,
            )
        return self._readings[code, ipa]


class SpokenVoice:
    """A voice that reads, for one call."""

    def __init__(self, engine: TtsEngine, reading: Reading, clips: Mapping[str, Clip], verbatim: tuple[str, ...] = ()) -> None:
        self.sample_rate_hz = engine.sample_rate_hz
        self._engine = engine
        self._reading = reading
        self._clips = clips
        self._verbatim = dict.fromkeys(verbatim)

    def switch_to(self, other: SpokenVoice) -> None:
        """Go on in another language; the strings to be said exactly stay known."""
        self.sample_rate_hz = other.sample_rate_hz
        self._engine, self._reading, self._clips = other._engine, other._reading, other._clips

    def take_marks(self, text: str) -> str:
        """Remember what is marked `<verbatim>` in the text; returns the text without the marks."""
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
    """Turns the spoken words of a clause, as they come, into its written words. A written word is complete with the last of its
    spoken words: before that, nobody can have heard all of it."""

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


def _shared_out(piece: ReadPiece, said: list[SpokenWord]) -> list[SpokenWord]:
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
