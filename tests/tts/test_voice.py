"""A voice that reads, around the bundled Piper voice: the audio says one thing, the words tell what is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from tests.tts.test_clips import write
from voiceagent.conversation.events import SpokenWord
from voiceagent.errors import ConfigError
from voiceagent.resources import bundled_models_dir
from voiceagent.settings.agent import load_agent
from voiceagent.text_normalization.reading import ReadPiece, SpokenText
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tts.engine import SpeechChunk, TtsEngine
from voiceagent.tts.piper import PiperEngine
from voiceagent.tts.spoken_voice import MOST_VERBATIM, AgentSpeech, SpokenVoice, WrittenWords

LEXICON = {"xqzt": "həlˈoʊ"}


@pytest.fixture
async def engine() -> AsyncIterator[PiperEngine]:
    engine = PiperEngine(bundled_models_dir() / "voice")
    yield engine
    await engine.close()


def voice_of(engine: TtsEngine, phrases: dict[str, str] | None = None, **settings: object) -> SpokenVoice:
    return AgentSpeech(SpeechSettings(**settings), phrases or {}, ".", engine).voice()  # type: ignore[arg-type]  # fields of several types


async def speak(voice: TtsEngine, text: str) -> tuple[int, tuple[SpokenWord, ...]]:
    chunks: list[SpeechChunk] = [chunk async for chunk in voice.synthesise(text)]
    return sum(len(chunk.pcm) for chunk in chunks), tuple(word for chunk in chunks for word in chunk.words)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("That is $12.50 on Nov 21, 2026.", "That is twelve dollars fifty on November twenty-first, twenty twenty-six."),
        ("Your order AB-48271 is on its way.", "Your order eigh B, four eight two seven one is on its way."),
        ("Xqzt, how are you?", "Hello, how are you?"),
        ("Nothing to read. At all.", "Nothing to read. At all."),
    ],
)
async def test_the_audio_is_of_what_is_said_and_the_words_are_what_is_written(
    engine: PiperEngine, written: str, said: str
) -> None:
    samples, words = await speak(voice_of(engine, lexicon=LEXICON), written)
    expected, spoken = await speak(engine, said)
    assert samples == expected
    assert [word.text for word in words] == written.split()
    assert all(0 <= word.start_ms <= word.end_ms for word in words)
    assert (words[0].start_ms, words[-1].end_ms) == (spoken[0].start_ms, spoken[-1].end_ms)
    assert [word.end_ms for word in words] == sorted(word.end_ms for word in words)


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("de", "Am 3. Mai um 14.30 Uhr, z. B. für 12,50 € bei Ludwig XIV. zu Hause."),
        ("fr", "Le 1er mai à 14h30, p. ex. pour 1 234,50 € au 06 12 34 56 78, l'8."),
        ("es", "El 3 de mayo a las 3:30 p. m., p. ej. por 12,50 € en la pág. 4."),
        ("it", "L'8 marzo alle 14.30, ad es. per 12,50 € al n. 5, 1 ora."),
        ("nl", "Op 3 mei 2026 om 14.30 uur, d.w.z. voor € 12,50 bij dhr. Bakker."),
        ("pt", "Em 3 de maio às 14h30, p. ex. por R$ 12,50 no 3.º andar."),
    ],
)
async def test_in_each_language_the_words_are_what_is_written(engine: PiperEngine, code: str, written: str) -> None:
    voice = AgentSpeech(SpeechSettings(), {}, ".", engine, code).voice()
    _, words = await speak(voice, written)
    assert [word.text for word in words] == written.split()
    assert [word.end_ms for word in words] == sorted(word.end_ms for word in words)


async def test_what_a_tool_marks_is_said_exactly_from_then_on(engine: PiperEngine) -> None:
    voice = voice_of(engine, written_forms=False)
    assert voice.take_marks('{"code": "<verbatim>HELLO</verbatim>"}') == '{"code": "HELLO"}'
    samples, words = await speak(voice, "It is HELLO.")
    assert samples == (await speak(engine, "It is H E L L O."))[0]
    assert [word.text for word in words] == ["It", "is", "HELLO."]


async def test_a_call_remembers_so_many_marks_and_forgets_the_oldest(engine: PiperEngine) -> None:
    voice = voice_of(engine)
    for number in range(MOST_VERBATIM + 1):
        voice.take_marks(f"<verbatim>ABC{number}</verbatim>")
    assert len(voice._verbatim) == MOST_VERBATIM
    assert "ABC0" not in voice._verbatim


async def test_a_clip_is_played_instead_of_the_voice(engine: PiperEngine, tmp_path: Path) -> None:
    write(tmp_path / "bye.wav", rate_hz=engine.sample_rate_hz)
    settings = SpeechSettings(clips={"farewell": "bye.wav"})
    voice = AgentSpeech(settings, {"farewell": "Goodbye, <verbatim>Jo</verbatim>."}, str(tmp_path), engine).voice()
    (chunk,) = [chunk async for chunk in voice.synthesise("Goodbye, Jo.")]
    assert len(chunk.pcm) == pytest.approx(1.8 * 16_000)
    assert np.abs(chunk.pcm[:1000]).max() > 5000
    assert [word.text for word in chunk.words] == ["Goodbye,", "Jo."]


def test_a_written_word_is_told_with_the_last_of_its_spoken_words() -> None:
    words = WrittenWords(SpokenText((ReadPiece(("$12.50",), "twelve dollars fifty"), ReadPiece(("Nov", "3"), "November third"))))
    said = ["twelve", "dollars", "fifty", "November", "third"]
    times = [SpokenWord(word, at * 100.0, at * 100.0 + 100) for at, word in enumerate(said)]
    assert words.of(tuple(times[:2])) == ()
    assert words.of(tuple(times[2:4])) == (SpokenWord("$12.50", 0, 300),)
    assert words.of(tuple(times[4:])) == (SpokenWord("Nov", 300, 400), SpokenWord("3", 400, 500))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("speech: {lexicon: {Nguyen: ''}}", "'Nguyen' is ''; expected a word and its pronunciation"),
        ("speech: {lexicon: {Nguyen: '[[win]]'}}", "expected a word and its pronunciation in IPA"),
        ("speech: {language: tlh}", "language"),
        ("speech: {clip: {}}", "clip"),
    ],
)
def test_a_mistake_in_the_settings_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=told):
        load_agent(file)
