"""The engines behind the service: one request of the protocol becomes one use of an engine. Decodes that wait at the same
time are batched by the recogniser's own queue; a clause is spoken by the copy of the voice that has the least to do."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from voiceagent.audio.format import HEARD_HZ
from voiceagent.errors import EngineError
from voiceagent.inference.wire import InferRequest, InferResponse, ModelMetadata
from voiceagent.stt import decode_messages
from voiceagent.stt.decode_messages import DecodeRequest, DescribedRecogniser
from voiceagent.stt.engine import DoubtsFinals, ExpectsValues, KnowsVocabulary, SttEngine
from voiceagent.stt.hypothesis import Hypothesis
from voiceagent.stt.vocabulary import Vocabulary
from voiceagent.tts import speech_messages
from voiceagent.tts.engine import TtsEngine, reads_ipa

MAX_VOCABULARIES = 64
"""Vocabularies that are kept made: windows with the same one may share a decode."""


class HostedModel(Protocol):
    """A model of the service."""

    name: str
    streams: bool
    """True if it answers in parts."""

    def metadata(self) -> ModelMetadata:
        """Its description."""
        ...

    def infer(self, request: InferRequest) -> AsyncGenerator[InferResponse, None]:
        """Its answers to a request: one, unless it answers in parts. Raises EngineError, and ValueError for a request that is
        none for it."""
        ...

    async def close(self) -> None:
        """Free the engines."""
        ...


class HostedRecogniser(HostedModel):
    """A recogniser as a model of the service."""

    streams = False

    def __init__(self, name: str, engine: SttEngine, language: str, languages: Sequence[str] = ()) -> None:
        """`language` is what the recogniser is set to; `languages` those among which `auto` chooses."""
        self.name = name
        self._engine = engine
        self._described = DescribedRecogniser(engine.max_audio_s, engine.stream, language, tuple(languages))
        self._vocabularies: OrderedDict[str, Vocabulary] = OrderedDict()

    def metadata(self) -> ModelMetadata:
        """See `HostedModel`."""
        return self._described.metadata(self.name)

    async def infer(self, request: InferRequest) -> AsyncGenerator[InferResponse, None]:
        """See `HostedModel`."""
        asked = DecodeRequest.of(request)
        engine = await self._engine_for(asked)
        if isinstance(engine, DoubtsFinals):
            heard = await engine.decode_once(
                asked.audio,
                prompt=asked.prompt,
                word_times=asked.word_times,
                final=asked.final,
                language=asked.language,
                urgent=asked.urgent,
                thorough=asked.thorough,
            )
            doubted = asked.final and not asked.thorough and engine.doubts(heard, len(asked.audio) / HEARD_HZ)
        else:
            heard, doubted = await _transcribed(engine, asked), False
        yield decode_messages.answer(self.name, heard, doubted=doubted)

    async def _engine_for(self, asked: DecodeRequest) -> SttEngine:
        """The recogniser, told of what may be said."""
        engine = self._engine
        if asked.vocabulary and isinstance(engine, KnowsVocabulary):
            engine = engine.knowing(await self._vocabulary(asked.vocabulary))
        if asked.expected and isinstance(engine, ExpectsValues):
            engine = engine.expecting(asked.expected)
        return engine

    async def _vocabulary(self, text: str) -> Vocabulary:
        made = self._vocabularies.pop(text, None)
        if made is None:
            read = await asyncio.to_thread(decode_messages.read_vocabulary, text)
            made = self._vocabularies.pop(text, read)  # another request may have made it meanwhile
        self._vocabularies[text] = made
        while len(self._vocabularies) > MAX_VOCABULARIES:
            self._vocabularies.popitem(last=False)
        return made

    async def close(self) -> None:
        """See `HostedModel`."""
        await self._engine.close()


async def _transcribed(engine: SttEngine, asked: DecodeRequest) -> Hypothesis:
    """A decode of a recogniser that has no second decode of its own."""
    return await engine.transcribe(
        asked.audio,
        prompt=asked.prompt,
        word_times=asked.word_times,
        final=asked.final,
        language=asked.language,
        urgent=asked.urgent,
    )


class HostedVoice(HostedModel):
    """One or several copies of a voice as a model of the service. A copy speaks one chunk at a time: no voice takes batches."""

    streams = True

    def __init__(self, name: str, voices: Sequence[TtsEngine]) -> None:
        self.name = name
        self._voices = tuple(voices)
        self._open = [0] * len(self._voices)
        """The clauses that each copy speaks."""

    def metadata(self) -> ModelMetadata:
        """See `HostedModel`."""
        first = self._voices[0]
        return speech_messages.metadata(self.name, first.sample_rate_hz, reads_ipa=reads_ipa(first))

    async def infer(self, request: InferRequest) -> AsyncGenerator[InferResponse, None]:
        """See `HostedModel`."""
        text = speech_messages.read_request(request)
        at = min(range(len(self._open)), key=self._open.__getitem__)
        self._open[at] += 1
        try:
            async with aclosing(self._voices[at].synthesise(text)) as chunks:
                async for chunk in chunks:
                    yield speech_messages.answer(self.name, request.id, chunk)
        finally:
            self._open[at] -= 1

    async def close(self) -> None:
        """See `HostedModel`."""
        for voice in self._voices:
            await voice.close()


def require_models(models: Sequence[HostedModel]) -> dict[str, HostedModel]:
    """The models by their names. Raises EngineError for two of one name."""
    named = {model.name: model for model in models}
    if len(named) != len(models):
        raise EngineError("two models of the service have one name")
    return named
