"""Piper voices (piper-tts, GPL-3.0: a plugin, and the only module that imports it). A clause becomes chunks of its sentences. The
first chunk of each sentence is small. The times of the words come from the voice's own phoneme durations."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import onnxruntime
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.conversation.events import SpokenWord
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.json_types import JsonObject
from voiceagent.settings_file import options_of
from voiceagent.text_normalization.reading import IPA_BEGIN, IPA_END
from voiceagent.tts.engine import SpeechChunk, TtsEngine
from voiceagent.tts.espeak import EspeakBridge
from voiceagent.tts.voice import Inputs, load_voice
from voiceagent.tts.words import ClausePlan, groups_of, phoneme_ends, places_of, sounds

LOUD_PART = 0.99
CREST = 2.0
"""The height of the peaks of speech above the level that `LOUD_PART` of its samples stay below: 2 to 2.8, measured."""
MOST_GAIN = 100.0
KNEE_AT_MOST = 0.9


@dataclass(frozen=True, slots=True)
class Loudness:
    """Brings a voice's ordinary peaks to `peak`, as a part of full scale, by one `gain`, which is set when the voice is loaded.
    Louder moments are compressed, never clipped. No chunk or sentence is scaled by its own peak, so chunks join, and a reply does
    not change its loudness between sentences."""

    gain: float
    peak: float

    @classmethod
    def of(cls, sample: NDArray[np.float32], peak: float) -> Loudness:
        """Measured on a few spoken words, shape (samples,). Silence is not amplified."""
        level = float(np.quantile(np.abs(sample), LOUD_PART)) * CREST if len(sample) else 0.0
        return cls(min(peak / level, MOST_GAIN) if level > 0 else 0.0, peak)

    def pcm(self, audio: NDArray[np.float32]) -> NDArray[np.int16]:
        """Audio of the voice as int16, sample by sample, same shape."""
        scaled = audio * np.float32(self.gain)
        knee = min(self.peak, KNEE_AT_MOST)
        over = np.abs(scaled) > knee
        if over.any():
            excess = (np.abs(scaled[over]) - knee) / (1 - knee)
            scaled[over] = np.sign(scaled[over]) * (knee + (1 - knee) * np.tanh(excess))
        pcm: NDArray[np.int16] = (scaled * 32767).astype(np.int16)
        return pcm


log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_CHARACTERS = 2000
MAX_WAITING = 64
PROBE = "1 2 3 4 5."
"""Spoken when a voice is loaded, in whatever language it has, to test it, to warm it up and to measure its loudness."""


class PiperOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `tts`. None: as the voice's JSON says."""

    length_scale: float | None = None
    """Above 1 is slower."""
    noise_scale: float | None = None
    noise_w_scale: float | None = None
    speaker_id: int | None = None
    volume: float = 0.8
    """The level of ordinary peaks, as a part of full scale."""
    threads: int = 1


