"""`voiceagent models serve`: run a recogniser and a voice for the calls of many workers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from voiceagent import logs
from voiceagent.inference.address import DEFAULT_PORT, KEY_VARIABLE, keys_of_environment
from voiceagent.models.choice import choose_profile, profile_of, registry_of, with_own_models
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import OwnModel, load_agent

MOST_VOICES = 64


@click.command(
    "serve",
    epilog=f"""\b
Examples:
  voiceagent models serve                            what hears and speaks for the demo agent
  voiceagent models serve --config agent.yaml        … for your own: its models, options and language
  voiceagent models serve --profile cpu --only stt   a recogniser alone
  voiceagent models serve --stt my-whisper --tts my-voice.onnx --voices 4

Call servers name it in agent.yaml: `stt: {{url: grpc://127.0.0.1:{DEFAULT_PORT}}}`, and `tts:` alike.
Other machines need a key: set {KEY_VARIABLE} to the same secret here and there.
It speaks the Open Inference Protocol by gRPC, as Triton and KServe do: docs/models.md.

\b
SIGTERM, SIGINT   take no more requests, let those that run end, and stop""",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one.")
@click.option("--socket", metavar="FILE", default="", help="Listen on this UNIX socket instead.")
@click.option("--tls-cert", metavar="FILE", default="", help="A certificate (PEM): clients then write grpcs://.")
@click.option("--tls-key", metavar="FILE", default="", help="Its private key (PEM). Default: in the file of the certificate.")
@click.option("--profile", default="", help="Engines and models. Default: what the agent names, else the best that is here.")
@click.option("--stt", metavar="PATH", default="", help="A recogniser of your own: a Whisper in CTranslate2 format.")
@click.option("--tts", metavar="PATH", default="", help="A voice of your own: a Piper voice's .onnx, its .json beside it.")
@click.option("--only", type=click.Choice(["stt", "tts"]), help="The recogniser or the voice alone.")
@click.option(
    "--voices",
    default=1,
    show_default=True,
    type=click.IntRange(1, MOST_VOICES),
    help="Copies of the voice that speak at the same time, each on a thread.",
)
@click.option("--config", type=click.Path(path_type=Path), help="The agent's YAML file. Default: the demo agent.")
@click.option(
    "--log-level",
    default="warning",
    show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="What is logged, to standard error.",
)
def serve_models(
    host: str,
    port: int,
    socket: str,
    tls_cert: str,
    tls_key: str,
    profile: str,
    stt: str,
    tts: str,
    only: str | None,
    voices: int,
    config: Path | None,
    log_level: str,
) -> None:
    """Run a recogniser and a voice for many call servers, by gRPC."""
    from voiceagent.model_server.run import STT, TTS, ListenAddress, certificate_files, load_models, serve

    logs.configure(log_level)
    certificate, private_key = certificate_files(tls_cert, tls_key)
    address = ListenAddress(host, port, socket, keys_of_environment(KEY_VARIABLE), certificate, private_key)
    address.require_safe()
    agent = load_agent(config or demo_agent_file())
    if profile:
        agent = msgspec.structs.replace(agent, profile=profile)
    replace = msgspec.structs.replace
    agent = replace(agent, **{kind: OwnModel() for kind in (STT, TTS) if getattr(agent, kind).url})  # it is the service itself
    agent = with_own_models(agent, stt, "", tts)
    known = registry_of(agent)
    name, why = choose_profile(agent, known)
    if why:
        click.echo(why, err=True)
    chosen = profile_of(agent, known, name)
    kinds = (only,) if only else (STT, TTS)
    click.echo(f"loading {' and '.join(kinds)} of the {name} profile …")

    async def run() -> None:
        models = await load_models(chosen, agent, known, kinds, voices)
        names = " and ".join(model.name for model in models)
        await serve(models, address, on_ready=lambda url: click.echo(f"{names} answer at {url}"))

    asyncio.run(run())
