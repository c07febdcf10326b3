"""Pipecat's side of the comparison, run inside Pipecat's own environment: a bot as its documentation builds one (SmallWebRTC
transport, Silero, Whisper, an OpenAI-compatible language model, Piper), on the models of the other side. An SDP offer comes in by
`POST /api/offer`; each offer gets a pipeline of its own."""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

import aioice.ice
import onnxruntime
import pipecat.services.piper.tts as piper_service
from aiohttp import web
from faster_whisper import WhisperModel
from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.frames.frames import TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.piper.tts import PiperTTSService
from pipecat.services.whisper.stt import WhisperSTTService
from pipecat.transports.base_transport import TransportParams
from pipecat.transports.smallwebrtc.connection import SmallWebRTCConnection
from pipecat.transports.smallwebrtc.transport import SmallWebRTCTransport
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from piper import PiperVoice
from piper.config import PiperConfig

from voiceagent.settings.agent import load_agent
from voiceagent.stt.short_whisper import ShortWhisper
from voiceagent.tools.toolset import ToolSet

FASTEST_STOP_S = 0.2
"""Silence that ends a turn: the shortest that Pipecat's documentation recommends, and its own default for the VAD."""
FASTEST_START_S = 0.1
"""Speech that is an interruption; half of the default."""
FASTEST_CHUNKS = 2
"""Output is handed over in pieces of 20 ms, not 40."""
AUDIO_RATE_HZ = 16_000
"""The rate of Whisper's audio."""
WHOLE_FRAMES_HZ = 100
"""Pipecat's output cuts pieces of 10 ms: a voice whose rate makes no whole samples of that is resampled to Pipecat's default."""


def greedy(audio: Any) -> dict[str, Any]:
    """Returns the other side's options of a decode: one greedy pass, which is cheaper than faster-whisper's default of five
    beams."""
    return {
        "beam_size": 1,
        "temperature": 0.0,
        "condition_on_previous_text": False,
        "without_timestamps": True,
        "no_speech_threshold": None,
        "log_prob_threshold": None,
        "compression_ratio_threshold": None,
        "max_new_tokens": 24 + 12 * len(audio) // AUDIO_RATE_HZ,
    }


class BundledWhisper(ShortWhisper):
    """The bundled model with the options it needs and the other side uses; stock faster-whisper would pad its audio beyond the
    positions it has, and take far longer."""

    def transcribe(self, audio: Any, **options: Any) -> Any:
        """As faster-whisper's; what Pipecat asks for beside the language stays."""
        return super().transcribe(audio, **options, **greedy(audio), suppress_tokens=[])


class GreedyShortWhisper(ShortWhisper):
    """A published model, its encoder given the audio there is and the padding that the other side gives it."""

    def transcribe(self, audio: Any, **options: Any) -> Any:
        """As faster-whisper's."""
        return super().transcribe(audio, **options, **greedy(audio))


class GreedyWhisper(WhisperModel):  # type: ignore[misc]
    """A published model as faster-whisper runs it: the encoder is given 30 s, however short the audio."""

    def transcribe(self, audio: Any, **options: Any) -> Any:
        """As faster-whisper's."""
        return super().transcribe(audio, **options, **greedy(audio))


class LocalWhisperService(WhisperSTTService):  # type: ignore[misc]
    """Pipecat's Whisper service on a local model, which is loaded once for all calls."""

    def __init__(self, encoder: str, short: str, **options: Any) -> None:
        self._encoder, self._short = encoder, short
        super().__init__(**options)

    def _load(self) -> None:
        self._model = load_whisper(self._settings.model, self._encoder, self._short)


@functools.cache
def load_whisper(path: str, encoder: str, short: str) -> WhisperModel:
    """`short` is the short encoder's padding, JSON."""
    options: dict[str, Any] = {"device": "cpu", "compute_type": "int8", "local_files_only": True}
    if encoder == "stock":  # 30 s are worth a thread a core, a short turn is not
        return GreedyWhisper(path, cpu_threads=len(os.sched_getaffinity(0)), **options)
    if encoder == "short":
        return GreedyShortWhisper(path, cpu_threads=1, **json.loads(short), **options)
    return BundledWhisper(path, cpu_threads=1, **options)


class OneThreadVoice:
    """Loads the voice of Pipecat's Piper service."""

    @staticmethod
    def load(model: Path, use_cuda: bool = False) -> PiperVoice:
        """As `PiperVoice.load`."""
        return load_voice(model)


@functools.cache
def load_voice(model: Path) -> PiperVoice:
    """Once for all calls, and run by one thread as on the other side: a second one only spins on short sentences."""
    session = onnxruntime.SessionOptions()
    session.intra_op_num_threads = session.inter_op_num_threads = 1
    return PiperVoice(
        session=onnxruntime.InferenceSession(str(model), sess_options=session, providers=["CPUExecutionProvider"]),
        config=PiperConfig.from_dict(json.loads(Path(f"{model}.json").read_text(encoding="utf-8"))),
    )


