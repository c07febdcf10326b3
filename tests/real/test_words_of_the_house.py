"""Words of a house on published models: tiny.en hears them from a published voice only where it is told of them, and writes
people's speech without them as before."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from bench.stt.everyday import Sentence, by_piper
from bench.stt.speech import RATE_HZ
from tests.people.people import recordings
from tests.real.models import published
from voiceagent.models.registry import profile
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.stt.vocabulary import Vocabulary, VocabularyWord
from voiceagent.stt.whisper import WhisperEngine, create

WORDS = ("Menzies Court", "Jardiance", "Papadimitriou", "Kosciuszko Square")
SENTENCES = ("How do I get to Menzies Court?", "How much is Jardiance at the moment?", "I am calling about Doctor Papadimitriou.")
FEW = 12


@pytest.fixture
async def engine() -> AsyncIterator[WhisperEngine]:
    engine = create(published("whisper-tiny.en"), profile("starter").stt.options)
    yield engine
    await engine.close()


async def test_words_of_the_house_are_heard_where_the_recogniser_is_told_of_them(engine: WhisperEngine) -> None:
    knowing = engine.knowing(Vocabulary([VocabularyWord(word) for word in WORDS]))
    spoken = await by_piper(published("piper-joe"), [Sentence(text, "") for text in SENTENCES], (1.0,))
    for each, word in zip(spoken, WORDS, strict=False):
        finals = []
        for recogniser in (engine, knowing):
            transcriber = UtteranceTranscriber(recogniser)
            transcriber.begin(1, np.pad(each.audio, RATE_HZ // 5))
            partial = await transcriber.partial()
            final = await transcriber.final()
            assert partial is not None
            assert final is not None
            finals.append((word in f"{partial.stable} {partial.unstable}", word in final.text))
            await transcriber.close()
        assert not finals[0][1], word
        assert finals[1] == (True, True), word


async def test_people_who_say_none_of_the_words_are_heard_as_before(engine: WhisperEngine) -> None:
    knowing = engine.knowing(Vocabulary([VocabularyWord(word) for word in WORDS]))
    spoken = [each for each in recordings("utterances") if each.language == "en" and each.text_is_certain][:FEW]
    for each in spoken:
        audio = each.audio().astype(np.float32) / np.float32(32768)
        assert (await knowing.transcribe(audio, final=True)).text == (await engine.transcribe(audio, final=True)).text
