"""The voice detector on people and on rooms: speech that it misses, and noise that it takes for speech."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bench.harness import Figure, plain
from bench.stt.everyday import by_telephone
from bench.stt.speech import RATE_HZ, Spoken
from tests.people.people import Recording, recordings
from voiceagent.audio.format import HEARD_FRAME_SAMPLES
from voiceagent.vad.detector import SpeechDetector, SpeechOnset

LEAD_MS, END_MS, STEP_MS, FRAME_MS = 500.0, 700.0, 10, 20.0
"""Silence before the audio; the silence that ends an utterance; how finely speech is compared; the detector's frames."""


def detector_rows() -> Iterator[Figure]:
    """In a browser's and in a telephone's band."""
    speech = [*recordings("utterances"), *recordings("digits_cc_by_sa"), *recordings("turns")]
    rooms = recordings("rooms")
    for band in ("browser", "telephone"):
        missed_ms = spoken_ms = unheard = 0.0
        for each in speech:
            labelled, found = _labelled(each), _found(_in_band(each, band))
            found = np.pad(found, (0, max(0, len(labelled) - len(found))))[: len(labelled)]
            spoken_ms += STEP_MS * int(labelled.sum())
            missed_ms += STEP_MS * int((labelled & ~found).sum())
            unheard += not found.any()
        yield plain(f"detector, {band}: speech missed, of {spoken_ms / 1000:.0f} s", 100 * missed_ms / spoken_ms, "%", 2)
        yield plain(f"detector, {band}: recordings without any speech found, of {len(speech)}", unheard, "")
        heard = [_found(_in_band(each, band)) for each in rooms]
        total_s = sum(each.duration_s for each in rooms)
        taken = 100 * sum(each.sum() for each in heard) * STEP_MS / 1000 / total_s
        yield plain(f"detector, {band}: rooms taken for speech, of {total_s:.0f} s", taken, "%", 2)
        onsets = sum(int((np.diff(each.astype(int), prepend=0) > 0).sum()) for each in heard)
        yield plain(f"detector, {band}: utterances begun in rooms", onsets, "")


def _in_band(recording: Recording, band: str) -> NDArray[np.int16]:
    spoken = Spoken("", recording.audio(), ())
    return by_telephone([spoken])[0].audio if band == "telephone" else spoken.audio


def _labelled(recording: Recording) -> NDArray[np.bool_]:
    """Marks the speech, in steps of `STEP_MS`."""
    mask = np.zeros(int(recording.duration_s * 1000) // STEP_MS, bool)
    mask[int(recording.start_s * 1000) // STEP_MS : int(recording.end_s * 1000) // STEP_MS] = True
    for pause in recording.pauses:
        mask[int(pause.start_s * 1000) // STEP_MS : int(pause.end_s * 1000) // STEP_MS] = False
    return mask


def _found(audio: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Marks the utterances that the detector finds, from their onset to their last voiced sample."""
    lead = int(LEAD_MS * RATE_HZ / 1000)
    padded = np.pad(audio, (lead, lead))
    mask = np.zeros(len(padded) * 1000 // RATE_HZ // STEP_MS + 1, bool)
    detector, onset_ms = SpeechDetector(), 0.0
    for index, at in enumerate(range(0, len(padded) - HEARD_FRAME_SAMPLES + 1, HEARD_FRAME_SAMPLES)):
        progress = detector.feed(padded[at : at + HEARD_FRAME_SAMPLES], (index + 1) * FRAME_MS)
        if progress is None:
            continue
        onset_ms = progress.onset_ms if isinstance(progress, SpeechOnset) else onset_ms
        mask[int(onset_ms) // STEP_MS : int(progress.last_voiced_ms) // STEP_MS] = True
        if progress.silence_ms > END_MS:
            detector.end()
    return mask[int(LEAD_MS) // STEP_MS :]
