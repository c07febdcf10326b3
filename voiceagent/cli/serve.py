"""`voiceagent serve`: answer calls."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from pathlib import Path

import click
import msgspec

from voiceagent import logs
from voiceagent.agent_service import AgentService
from voiceagent.errors import ModelError
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.choice import AUTO, choose_profile, profile_of, registry_of, wanted_profile, with_own_models
from voiceagent.models.registry import Registry
from voiceagent.resources import default_budgets_file, demo_agent_file
from voiceagent.server.access.key_ring import KEYS_VARIABLE, OPERATOR_KEYS_VARIABLE, VARIABLES, keys_of_server
from voiceagent.server.calls.draining import DRAIN_TIMEOUT_S
from voiceagent.server.http.app import make_app
from voiceagent.server.http.connections import MAX_CONNECTIONS
from voiceagent.server.http.run import serve as run_server
from voiceagent.server.http.tls import certificate_of
from voiceagent.server.monitoring.log_limit import LimitedHandler
from voiceagent.settings.agent import AgentConfig, data_dir, load_agent, models_cache_dir


@click.command(
    epilog=f"""\b
Examples:
  voiceagent serve                           the demo agent, on the best models that are here
  voiceagent serve --config agent.yaml       your own agent
  voiceagent serve --profile cpu --port 0    other models, any free port
  voiceagent serve --stt my-whisper --tts my-voice.onnx

Clients present a key: one that `voiceagent keys add` made, or one of {KEYS_VARIABLE}, separated
by commas. Without keys any bearer token is accepted, and only loopback addresses can be served.
Keys in {OPERATOR_KEYS_VARIABLE}, and those of `keys add --operator`, may besides drain the
server and dial. Those in {VARIABLES["monitor"]} only follow calls and read what is said in
them; those in {VARIABLES["metrics"]} only read the metrics.

\b
SIGTERM, SIGINT   end the calls and stop, within 5 s; a second one exits at once
SIGUSR1           drain: no new calls, stop when the last has ended"""
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one.")
@click.option(
    "--tls-cert", metavar="FILE", default="", help="A certificate (PEM): answer by HTTPS. It is read again when it changes."
)
@click.option("--tls-key", metavar="FILE", default="", help="Its private key (PEM). Default: in the file of the certificate.")
@click.option(
    "--profile",
    default="",
    help="Engines and models: embedded, cpu, gpu, vllm-cpu … Default: what the agent names, else the best that is here.",
)
@click.option("--stt", metavar="PATH", default="", help="A recogniser of your own: a Whisper in CTranslate2 format.")
@click.option("--llm", metavar="PATH", default="", help="A language model of your own: an onnxruntime-genai folder.")
@click.option("--tts", metavar="PATH", default="", help="A voice of your own: a Piper voice's .onnx, its .json beside it.")
@click.option("--pull", is_flag=True, help="First fetch the profile's models that are not here.")
@click.option("--config", type=click.Path(path_type=Path), help="The agent's YAML file. Default: the demo agent.")
@click.option("--budgets", type=click.Path(path_type=Path), help="Latency budgets. Default: the shipped latency_budgets.yaml.")
@click.option("--max-calls", type=click.IntRange(1, 1000), help="Calls at once. Default: the agent's admission.max_calls, or 16.")
@click.option(
    "--event-logs",
    default=0,
    metavar="N",
    type=click.IntRange(0, 10_000),
    help="Keep the records and event logs of the last N calls; they hold what was said. Default: what the agent's `records` say.",
)
@click.option(
    "--max-connections",
    default=MAX_CONNECTIONS,
    show_default=True,
    type=click.IntRange(8, 100_000),
    help="HTTP connections at once; at most half of the descriptors (ulimit -n).",
)
@click.option(
    "--drain-timeout",
    "drain_timeout_s",
    default=DRAIN_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(0, 86_400),
    help="Calls that are still up so long after draining began are ended.",
)
@click.option(
    "--log-level",
    default="warning",
    show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="What is logged, to standard error. A line a turn is logged below `error`; it holds no word that was said.",
)
@click.option(
    "--log-format",
    default="text",
    show_default=True,
    type=click.Choice(list(logs.FORMATS)),
    help="json: one object a line, with the ids of the call and the turn.",
)
def serve(
    host: str,
    port: int,
    tls_cert: str,
    tls_key: str,
    profile: str,
    stt: str,
    llm: str,
    tts: str,
    pull: bool,
    config: Path | None,
    budgets: Path | None,
    max_calls: int | None,
    event_logs: int,
    max_connections: int,
    drain_timeout_s: float,
    log_level: str,
    log_format: str,
) -> None:
    """Answer calls: the page, the API and the metrics at one address."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a request to drain must not kill a server that starts
    log_handler = logs.configure(log_level, log_format)
    keys = keys_of_server(data_dir())
    keys.check_exposure(host)
    agent = load_agent(config or demo_agent_file())
    replace = msgspec.structs.replace
    if profile:
        agent = replace(agent, profile=profile)
    if max_calls is not None:
        agent = replace(agent, admission=replace(agent.admission, max_calls=max_calls))
    if event_logs:
        agent = replace(agent, records=replace(agent.records, keep="event_logs", max_calls=event_logs))
    agent = with_own_models(agent, stt, llm, tts)
    if tls_cert or tls_key:
        certificate = certificate_of(tls_cert, tls_key, Path.cwd())
    else:
        certificate = certificate_of(agent.http.tls_cert, agent.http.tls_key, Path(agent.base_dir))
    known = registry_of(agent)
    refusal = _pull(agent, known) if pull else ""
    name, why = choose_profile(agent, known)
    if why:
        click.echo(refusal or why, err=True)
    agent = replace(agent, profile=name)
    limits = load_budgets(budgets or default_budgets_file()).extended(name, profile_of(agent, known).budgets)
    service = AgentService(agent, limits, keys).service()
    service = dataclasses.replace(service, drain_timeout_s=drain_timeout_s)
    app = make_app(service)
    with LimitedHandler(log_handler, service.metrics.log_left_out) as limited:
        app.cleanup_ctx.append(lambda _: limited.tell_from_time_to_time())
        asyncio.run(
            run_server(
                app,
                host,
                port,
                certificate=certificate,
                max_connections=max_connections,
                on_bound=lambda url: click.echo(f"loading the {agent.profile} profile …"),
                on_ready=lambda url: click.echo(f"{agent.name} answers at {url}"),
            )
        )


def _pull(agent: AgentConfig, known: Registry) -> str:
    """Fetch what the agent's profile lacks, with progress. If that fails and another profile may answer instead, returns why it
    failed. Raises ModelError, ConfigError."""
    from voiceagent.cli.models import fetch

    name = wanted_profile(agent, known)
    try:
        for model in known.missing(profile_of(agent, known, name), models_cache_dir()):
            fetch(model, models_cache_dir())
    except ModelError as error:
        if agent.profile != AUTO:
            raise
        return (
            f"serving embedded, the bundled micro models, as those of {name} cannot be fetched ({error}); try again later with "
            f"`voiceagent models pull --profile {name}`"
        )
    return ""