class Bots:
    """Answers offers, and owns the pipelines that come of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._fastest = options.settings == "fastest"
        self._agent = load_agent(options.agent)
        self._tools = ToolSet.from_config(self._agent.tools, self._agent.base_dir)
        self._running: set[asyncio.Task[None]] = set()

    async def offer(self, request: web.Request) -> web.Response:
        """`{sdp, type}` in, `{sdp, type, pc_id}` out."""
        body = await request.json()
        connection = SmallWebRTCConnection(ice_servers=[])
        await connection.initialize(sdp=body["sdp"], type=body["type"])
        task = asyncio.create_task(self._run(connection))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return web.json_response(connection.get_answer())

    async def _run(self, connection: SmallWebRTCConnection) -> None:
        options = self._options
        transport = SmallWebRTCTransport(webrtc_connection=connection, params=self._transport_params())
        context = LLMContext(messages=[{"role": "system", "content": self._agent.instructions}], tools=self._schemas())
        aggregators = LLMContextAggregatorPair(context, user_params=self._user_params())
        whisper = {"trailing_silence_secs": 0.0} if self._fastest else {}
        settings = WhisperSTTService.Settings(model=str(options.whisper))
        stt = LocalWhisperService(options.encoder, options.short, settings=settings, **whisper)
        llm = OpenAILLMService(api_key="none", base_url=options.llm, settings=OpenAILLMService.Settings(model="micro-lm"))
        tts = PiperTTSService(download_dir=options.voice.parent, settings=PiperTTSService.Settings(voice=options.voice.stem))
        pipeline = Pipeline([transport.input(), stt, aggregators.user(), llm, tts, transport.output(), aggregators.assistant()])
        worker = PipelineWorker(pipeline, params=self._pipeline_params())

        async def greet(_transport: Any, _client: Any) -> None:
            await worker.queue_frames([TTSSpeakFrame(self._agent.phrases.text("greeting") or "")])

        async def leave(_transport: Any, _client: Any) -> None:
            await worker.cancel()

        transport.event_handler("on_client_connected")(greet)
        transport.event_handler("on_client_disconnected")(leave)
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        await runner.run()

    def _transport_params(self) -> TransportParams:
        params = TransportParams(audio_in_enabled=True, audio_out_enabled=True)
        return params.model_copy(update={"audio_out_10ms_chunks": FASTEST_CHUNKS}) if self._fastest else params

    def _pipeline_params(self) -> PipelineParams | None:
        """Fastest: the voice's own sample rate where the output takes it, so that nothing is resampled."""
        rate_hz = json.loads(Path(f"{self._options.voice}.json").read_text(encoding="utf-8"))["audio"]["sample_rate"]
        whole = self._fastest and rate_hz % WHOLE_FRAMES_HZ == 0
        return PipelineParams(audio_out_sample_rate=rate_hz) if whole else None

    def _user_params(self) -> LLMUserAggregatorParams:
        """Defaults: Silero and the Smart Turn model. Fastest: Silero's silence alone, and no wait after it."""
        if not self._fastest:
            return LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer())
        return LLMUserAggregatorParams(
            vad_analyzer=SileroVADAnalyzer(params=VADParams(start_secs=FASTEST_START_S, stop_secs=FASTEST_STOP_S)),
            user_turn_strategies=UserTurnStrategies(stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.0)]),
        )

    def _schemas(self) -> list[FunctionSchema]:
        return [
            FunctionSchema(
                name=schema["function"]["name"],
                description=schema["function"]["description"],
                properties=schema["function"]["parameters"].get("properties", {}),
                required=schema["function"]["parameters"].get("required", []),
                handler=self._call_tool,
            )
            for schema in self._tools.schemas()
        ]

    async def _call_tool(self, call: Any) -> None:
        outcome = await self._tools.run(call.function_name, json.dumps(call.arguments), self._agent.turn.tool_timeout_s)
        await call.result_callback(json.loads(outcome.output))


def allow_loopback() -> None:
    """Let a machine with only `lo` connect to itself. Other machines gather the same addresses as before."""
    gathered = aioice.ice.get_host_addresses
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: gathered(use_ipv4, use_ipv6) or ["127.0.0.1"]


async def serve(options: argparse.Namespace) -> None:
    """Answer offers until ended."""
    allow_loopback()
    piper_service.PiperVoice = OneThreadVoice
    load_whisper(str(options.whisper), options.encoder, options.short)
    load_voice(options.voice)
    app = web.Application()
    app.router.add_post("/api/offer", Bots(options).offer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    print(f"answers at http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description="A Pipecat bot on voiceagent's bundled models.")
    parser.add_argument("--settings", choices=["default", "fastest"], required=True)
    parser.add_argument("--port", type=int, default=0, help="port on loopback (default: a free one)")
    parser.add_argument("--llm", required=True, help="base URL of the language model server")
    parser.add_argument("--whisper", type=Path, required=True, help="folder of the Whisper model, CTranslate2 format")
    parser.add_argument("--encoder", choices=["bundled", "short", "stock"], default="bundled", help="how Whisper encodes")
    parser.add_argument("--short", default="{}", help="the padding of the short encoder, JSON")
    parser.add_argument("--voice", type=Path, required=True, help="the Piper voice's .onnx")
    parser.add_argument("--agent", type=Path, required=True, help="the agent's YAML file: instructions, greeting, tools")
    logger.remove()
    logger.add(sys.stderr, level=os.environ.get("LOGURU_LEVEL", "WARNING"))
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
