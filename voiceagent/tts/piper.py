"""Piper voices (piper-tts, GPL-3.0: a plugin, and the only module that imports it). A clause becomes one chunk per sentence,
each with the times of its words taken from the voice's own phoneme durations."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import onnxruntime
from numpy.typing import NDArray

from voiceagent.conversation.events import SpokenWord
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.words import Group, Place, groups_of, places_of, sounds

log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_CHARACTERS = 2000
MAX_WAITING = 64


class PiperOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `tts`. None: as the voice's JSON says."""

    length_scale: float | None = None
    """Above 1 is slower."""
    noise_scale: float | None = None
    noise_w_scale: float | None = None
    speaker_id: int | None = None
    volume: float = 0.8
    """Peak of a sentence, of full scale."""
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """A clause before it is spoken: its words, its phonemes by sentence, and which are which."""

    words: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]
    groups: tuple[Group, ...]
    places: tuple[Place, ...]


class PiperEngine:
    """A Piper voice shared by all calls. One worker thread: espeak-ng, which finds the phonemes, keeps global state."""

    def __init__(self, path: Path, options: PiperOptions | None = None) -> None:
        """Load a folder that holds one `.onnx` and its `.onnx.json`, or the `.onnx` itself, and speak a word to see that it
        works. Raises ModelError."""
        from piper import PiperVoice, SynthesisConfig  # GPL-3.0 and slow to import: only where a Piper voice is used
        from piper.config import PiperConfig

        self.options = options or PiperOptions()
        model = _model_file(path)
        config = _config(model)
        try:
            session, self.aligned = _session(model, self.options.threads)
            self._voice = PiperVoice(session=session, config=PiperConfig.from_dict(config))
            self._settings = SynthesisConfig(
                speaker_id=self.options.speaker_id,
                length_scale=self.options.length_scale,
                noise_scale=self.options.noise_scale,
                noise_w_scale=self.options.noise_w_scale,
            )
            self.sample_rate_hz = int(config["audio"]["sample_rate"])
            self._sounds_alone = functools.lru_cache(maxsize=8192)(self._count_sounds)
            self._speak(self._plan("Hello."), 0, 0.0)
        except Exception as error:  # onnxruntime, piper and json share no base
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(
                f"{model}: cannot be loaded as a Piper voice ({line}); check it with: voiceagent models verify"
            ) from error
        if not self.aligned:
            log.warning("%s tells no phoneme times: word times are estimates (pip install onnx to have them added)", model)
        self._waiting = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="piper")

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        """See `TtsEngine.synthesise`."""
        if len(text) > MAX_CHARACTERS:
            raise EngineError(f"a clause of {len(text)} characters to speak: at most {MAX_CHARACTERS}")
        plan = await self._run(lambda: self._plan(text))
        start_ms = 0.0
        for sentence in range(len(plan.sentences)):
            chunk = await self._run(functools.partial(self._speak, plan, sentence, start_ms))
            start_ms += len(chunk.pcm) * 1000 / self.sample_rate_hz
            yield chunk
        if plan.words and not plan.sentences:
            yield SpeechChunk(np.zeros(0, np.int16), tuple(SpokenWord(word, 0.0, 0.0) for word in plan.words))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            raise EngineError(f"speech synthesis is overloaded: {MAX_WAITING} clauses wait; lower the number of calls")
        self._waiting += 1
        try:
            return await asyncio.wrap_future(self._worker.submit(work))
        except EngineError:
            raise
        except Exception as error:
            raise EngineError(f"speech synthesis failed: {type(error).__name__}: {error}") from error
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """See `TtsEngine.close`."""
        await asyncio.to_thread(self._worker.shutdown, wait=True, cancel_futures=True)

    def _phonemes(self, text: str) -> list[list[str]]:
        """Phonemes by sentence; `[[` would make Piper read phonemes."""
        sentences: list[list[str]] = self._voice.phonemize(text.replace("[[", "[ [").replace("]]", "] ]"))
        return [sentence for sentence in sentences if sounds(sentence)]

    def _count_sounds(self, word: str) -> int:
        return sum(sounds(sentence) for sentence in self._phonemes(word))

    def _plan(self, text: str) -> Plan:
        words = text.split()
        sentences = self._phonemes(" ".join(words)) if words else []
        groups = groups_of(sentences)
        places = places_of([self._sounds_alone(word) for word in words], groups) if groups else []
        return Plan(tuple(words), tuple(map(tuple, sentences)), tuple(groups), tuple(places))

    def _speak(self, plan: Plan, sentence: int, start_ms: float) -> SpeechChunk:
        """Speak one sentence of the plan, which begins `start_ms` into the clause."""
        phonemes = list(plan.sentences[sentence])
        ids = self._voice.phonemes_to_ids(phonemes)
        result = self._voice.phoneme_ids_to_audio(ids, self._settings, include_alignments=True)
        audio, durations = result if isinstance(result, tuple) else (result, None)
        peak = float(np.abs(audio).max(initial=0.0))
        pcm = (audio.reshape(-1) * (self.options.volume * 32767 / peak if peak > 1e-6 else 0.0)).astype(np.int16)
        ends = self._ends(phonemes, ids, durations, len(pcm)) * (1000 / self.sample_rate_hz) + start_ms

        def time_ms(group: int, part: float) -> float:
            first, last = plan.groups[group].first, plan.groups[group].last
            return float(ends[first] + (ends[last + 1] - ends[first]) * part)

        words: list[SpokenWord] = []
        for word, (first, begins, last, stops) in zip(plan.words, plan.places, strict=True):
            if plan.groups[first].sentence == sentence:
                ends_here = plan.groups[last].sentence == sentence
                until_ms = time_ms(last, stops) if ends_here else float(ends[-1])
                words.append(SpokenWord(word, round(time_ms(first, begins), 1), round(until_ms, 1)))
        return SpeechChunk(pcm, tuple(words))

    def _ends(self, phonemes: Sequence[str], ids: Sequence[int], durations: Any, samples: int) -> NDArray[np.float64]:
        """Where each phoneme begins, in samples, and after the last where the audio ends, shape (phonemes + 1,)."""
        id_map = self._voice.config.phoneme_id_map
        pad = len(id_map.get("_", ()))
        counts = [len(id_map[phoneme]) + pad if phoneme in id_map else 0 for phoneme in phonemes]
        before = len(id_map.get("^", ())) + pad
        if durations is not None and len(durations) == len(ids) and before + sum(counts) <= len(ids):
            until = np.concatenate([[0], np.cumsum(durations)])
            return np.asarray(until[before + np.concatenate([[0], np.cumsum(counts)]).astype(int)], np.float64)
        weights = [1.0 if sounds(phoneme) else 0.5 if phoneme in " ,.?!;:" else 0.0 for phoneme in phonemes]
        return np.concatenate([[0.0], np.cumsum(weights)]) / max(1.0, sum(weights)) * samples


