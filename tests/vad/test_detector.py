"""The detector on real synthesised speech, noise and silence: when it hears, how exactly, and what it costs."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from models.train.telephone import telephone_speech
from tests.speech import frames, noise, said, silence, tone
from voiceagent.audio import g711
from voiceagent.telephone.codec import PhoneDecoder
from voiceagent.telephone.messages import AudioFormat
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset, SpeechProgress

SENTENCES = [
    ("What time is it in Paris?", "en-us"),
    ("Stop.", "en-gb-x-rp"),
    ("Book a table for four on Friday at seven thirty.", "en-us+f3"),
    ("Sorry, I meant tomorrow.", "en-gb-x-rp+m3"),
    ("Five two eight one.", "en-us+f2"),
]


def hear(
    *parts: NDArray[np.int16], detector: SpeechDetector | None = None, late_ms: float = 0.0
) -> tuple[list[tuple[float, SpeechOnset]], SpeechProgress | None]:
    """Onsets with the time at which each came, and the last progress; time counts from the first sample."""
    detector = detector or SpeechDetector()
    onsets: list[tuple[float, SpeechOnset]] = []
    progress = None
    for index, frame in enumerate(frames(*parts)):
        at_ms = (index + 1) * 20.0
        progress = detector.feed(frame, at_ms + late_ms)
        if isinstance(progress, SpeechOnset):
            onsets.append((at_ms, progress))
    return onsets, progress


@pytest.mark.parametrize("background", [0.0, 0.0003, 0.002])
@pytest.mark.parametrize(("text", "voice"), SENTENCES)
def test_speech_is_found_where_it_is(text: str, voice: str, background: float) -> None:
    speech = said(text, voice)
    parts = np.concatenate([silence(900), speech, silence(1000)])
    heard = parts + noise(len(parts) / 16, background)
    onsets, last = hear(heard)
    assert len(onsets) == 1
    at_ms, onset = onsets[0]
    assert abs(onset.onset_ms - 900) <= 60
    assert at_ms - 900 <= 160
    assert last is not None
    end_ms = 900 + len(speech) / 16
    assert abs(last.last_voiced_ms - end_ms) <= 80
    assert last.silence_ms == pytest.approx(len(parts) // 320 * 20 - last.last_voiced_ms, abs=21)
    assert last.voiced_ms <= len(speech) / 16 + 60


def test_onsets_are_confirmed_soon_enough_for_a_barge_in() -> None:
    waits = sorted(
        hear(silence(start_ms), said(text, voice), silence(300))[0][0][0] - start_ms
        for text, voice in SENTENCES
        for start_ms in (700, 707, 713, 719, 726)
    )
    assert statistics.median(waits) <= 100
    assert waits[-1] <= 180


def by_telephone(pcm: NDArray[np.int16]) -> NDArray[np.int16]:
    """As it arrives in a call: 300 to 3,400 Hz, µ-law at 8 kHz, and up again."""
    sent, line = telephone_speech(pcm, 16_000), PhoneDecoder(AudioFormat(), 16_000)
    return np.concatenate([line.decode(g711.encode(piece)) for piece in np.array_split(sent, len(sent) // 160)])


def test_speech_by_telephone_is_heard_nearly_as_soon() -> None:
    """Silero finds these voices up to 1.1 s late if nothing stands above 3.4 kHz."""
    voices = [f"en-us+{name}" for name in ("Diogo", "Gene", "Jacky", "Nguyen", "anika", "quincy")]
    texts = ("What time is it in Paris?", "Can you help me?", "No, wait a moment.", "Change my table.")
    found = [hear(silence(700), by_telephone(said(text, voice)), silence(300))[0] for text in texts for voice in voices]
    assert all(found)
    waits = sorted(onsets[0][0] - 700 for onsets in found)
    assert statistics.median(waits) <= 100, waits
    assert waits[-1] <= 180, waits


def test_the_onset_carries_the_audio_from_before_it() -> None:
    speech = said("What time is it?")
    (at_ms, onset), *_ = hear(silence(900), speech, silence(200))[0]
    span_ms = len(onset.audio) / 16
    assert at_ms - span_ms <= onset.onset_ms - 200
    assert at_ms - span_ms >= onset.onset_ms - 240
    whole = np.concatenate(frames(silence(900), speech))
    end = int(at_ms * 16)
    assert np.array_equal(onset.audio, whole[end - len(onset.audio) : end])


def test_times_follow_the_clock_of_the_frames() -> None:
    early = hear(silence(500), said("Stop."), silence(500))[1]
    late = hear(silence(500), said("Stop."), silence(500), late_ms=10_000)[1]
    assert early is not None
    assert late is not None
    assert late.last_voiced_ms == pytest.approx(early.last_voiced_ms + 10_000)
    assert late.silence_ms == early.silence_ms


def bursts() -> NDArray[np.int16]:
    """Knocks: 40 ms of decaying noise twice a second."""
    knock = noise(40, 0.3) * np.exp(-np.arange(640) / 120)
    return np.concatenate([np.concatenate([silence(460), knock.astype(np.int16)]) for _ in range(10)])


@pytest.mark.parametrize(
    "sound",
    [
        silence(5000), noise(5000, 0.001), noise(5000, 0.05), tone(3000, 440), tone(3000, 1000), bursts(),
        tone(3000, 50, 0.1),
    ],
    ids=["silence", "hiss", "loud noise", "440 Hz", "1 kHz", "knocks", "hum"],
)  # fmt: skip
def test_what_is_no_speech_starts_nothing(sound: NDArray[np.int16]) -> None:
    onsets, _ = hear(sound)
    assert onsets == []


def test_silence_costs_no_silero() -> None:
    detector = SpeechDetector()
    hear(silence(10_000), detector=detector)
    assert detector.silero_windows == 0


def test_after_the_end_the_next_speech_is_a_new_onset() -> None:
    detector = SpeechDetector()
    first, _ = hear(silence(500), said("Hello there."), silence(600), detector=detector)
    assert detector.speaking
    detector.end()
    assert not detector.speaking
    assert hear(silence(400), detector=detector)[0] == []
    second, _ = hear(said("What time is it?"), silence(300), detector=detector)
    assert len(first) == len(second) == 1


def test_speech_soon_after_the_end_does_not_carry_the_words_before_it_again() -> None:
    detector = SpeechDetector(DetectorOptions(preroll_ms=400.0))
    word = said("Wait.", "en-us")
    _, last = hear(silence(900), word, silence(160), detector=detector)
    assert last is not None
    detector.end()
    rest = frames(silence(40), said("What time is it in Paris?", "en-gb-x-rp"))
    onset = next(found for frame in rest if isinstance(found := detector.feed(frame, 0.0), SpeechOnset))
    since_the_word = onset.audio[: 8 * 320]
    assert np.abs(since_the_word[320:]).max() < np.abs(word).max() / 20
    assert len(onset.audio) <= 600 * 16


def test_speech_soon_after_an_utterance_without_words_carries_its_audio() -> None:
    """Silero can take the beginning of a soft word for a blip, and hear speech again 300 ms later."""
    blip, gap = said("What", "en-gb-x-rp"), silence(60)
    detector = SpeechDetector(DetectorOptions(preroll_ms=400.0))
    _, last = hear(silence(900), blip, gap, detector=detector)
    assert last is not None
    detector.end(has_words=False)
    rest = frames(said("time is it in Paris?", "en-gb-x-rp"))
    onset = next(found for frame in rest if isinstance(found := detector.feed(frame, 0.0), SpeechOnset))
    end_of_blip = frames(silence(900), blip, gap)[-4]
    assert any(np.array_equal(onset.audio[at : at + 320], end_of_blip) for at in range(0, len(onset.audio), 320))
    assert len(onset.audio) >= 400 * 16


def test_a_pause_inside_the_utterance_is_silence_and_then_speech_again() -> None:
    detector = SpeechDetector()
    _, pause = hear(silence(500), said("Book a table"), silence(400), detector=detector)
    assert pause is not None
    assert pause.silence_ms == pytest.approx(400, abs=80)
    onsets, speech = hear(said("for four people"), detector=detector)
    assert onsets == []
    assert speech is not None
    assert speech.silence_ms <= 100
    assert speech.voiced_ms > pause.voiced_ms


def test_a_longer_confirmation_waits_for_more_speech_unless_it_is_sure() -> None:
    def wait(confirm_ms: float) -> float:
        detector = SpeechDetector(DetectorOptions(confirm_ms=confirm_ms, sure=2.0))
        return hear(silence(600), said("What time is it in Paris?"), detector=detector)[0][0][0]

    assert wait(160) >= wait(64) + 60
    assert hear(silence(600), said("What time is it in Paris?"))[0][0][0] <= wait(64)


def test_a_frame_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected \(320,\), 20 ms at 16000 Hz"):
        SpeechDetector().feed(np.zeros(160, np.int16), 20.0)


def test_a_frame_of_speech_takes_well_under_a_millisecond() -> None:
    detector = SpeechDetector()
    heard = frames(silence(200), *[said(text, voice) for text, voice in SENTENCES])
    began = time.thread_time()
    for index, frame in enumerate(heard):
        detector.feed(frame, index * 20.0)
    assert (time.thread_time() - began) * 1000 / len(heard) < 1.0


def test_an_onset_carries_what_the_recogniser_is_to_hear() -> None:
    detector, speech = SpeechDetector(), frames(silence(400), said("Good morning."))
    heard = [np.full(320, number, np.int16) for number in range(len(speech))]
    found = [detector.feed(frame, 20.0 * at, heard[at]) for at, frame in enumerate(speech)]
    number, onset = next((at, progress) for at, progress in enumerate(found) if isinstance(progress, SpeechOnset))
    assert np.array_equal(onset.audio, np.concatenate(heard[: number + 1])[-len(onset.audio) :])
