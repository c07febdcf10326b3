"""A voice in another process: a client of `voiceagent models serve`, or of any server of the Open Inference Protocol with
`ModelStreamInfer` whose model has the tensors of `speech_messages.py`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import msgspec
from typing_extensions import override

from voiceagent.errors import ConfigError, EngineError
from voiceagent.inference.address import ServerOptions
from voiceagent.inference.connection import ModelConnection, connection_to
from voiceagent.settings_file import options_of
from voiceagent.tts.engine import SpeechChunk, TtsEngine
from voiceagent.tts.speech_messages import read_answer, request

ENGINE = "tts engine remote"
MAX_CHARACTERS = 2000
RATES_HZ = range(8_000, 48_001)


class RemoteVoiceOptions(ServerOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of a profile's `tts`."""

    model: str = "tts"
    """The model's name there."""
    sample_rate_hz: Annotated[int, msgspec.Meta(ge=8_000, le=48_000)] | None = None
    """The rate of its audio; None: as the server tells. A server that tells nothing needs it."""


class RemoteVoice(TtsEngine):
    """A voice that a server runs. Only the connection is here."""

    def __init__(self, connection: ModelConnection, model: str, sample_rate_hz: int, *, reads_ipa: bool) -> None:
        self.sample_rate_hz = sample_rate_hz
        self.reads_ipa = reads_ipa
        self._connection = connection
        self._model = model

    @override
    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        if len(text) > MAX_CHARACTERS:
            raise EngineError(f"a clause of {len(text)} characters to speak: at most {MAX_CHARACTERS}")
        async with aclosing(self._connection.stream(request(self._model, text))) as answers:
            async for answer in answers:
                try:
                    chunk = read_answer(answer)
                except ValueError as error:
                    raise self._connection.unreadable(error) from error
                yield chunk

    @override
    async def close(self) -> None:
        await self._connection.close()


def create(path: Path | None, options: Mapping[str, object]) -> RemoteVoice:
    """The plugin `remote` of `voiceagent.tts`: `options` name the server, which is asked for the rate of its audio. Raises
    ModelError, ConfigError."""
    if path is not None:
        raise ConfigError(f"{ENGINE}: runs no model of this machine; leave `path` and `model` of the registry out, and set `url`")
    read = options_of(options, RemoteVoiceOptions, ENGINE)
    connection = connection_to(read, ENGINE, "the voice", "tts.url")
    told = connection.describe(read.model).parameters
    rate_hz = read.sample_rate_hz or told.get("sample_rate_hz")
    if not isinstance(rate_hz, int) or rate_hz not in RATES_HZ:
        raise ConfigError(f"{ENGINE}: the server does not tell the rate of the voice's audio; set `sample_rate_hz`")
    return RemoteVoice(connection, read.model, rate_hz, reads_ipa=told.get("reads_ipa") is True)
