"""The bundled recogniser and voice behind the real service and its clients: what they hear and say is what they do in process,
and a failure is one clear error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.model_server.conftest import BundledEngines, RunningService, running_service
from tests.speech import said, silence
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.inference.address import KEY_VARIABLE
from voiceagent.inference.connection import grpc
from voiceagent.inference.wire import SERVICE, InferRequest, InferResponse, ModelMetadata, message
from voiceagent.model_server.hosted import HostedModel, HostedRecogniser, HostedVoice
from voiceagent.model_server.run import ListenAddress
from voiceagent.stt import remote as remote_stt
from voiceagent.stt.engine import DecodeDropped, StreamOptions, SttEngine
from voiceagent.stt.hypothesis import Hypothesis, RecognisedWord
from voiceagent.stt.remote import RemoteRecogniser
from voiceagent.stt.vocabulary import Vocabulary, VocabularyWord
from voiceagent.tts.engine import SpeechChunk, TtsEngine
from voiceagent.tts.remote import RemoteVoice
from voiceagent.turn_taking.patience import ExpectedValue

SENTENCES = ("What time is it in Paris?", "Book a table for two on Friday.", "Order four eight two one.", "Hello.")
CLAUSE = "Your table is booked for Friday at 7:30 PM. Anything else?"


def heard(text: str) -> np.ndarray:
    audio = np.concatenate([silence(100), said(text), silence(200)])
    return audio.astype(np.float32) / np.float32(32768)


async def spoken(voice: TtsEngine, text: str) -> list[SpeechChunk]:
    return [chunk async for chunk in voice.synthesise(text)]


async def test_each_decode_is_the_same_as_in_process(engines: BundledEngines, recogniser: RemoteRecogniser) -> None:
    assert (recogniser.max_audio_s, recogniser.stream) == (engines.stt.max_audio_s, engines.stt.stream)
    many: tuple[dict[str, Any], ...] = ({"final": True}, {"word_times": True}, {"urgent": True, "prompt": "So,"})
    for options in many:
        there, here = [await one.transcribe(heard(SENTENCES[0]), **options) for one in (recogniser, engines.stt)]
        assert there == here
        assert there.words


async def test_the_decodes_of_several_callers_share_a_run(engines: BundledEngines, service: RunningService) -> None:
    callers = [await service.recogniser() for _ in range(4)]
    texts = [text for text in SENTENCES for _ in range(2)]
    there = await asyncio.gather(*(callers[at % 4].transcribe(heard(text), final=True) for at, text in enumerate(texts)))
    here = [await engines.stt.transcribe(heard(text), final=True) for text in texts]
    assert [one.text for one in there] == [one.text for one in here]
    for caller in callers:
        await caller.close()


async def test_a_clause_is_the_same_as_in_process(engines: BundledEngines, voice: RemoteVoice) -> None:
    there, here = await spoken(voice, CLAUSE), await spoken(engines.tts, CLAUSE)
    assert (voice.sample_rate_hz, voice.reads_ipa) == (engines.tts.sample_rate_hz, True)
    assert [chunk.words for chunk in there] == [chunk.words for chunk in here]
    assert all(np.array_equal(one.pcm, other.pcm) for one, other in zip(there, here, strict=True))


class ListeningEngine:
    """Notes what it is asked for; a decode lasts until it is let go."""

    max_audio_s = 30.0
    stream = StreamOptions()
    dropped_partials = 0

    def __init__(self, *, waits: bool = False) -> None:
        self.asked: list[dict[str, object]] = []
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.waits = waits
        self.error: EngineError | None = None
        self.expected = ExpectedValue()
        self.vocabulary: Vocabulary | None = None

    def expecting(self, value: ExpectedValue) -> ListeningEngine:
        self.expected = value
        return self

    def knowing(self, vocabulary: Vocabulary) -> ListeningEngine:
        self.vocabulary = vocabulary
        return self

    def doubts(self, heard: Hypothesis, duration_s: float) -> bool:
        return True

    async def decode_once(self, audio: np.ndarray, **options: object) -> Hypothesis:
        self.asked.append(options)
        self.begun.set()
        if self.error:
            raise self.error
        if self.waits:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        chance = -0.5 if options["thorough"] else -1.0
        word = "second" if options["thorough"] else "first"
        return Hypothesis((RecognisedWord(word, 0.0, 0.5, 0.9),), 0.0, chance, 1.0, "en")

    async def transcribe(self, audio: np.ndarray, **options: object) -> Hypothesis:
        raise AssertionError("the service asks for each decode")

    async def close(self) -> None:
        pass


async def hosted_engine(engine: ListeningEngine) -> HostedModel:
    as_engine: SttEngine = engine
    return HostedRecogniser("stt", as_engine, "en")


async def test_a_final_in_doubt_is_decoded_again_once_it_is_wanted() -> None:
    engine = ListeningEngine()
    async with running_service([await hosted_engine(engine)], ListenAddress(port=0)) as service:
        recogniser = await service.recogniser()
        wanted = asyncio.Event()
        task = asyncio.ensure_future(recogniser.transcribe(heard("Hello."), final=True, wanted=wanted))
        await engine.begun.wait()
        assert (await recogniser.transcribe(heard("Hello."))).text == "first"
        assert [one["thorough"] for one in engine.asked] == [False, False]
        wanted.set()
        assert (await task).text == "second"
        await recogniser.close()


async def test_what_may_be_said_is_told_to_the_recogniser_there() -> None:
    engine = ListeningEngine()
    async with running_service([await hosted_engine(engine)], ListenAddress(port=0)) as service:
        recogniser = await service.recogniser()
        words = (VocabularyWord("Kilchoman", heard=("kill common",)),)
        told = recogniser.knowing(Vocabulary(words, ("Ardbeg",))).expecting(ExpectedValue(True, ("red", "blue"), "One. Two."))
        for _ in range(2):
            await told.transcribe(heard("Hello."))
        first = engine.vocabulary
        assert first is not None
        assert (first.named, first.automatic) == (words, ("Ardbeg",))
        assert engine.expected == ExpectedValue(True, ("red", "blue"), "One. Two.")
        await told.transcribe(heard("Hello."))
        assert engine.vocabulary is first
        await recogniser.close()


async def test_a_decode_that_nobody_waits_for_is_cancelled_there() -> None:
    engine = ListeningEngine(waits=True)
    async with running_service([await hosted_engine(engine)], ListenAddress(port=0)) as service:
        recogniser = await service.recogniser()
        task = asyncio.ensure_future(recogniser.transcribe(heard("Hello."), final=True))
        await engine.begun.wait()
        task.cancel()
        async with asyncio.timeout(5):
            await engine.cancelled.wait()
        await recogniser.close()


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (DecodeDropped("newer"), "dropped"),
        (EngineError("too many", "overloaded"), "overloaded"),
        (EngineError("broken"), "failed"),
        (EngineError("odd", "a kind of its own"), "failed"),
    ],
)
async def test_a_failure_there_is_told_by_its_kind(failure: EngineError, kind: str) -> None:
    engine = ListeningEngine()
    engine.error = failure
    async with running_service([await hosted_engine(engine)], ListenAddress(port=0)) as service:
        recogniser = await service.recogniser()
        with pytest.raises(EngineError) as raised:
            await recogniser.transcribe(heard("Hello."))
        assert raised.value.kind == kind
        assert isinstance(raised.value, DecodeDropped) == (kind == "dropped")
        assert recogniser.dropped_partials == (kind == "dropped")
        assert len(engine.asked) == 1
        await recogniser.close()


class EndlessVoice:
    """Speaks until it is closed, or fails after its first chunk."""

    sample_rate_hz = 24_000

    def __init__(self, *, fails: bool = False) -> None:
        self.closed = asyncio.Event()
        self.fails = fails

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        try:
            while True:
                yield SpeechChunk(np.zeros(480, np.int16), ())
                if self.fails:
                    raise EngineError("no breath")
                await asyncio.sleep(0)
        finally:
            self.closed.set()

    async def close(self) -> None:
        pass


async def test_a_clause_that_the_caller_interrupts_ends_there() -> None:
    endless = EndlessVoice()
    async with running_service([HostedVoice("tts", [endless])], ListenAddress(port=0)) as service:
        voice = await service.voice()
        async with aclosing(voice.synthesise("On and on.")) as chunks:
            await anext(chunks)
        async with asyncio.timeout(5):
            await endless.closed.wait()
        await voice.close()


async def test_a_voice_that_fails_in_a_clause_is_told_after_what_it_said() -> None:
    async with running_service([HostedVoice("tts", [EndlessVoice(fails=True)])], ListenAddress(port=0)) as service:
        voice = await service.voice()
        chunks = voice.synthesise("Well.")
        await anext(chunks)
        with pytest.raises(EngineError, match="no breath"):
            await anext(chunks)
        await voice.close()


async def test_clauses_go_to_the_copy_that_has_the_least_to_do() -> None:
    copies = [EndlessVoice(), EndlessVoice()]
    hosted = HostedVoice("tts", copies)
    async with running_service([hosted], ListenAddress(port=0)) as service:
        voice = await service.voice()
        both = [voice.synthesise("One."), voice.synthesise("Two.")]
        for each in both:
            await anext(each)
        assert hosted._open == [1, 1]
        for each in both:
            await each.aclose()
        await voice.close()


async def test_a_server_that_comes_back_is_used_again(hosted: list[HostedModel]) -> None:
    async with running_service(hosted, ListenAddress(port=0)) as service:
        recogniser, voice = await service.recogniser(), await service.voice()
        assert (await recogniser.transcribe(heard("Hello."), final=True)).words
        assert await spoken(voice, "Hello.")
        await service.stop()
        for _ in range(4):
            with pytest.raises(EngineError, match="does not answer") as down:
                await recogniser.transcribe(heard("Hello."), final=True)
            assert down.value.kind == "unreachable"
            with pytest.raises(EngineError, match="the voice does not answer"):
                await spoken(voice, "Hello.")
    port = int(service.url.rpartition(":")[2])
    async with running_service(hosted, ListenAddress(port=port)), asyncio.timeout(20):
        for use in (lambda: recogniser.transcribe(heard("Hello."), final=True), lambda: spoken(voice, "Hello.")):
            while True:
                try:
                    assert await use()
                    break
                except EngineError:
                    await asyncio.sleep(0.1)
    await recogniser.close()
    await voice.close()


async def test_a_server_that_is_up_and_silent_is_too_late() -> None:
    engine = ListeningEngine(waits=True)
    async with running_service([await hosted_engine(engine)], ListenAddress(port=0)) as service:
        recogniser = await service.recogniser(timeout_s=0.2)
        with pytest.raises(EngineError, match=r"sent nothing for 0.2 s") as late:
            await recogniser.transcribe(heard("Hello."), final=True)
        assert late.value.kind == "too_late"
        await recogniser.close()


async def test_only_who_has_the_key_may_ask(hosted: list[HostedModel], monkeypatch: pytest.MonkeyPatch) -> None:
    address = ListenAddress(port=0, keys=("key-of-24-letters-or-more", "another-key-of-24-letters"))
    async with running_service(hosted, address) as service:
        for key in ("", "wrong", "key-of-24-letters-or-mor"):
            monkeypatch.setenv(KEY_VARIABLE, key)
            with pytest.raises(ModelError, match=rf"refuses the key in \${KEY_VARIABLE}"):
                await service.voice()
        monkeypatch.setenv(KEY_VARIABLE, "another-key-of-24-letters")
        voice = await service.voice()
        assert await spoken(voice, "Hello.")
        await voice.close()


@pytest.mark.parametrize("keys", [(), ("short",)])
def test_other_machines_need_a_key_that_cannot_be_guessed(keys: Sequence[str]) -> None:
    with pytest.raises(ConfigError, match=KEY_VARIABLE):
        ListenAddress("0.0.0.0", keys=tuple(keys)).require_safe()


async def test_a_port_that_is_taken_is_one_clear_error(service: RunningService, hosted: list[HostedModel]) -> None:
    port = int(service.url.rpartition(":")[2])
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
        async with running_service(hosted, ListenAddress(port=port)):
            pass


async def test_a_socket_takes_the_place_of_a_port(hosted: list[HostedModel], tmp_path: Path) -> None:
    async with running_service(hosted, ListenAddress(socket=str(tmp_path / "models.sock"))) as service:
        assert service.url.startswith("unix:///")
        voice = await service.voice()
        assert await spoken(voice, "Hello.")
        await voice.close()


async def asked(url: str, method: str, data: bytes) -> bytes:
    async with grpc.aio.insecure_channel(url.removeprefix("grpc://")) as channel:
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE}/{method}")
        return await ask(data, timeout=10)


async def test_the_server_says_what_it_has(service: RunningService) -> None:
    assert message("ServerLiveResponse").FromString(await asked(service.url, "ServerLive", b"")).live
    assert message("ServerReadyResponse").FromString(await asked(service.url, "ServerReady", b"")).ready
    assert message("ServerMetadataResponse").FromString(await asked(service.url, "ServerMetadata", b"")).name == "voiceagent"
    for name, ready in (("tts", True), ("llm", False)):
        request = message("ModelReadyRequest")(name=name).SerializeToString()
        assert message("ModelReadyResponse").FromString(await asked(service.url, "ModelReady", request)).ready == ready
    request = message("ModelMetadataRequest")(name="stt").SerializeToString()
    told = ModelMetadata.from_bytes(await asked(service.url, "ModelMetadata", request))
    assert [(one.name, one.datatype) for one in told.inputs] == [("audio", "INT16")]


@pytest.mark.parametrize(
    ("method", "data", "code"),
    [
        ("ModelInfer", b"\xff\xff", grpc.StatusCode.INVALID_ARGUMENT),
        ("ModelInfer", InferRequest("stt", {}).to_bytes(), grpc.StatusCode.INVALID_ARGUMENT),
        ("ModelInfer", InferRequest("llm", {}).to_bytes(), grpc.StatusCode.NOT_FOUND),
        ("ModelInfer", InferRequest("tts", {}).to_bytes(), grpc.StatusCode.UNIMPLEMENTED),
        ("ModelMetadata", b"\xff\xff", grpc.StatusCode.INVALID_ARGUMENT),
        ("ModelInfer", b"\0" * 5_000_000, grpc.StatusCode.RESOURCE_EXHAUSTED),
    ],
)
async def test_a_wrong_request_is_refused_and_the_server_goes_on(
    service: RunningService, method: str, data: bytes, code: grpc.StatusCode
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await asked(service.url, method, data)
    assert refused.value.code() is code
    assert await asked(service.url, "ServerLive", b"")


async def test_a_wrong_request_in_a_stream_is_told_in_its_place(service: RunningService) -> None:
    requests = [b"\xff\xff", InferRequest("llm", {}, {}, "2").to_bytes(), InferRequest("tts", {}, {}, "3").to_bytes()]
    async with grpc.aio.insecure_channel(service.url.removeprefix("grpc://")) as channel:
        ask: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")
        answers = [InferResponse.from_streamed_bytes(data) async for data in ask(iter(requests), timeout=10)]
    assert [answer.id for answer, _ in answers] == ["", "2", "3"]
    assert all(answer.is_last and problem for answer, problem in answers)


class OtherModel(HostedModel):
    """A model of another kind under the name of a recogniser."""

    name, streams = "stt", False

    def metadata(self) -> ModelMetadata:
        return ModelMetadata(self.name)

    async def infer(self, request: InferRequest) -> AsyncGenerator[InferResponse, None]:
        yield InferResponse(self.name, {})

    async def close(self) -> None:
        pass


async def test_an_answer_of_another_model_is_one_clear_error() -> None:
    async with running_service([OtherModel()], ListenAddress(port=0)) as service:
        with pytest.raises(ConfigError, match="set `max_audio_s`"):
            await service.recogniser()
        recogniser = await service.recogniser(max_audio_s=30.0)
        with pytest.raises(EngineError, match="cannot be read: it holds no tensor 'words'") as unreadable:
            await recogniser.transcribe(heard("Hello."))
        assert unreadable.value.kind == "unreadable"
        await recogniser.close()
        with pytest.raises(ModelError, match="there is no model 'tts'; the server has stt"):
            await service.voice()


async def test_a_recogniser_of_another_language_is_refused(service: RunningService) -> None:
    with pytest.raises(ConfigError, match=r"language is de; the recogniser at .* is set to en"):
        await service.recogniser(language="de")


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(ModelError, match=r"the recogniser does not answer there .* start it with `voiceagent models serve`"):
        remote_stt.create(None, {"url": "grpc://127.0.0.1:9", "start_timeout_s": 0})
    with pytest.raises(ConfigError, match="runs no model of this machine"):
        remote_stt.create(Path("model"), {"url": "grpc://127.0.0.1:9"})
    with pytest.raises(ConfigError, match="did you mean timeout_s"):
        remote_stt.create(None, {"url": "grpc://127.0.0.1:9", "timeouts": 0})
