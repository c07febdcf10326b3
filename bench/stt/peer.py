"""WhisperLiveKit on the same speech: its LocalAgreement processor on its faster-whisper backend, fed with the utterances' audio
in the steps in which its server hands it over, in virtual time. (Its other policy, SimulStreaming, needs PyTorch weights.)
Run by `bench.stt.peer_environment` with an interpreter that has WhisperLiveKit and nothing of ours: speech comes in a file,
results go to one.

The bundled model is not one of the published ones, so `load` sets what it needs, each time in the peer's favour: windows of ten
seconds in place of thirty (which makes the peer three times cheaper); no timestamp tokens, and no second pass over the end
of the audio, which faster-whisper makes without them; no suppressed tokens; no prompt, which costs this model the first word.
The rest is WhisperLiveKit's default."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import faster_whisper.transcribe
import numpy as np
from numpy.typing import NDArray
from whisperlivekit.local_agreement.online_asr import OnlineASRProcessor
from whisperlivekit.local_agreement.whisper_online import backend_factory

from bench.stt.decodes import Decode, LoggedExtractor, LoggedModel

RATE_HZ = 16_000
CHUNK_S = 0.04
"""WhisperLiveKit's `vac_chunk_size`."""
PREROLL_S = 0.3
"""Silence before the speech: ours begins so long before the onset."""
END_OF_SPEECH_S = 0.1
"""Silence after which the last decode begins; the same for us."""


def load(model: Path, log: list[Decode]) -> Any:
    """WhisperLiveKit's recogniser with its defaults, its decodes logged."""
    asr = backend_factory(
        backend="faster-whisper",
        lan="en",
        model_size=None,
        model_cache_dir=None,
        model_dir=str(model),
        model_path=None,
        lora_path=None,
        direct_english_translation=False,
        buffer_trimming="segment",
        buffer_trimming_sec=15.0,
        confidence_validation=False,
    )
    asr.transcribe_kargs.update(without_timestamps=True, suppress_tokens=[])
    whisper = asr.model
    whisper.transcribe = functools.partial(_without_prompt, whisper.transcribe)
    faster_whisper.transcribe.get_end = lambda segments: None
    pad = faster_whisper.transcribe.pad_or_trim
    faster_whisper.transcribe.pad_or_trim = functools.partial(pad, length=whisper.feature_extractor.nb_max_frames)
    whisper.model = LoggedModel(whisper.model, log)
    whisper.feature_extractor = LoggedExtractor(whisper.feature_extractor, log)
    return asr


def _without_prompt(transcribe: Callable[..., Any], audio: NDArray[np.float32], **options: Any) -> Any:
    return transcribe(audio, **{**options, "initial_prompt": None, "condition_on_previous_text": False})


def stream(asr: Any, log: list[Decode], audio: NDArray[np.int16], coalesce_s: float) -> dict[str, Any]:
    """One utterance. `coalesce_s` is WhisperLiveKit's `asr_coalesce_min_s`: new audio that a decode waits for."""
    online = OnlineASRProcessor(asr)
    log.clear()
    before, behind = (np.zeros(int(seconds * RATE_HZ), np.int16) for seconds in (PREROLL_S, END_OF_SPEECH_S))
    samples = np.concatenate([before, audio, behind]).astype(np.float32) / 32768
    step = int(CHUNK_S * RATE_HZ)
    committed, timeline = "", []
    busy_until_s, waiting, cpu_s = 0.0, 0, 0.0
    for at in range(0, len(samples), step):
        now_s = min(at + step, len(samples)) / RATE_HZ - PREROLL_S
        waiting += len(samples[at : at + step])
        last = at + step >= len(samples)
        if not last and (now_s < busy_until_s or waiting < coalesce_s * RATE_HZ):
            continue
        now_s = max(now_s, busy_until_s) if last else now_s
        log.append(Decode(now_s * 1000))
        cpu_began_s, began_s = time.process_time(), time.perf_counter()
        online.insert_audio_chunk(samples[at + len(samples[at : at + step]) - waiting : at + step])
        tokens, _ = online.process_iter()
        waiting = 0
        if last:
            tokens = [*tokens, *online.finish()[0]]
        unstable = online.get_buffer().text
        cpu_s += time.process_time() - cpu_began_s
        busy_until_s = now_s + time.perf_counter() - began_s
        committed += asr.sep.join(token.text for token in tokens)
        timeline.append((busy_until_s * 1000, committed.strip(), unstable.strip()))
    decodes = [asdict(decode) for decode in log]
    return {"audio_s": len(audio) / RATE_HZ, "text": committed.strip(), "timeline": timeline, "cpu_s": cpu_s, "decodes": decodes}


def main() -> None:
    """`python -m bench.stt.peer MODEL SPEECH.npz COALESCE_S RESULTS.json`."""
    model, speech, coalesce_s, results = sys.argv[1:]
    log: list[Decode] = [Decode(0.0)]
    asr = load(Path(model), log)
    with np.load(speech) as archive:
        utterances = [archive[name] for name in archive.files]
    stream(asr, log, utterances[0], float(coalesce_s))
    streamed = [stream(asr, log, audio, float(coalesce_s)) for audio in utterances]
    Path(results).write_text(json.dumps(streamed), encoding="utf-8")


if __name__ == "__main__":
    main()
