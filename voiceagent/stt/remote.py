"""A recogniser in another process: a client of `voiceagent models serve`, or of any server of the Open Inference Protocol whose
model has the tensors of `decode_messages.py`. Decodes of many callers are batched there."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.audio.format import HEARD_HZ
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.inference.address import ServerOptions
from voiceagent.inference.connection import ModelConnection, connection_to
from voiceagent.inference.wire import ModelMetadata
from voiceagent.settings_file import options_of
from voiceagent.stt.decode_messages import DecodeRequest, DescribedRecogniser, read_answer, vocabulary_text
from voiceagent.stt.engine import DROPPED, DecodeDropped, StreamOptions, SttEngine
from voiceagent.stt.hypothesis import Hypothesis
from voiceagent.stt.vocabulary import Vocabulary
from voiceagent.turn_taking.patience import NOTHING, ExpectedValue

ENGINE = "stt engine remote"


class RemoteRecogniserOptions(ServerOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of a profile's `stt`."""

    model: str = "stt"
    """The model's name there."""
    language: str = "en"
    """The language that the server must be set to. The agent's `language` sets it."""
    languages: tuple[str, ...] = ()
    """The languages among which `auto` chooses there. The agent's `languages` or `voices` set them."""
    max_audio_s: float | None = None
    """The longest audio of one decode; None: as the server tells. A server that tells nothing needs it."""
    stream: dict[str, object] = msgspec.field(default_factory=dict)
    """Changes of the stream options that the server tells."""


@dataclass(slots=True)
class _Counts:
    dropped_partials: int = 0


class RemoteRecogniser(SttEngine):
    """A recogniser that a server runs. It is the same for all calls: only the connection is here."""

    def __init__(self, connection: ModelConnection, model: str, described: DescribedRecogniser) -> None:
        self.max_audio_s = described.max_audio_s
        self.stream = described.stream
        self._connection = connection
        self._model = model
        self._counts = _Counts()
        self._expected = NOTHING
        self._vocabulary = ""

    @property
    @override
    def dropped_partials(self) -> int:
        return self._counts.dropped_partials

    @override
    async def transcribe(
        self,
        audio: NDArray[np.float32],
        *,
        prompt: str = "",
        word_times: bool = False,
        final: bool = False,
        language: str = "",
        urgent: bool = False,
        wanted: asyncio.Event | None = None,
    ) -> Hypothesis:
        duration_s = len(audio) / HEARD_HZ
        if duration_s > self.max_audio_s:
            raise EngineError(f"{duration_s:.1f} s of audio for one decode: at most {self.max_audio_s:g} s")
        request = DecodeRequest(
            audio, prompt, word_times, final, language, urgent, expected=self._expected, vocabulary=self._vocabulary
        )
        first, is_doubted = await self._decode(request)
        if not final or not is_doubted:
            return first
        if wanted is not None:
            await wanted.wait()
        try:
            second, _ = await self._decode(replace(request, thorough=True))
        except EngineError:  # of a failure, the next decode tells
            return first
        return max(first, second, key=lambda one: one.mean_log_probability)

    async def _decode(self, request: DecodeRequest) -> tuple[Hypothesis, bool]:
        """The words that were heard, and whether they are in doubt. A partial that gets no answer is sent once:
        a newer one is on its way. Raises EngineError."""
        try:
            answer = await self._connection.infer(request.message(self._model), may_repeat=request.final and not request.thorough)
            return read_answer(answer)
        except ValueError as error:
            raise self._connection.unreadable(error) from error
        except EngineError as error:
            if error.kind != DROPPED:
                raise
            self._counts.dropped_partials += not request.thorough
            raise DecodeDropped(str(error)) from error

    def expecting(self, value: ExpectedValue) -> RemoteRecogniser:
        """See `ExpectsValues`."""
        other = copy.copy(self)
        other._expected = value
        return other

    def knowing(self, vocabulary: Vocabulary) -> RemoteRecogniser:
        """See `KnowsVocabulary`."""
        other = copy.copy(self)
        other._vocabulary = _text_of(vocabulary)
        return other

    @override
    async def close(self) -> None:
        await self._connection.close()


_text_of = lru_cache(maxsize=64)(vocabulary_text)


def described(metadata: ModelMetadata, options: RemoteRecogniserOptions) -> DescribedRecogniser:
    """The server's description of its recogniser, with the options on top. Raises ConfigError, ModelError."""
    told = metadata.parameters
    try:
        stream = {**_object(told.get("stream", "{}")), **options.stream}
        found = DescribedRecogniser(
            options.max_audio_s or float(told.get("max_audio_s", 0.0)),
            msgspec.convert(stream, StreamOptions),
            str(told.get("language", options.language)),
            tuple(filter(None, str(told.get("languages", "")).split(","))),
        )
    except (ValueError, msgspec.ValidationError) as error:
        raise ModelError(f"{ENGINE}: the description of {metadata.name!r} at {options.url} cannot be used: {error}") from error
    if not 0 < found.max_audio_s <= 600:
        raise ConfigError(f"{ENGINE}: the server does not tell the longest audio of a decode; set `max_audio_s`, in seconds")
    if found.language != options.language or (options.languages and set(found.languages) - {""} != set(options.languages)):
        wanted = ", ".join((options.language, *options.languages))
        have = ", ".join((found.language, *found.languages))
        raise ConfigError(
            f"language is {wanted}; the recogniser at {options.url} is set to {have}: serve it with the same agent file, or "
            "change `language`"
        )
    return found


def _object(text: object) -> dict[str, object]:
    read = json.loads(str(text))
    if not isinstance(read, dict):
        raise ValueError("its stream options are no object")
    return read


def create(path: Path | None, options: Mapping[str, object]) -> RemoteRecogniser:
    """The plugin `remote` of `voiceagent.stt`: `options` name the server, which is asked what its recogniser can do. Raises
    ModelError, ConfigError."""
    if path is not None:
        raise ConfigError(f"{ENGINE}: runs no model of this machine; leave `path` and `model` of the registry out, and set `url`")
    read = options_of(options, RemoteRecogniserOptions, ENGINE)
    connection = connection_to(read, ENGINE, "the recogniser", "stt.url")
    return RemoteRecogniser(connection, read.model, described(connection.describe(read.model), read))