class PiperEngine(TtsEngine):
    """A Piper voice shared by all calls. One worker thread: espeak-ng, which finds the phonemes, keeps global state."""

    reads_ipa = True

    def __init__(self, path: Path, options: PiperOptions | None = None) -> None:
        """Load a folder that holds one `.onnx` and its `.onnx.json`, or the `.onnx` itself, and speak a few words to see that it
        works. Raises ModelError, ConfigError."""
        from piper import PiperVoice  # GPL-3.0 and slow to import: only where a Piper voice is used
        from piper.config import PiperConfig

        self.options = options or PiperOptions()
        model = _model_file(path)
        config = _config(model)
        try:
            _stop_leaks()
            self._piper = PiperVoice(session=None, config=PiperConfig.from_dict(config))
            self._check_speaker(model)
            self.sample_rate_hz = int(config["audio"]["sample_rate"])
            self._sounds_alone = functools.lru_cache(maxsize=8192)(self._count_sounds)
            probe = self._inputs([phoneme for sentence in self._phonemes(PROBE) for phoneme in sentence])
            self._voice = load_voice(model, config, _session_options(self.options.threads), probe)
            spoken = np.concatenate(list(self._voice.begin(probe).chunks()))
            self._loudness = Loudness.of(spoken, self.options.volume)
        except ConfigError:
            raise
        except Exception as error:  # onnxruntime, piper and json share no base
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(
                f"{model}: cannot be loaded as a Piper voice ({line}); check it with: voiceagent models verify"
            ) from error
        if not self._voice.aligned:
            log.warning("%s tells no phoneme times: word times are estimates", model)
        self._waiting = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="piper")

    def _check_speaker(self, model: Path) -> None:
        speakers, chosen = self._piper.config.num_speakers, self.options.speaker_id
        if chosen is not None and not 0 <= chosen < speakers:
            known = f"0 to {speakers - 1}" if speakers > 1 else "0: it has one speaker"
            raise ConfigError(f"tts engine piper: speaker_id is {chosen}; {model.name} expects {known}")

    @override
    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        if len(text) > MAX_CHARACTERS:
            raise EngineError(f"a clause of {len(text)} characters to speak: at most {MAX_CHARACTERS}")
        speech = self._speech(text)  # each step runs on the worker: calls take turns by the chunk
        while (chunk := await self._run(lambda: next(speech, None))) is not None:
            yield chunk

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            problem = f"speech synthesis is overloaded: {MAX_WAITING} clauses wait; lower the number of calls"
            raise EngineError(problem, "overloaded")
        self._waiting += 1
        try:
            return await asyncio.wrap_future(self._worker.submit(work))
        except EngineError:
            raise
        except Exception as error:
            raise EngineError(f"speech synthesis failed: {type(error).__name__}: {error}") from error
        finally:
            self._waiting -= 1

    @override
    async def close(self) -> None:
        await asyncio.to_thread(self._worker.shutdown, wait=True, cancel_futures=True)

    def _phonemes(self, text: str) -> list[list[str]]:
        """Phonemes by sentence. Piper marks phonemes in the text by `[[ ]]`; a language model's text must not be read as such."""
        text = text.replace("[[", "[ [").replace("]]", "] ]").replace(IPA_BEGIN, "[[").replace(IPA_END, "]]")
        sentences: list[list[str]] = self._piper.phonemize(text)
        return [sentence for sentence in sentences if sounds(sentence)]

    def _count_sounds(self, word: str) -> int:
        return sum(sounds(sentence) for sentence in self._phonemes(word))

    def _inputs(self, phonemes: Sequence[str]) -> Inputs:
        """The inputs of the voice's model; an option that is not set comes from the voice's configuration."""
        config, options = self._piper.config, self.options
        ids = self._piper.phonemes_to_ids(list(phonemes))
        scales = (
            config.noise_scale if options.noise_scale is None else options.noise_scale,
            config.length_scale if options.length_scale is None else options.length_scale,
            config.noise_w_scale if options.noise_w_scale is None else options.noise_w_scale,
        )
        inputs: dict[str, NDArray[np.generic]] = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array(scales, np.float32),
        }
        if config.num_speakers > 1:
            speaker_id = getattr(config, "default_speaker_id", 0) if options.speaker_id is None else options.speaker_id
            inputs["sid"] = np.array([speaker_id], np.int64)
        return inputs

    def _plan(self, text: str) -> ClausePlan:
        words = text.split()
        sentences = self._phonemes(" ".join(words)) if words else []
        groups = groups_of(sentences)
        if len(groups) == len(words):
            lengths = [group.length for group in groups]
        else:
            lengths = [self._sounds_alone(word) for word in words]
        places = places_of(lengths, groups) if groups else []
        return ClausePlan(tuple(words), tuple(map(tuple, sentences)), tuple(groups), tuple(places))

    def _speech(self, text: str) -> Iterator[SpeechChunk]:
        plan = self._plan(text)
        if plan.words and not plan.sentences:
            yield SpeechChunk(np.zeros(0, np.int16), tuple(SpokenWord(word, 0.0, 0.0) for word in plan.words))
        samples = 0
        for number, phonemes in enumerate(plan.sentences):
            inputs = self._inputs(phonemes)
            sentence = self._voice.begin(inputs)
            id_map, ids = self._piper.config.phoneme_id_map, inputs["input"].size
            ends = phoneme_ends(phonemes, id_map, sentence.id_samples, ids, sentence.samples)
            words = deque(plan.words_of(number, (ends + samples) * 1000 / self.sample_rate_hz))
            end = samples + sentence.samples
            for audio in sentence.chunks():
                samples += len(audio)
                until_ms = samples * 1000 / self.sample_rate_hz
                begun: list[SpokenWord] = []
                while words and (samples == end or words[0].start_ms < until_ms):
                    begun.append(words.popleft())
                yield SpeechChunk(self._loudness.pcm(audio), tuple(begun))


def _stop_leaks() -> None:
    """Have piper's phonemizer use `EspeakBridge`, where the bridge's library exports what that needs."""
    import piper
    from piper import espeakbridge

    if not isinstance(espeakbridge, EspeakBridge):
        try:
            setattr(piper, "espeakbridge", EspeakBridge(espeakbridge, espeakbridge.__file__))  # noqa: B010 - it has no types
        except (OSError, AttributeError) as error:
            log.warning("the voice takes 2 kB more of memory with each sentence: espeak-ng cannot be called (%s)", error)


def _model_file(path: Path) -> Path:
    if path.suffix == ".onnx":
        if not path.is_file():
            raise ModelError(f"{path}: no such Piper voice")
        return path
    found = sorted(path.glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(f"{path}: holds {len(found)} .onnx files, expected one Piper voice")
    return found[0]


def _config(model: Path) -> JsonObject:
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


def _session_options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it would keep a plan for each length of a sentence that was ever spoken
    options.log_severity_level = 3
    return options


def create(path: Path | None, options: Mapping[str, object]) -> PiperEngine:
    """The plugin `piper` of `voiceagent.tts`: `path` is a folder with one voice. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("tts engine piper: needs a model; name one of models/registry.yaml")
    return PiperEngine(path, options_of(options, PiperOptions, "tts engine piper"))