def _model_file(path: Path) -> Path:
    if path.suffix == ".onnx":
        if not path.is_file():
            raise ModelError(f"{path}: no such Piper voice")
        return path
    found = sorted(path.glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(f"{path}: holds {len(found)} .onnx files, expected one Piper voice")
    return found[0]


def _config(model: Path) -> dict[str, Any]:
    file = model.with_name(model.name + ".json")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror}); a Piper voice is an .onnx and its .onnx.json") from error
    except ValueError as error:
        raise ModelError(f"{file}: is not valid JSON ({error}); fetch the voice again") from error
    if not isinstance(config, dict) or not {"audio", "phoneme_id_map"} <= config.keys():
        raise ModelError(f"{file}: is not a Piper voice's configuration: expected audio and phoneme_id_map in it")
    return config


def _session(model: Path, threads: int) -> tuple[onnxruntime.InferenceSession, bool]:
    """The voice, and whether it tells phoneme durations. Voices that do not get an output for them where `onnx` is installed."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), sess_options=options, providers=["CPUExecutionProvider"])
    if len(session.get_outputs()) > 1:
        return session, True
    try:
        import onnx
        from piper.patch_voice_with_alignment import add_alignment_output

        patched = onnx.load(str(model))
        add_alignment_output(patched)
    except (ImportError, ValueError):
        return session, False
    data = patched.SerializeToString()
    return onnxruntime.InferenceSession(data, sess_options=options, providers=["CPUExecutionProvider"]), True


def create(path: Path | None, options: Mapping[str, Any]) -> PiperEngine:
    """The plugin `piper` of `voiceagent.tts`: `path` is a folder with one voice. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("tts engine piper: needs a model; name one of models/registry.yaml")
    try:
        return PiperEngine(path, msgspec.convert(dict(options), PiperOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"tts engine piper: {error}") from error
