"""`voiceagent serve`: answer calls."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
import threading
import webbrowser
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import click
import msgspec

from voiceagent import logs
from voiceagent.agent_service import AgentService, Reloading, log_weakness
from voiceagent.errors import ModelError
from voiceagent.gateway.link import FrontLink
from voiceagent.gateway.plan import MAX_WORKERS, plan_of, worker_arguments
from voiceagent.gateway.run import FrontSettings
from voiceagent.gateway.run import serve as serve_workers
from voiceagent.gateway.seat import seated, taken_from
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.servers.recognition import KEY_VARIABLE
from voiceagent.models.choice import AUTO, choose_profile, profile_of, registry_of, wanted_profile, with_own_models
from voiceagent.models.llm_server import LlmServer, find_llm_server
from voiceagent.models.registry import Registry
from voiceagent.redaction import redacted
from voiceagent.resources import demo_agent_file
from voiceagent.server.access.key_ring import KEYS_VARIABLE, OPERATOR_KEYS_VARIABLE, VARIABLES, keys_of_server
from voiceagent.server.calls.call_ids import ThisWorker
from voiceagent.server.calls.draining import DRAIN_TIMEOUT_S
from voiceagent.server.http.app import make_app
from voiceagent.server.http.connections import MAX_CONNECTIONS
from voiceagent.server.http.run import serve as run_server
from voiceagent.server.http.tls import certificate_of
from voiceagent.server.monitoring.log_limit import LimitedHandler
from voiceagent.settings.agent import AgentConfig, data_dir, load_agent, models_cache_dir

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Environment variables, one of which is set where a browser can show a page."""


@click.command(
    epilog=f"""\b
Examples:
  voiceagent serve                           the demo agent, on the best models that are here
  voiceagent serve --config agent.yaml       your own agent
  voiceagent serve --config agent.yaml --reload --open    … that follows what you change, with the page
  voiceagent serve --profile cpu --port 0    other models, any free port
  voiceagent serve --stt my-whisper --tts my-voice.onnx
  voiceagent serve --llm-url http://127.0.0.1:11434 --llm-model qwen3:8b    Ollama, llama.cpp, vLLM …
  voiceagent serve --config agent.yaml --workers 4    four processes answer, behind one address

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
@click.option(
    "--llm-url",
    metavar="URL",
    default="",
    help=f"A language model server: Ollama, llama.cpp, vLLM or any other with OpenAI's API. Its key is read from {KEY_VARIABLE}.",
)
@click.option("--llm-model", metavar="NAME", default="", help="Its model. Default: the only one that it has.")
@click.option("--tts", metavar="PATH", default="", help="A voice of your own: a Piper voice's .onnx, its .json beside it.")
@click.option("--pull", is_flag=True, help="First fetch the profile's models that are not here.")
@click.option("--config", type=click.Path(path_type=Path), help="The agent's YAML file. Default: the demo agent.")
@click.option("--budgets", type=click.Path(path_type=Path), help="Latency budgets. Default: the agent's, else the shipped ones.")
@click.option(
    "--reload", "is_reloaded", is_flag=True, help="Take the agent anew when its YAML, its tools or what they name change."
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser once calls are answered.")
@click.option(
    "--workers",
    default=1,
    show_default=True,
    metavar="N",
    type=click.IntRange(1, MAX_WORKERS),
    help="Processes that answer calls, behind one more that takes HTTP. Each has models of its own and its share of the calls.",
)
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
    llm_url: str,
    llm_model: str,
    tts: str,
    pull: bool,
    config: Path | None,
    budgets: Path | None,
    is_reloaded: bool,
    is_opened: bool,
    workers: int,
    max_calls: int | None,
    event_logs: int,
    max_connections: int,
    drain_timeout_s: float,
    log_level: str,
    log_format: str,
) -> None:
    """Answer calls: the page, the API and the metrics at one address."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a request to drain must not kill a server that starts
    seat = taken_from()
    log_handler = logs.configure(log_level, log_format, seat.number if seat is not None else 0)
    keys = keys_of_server(data_dir())
    if seat is None:
        keys.check_exposure(host)
    else:
        ThisWorker.become(seat.number)
    tells = seat is None or seat.number == 1
    file = config or demo_agent_file()
    agent = read = load_agent(file)
    replace = msgspec.structs.replace
    if profile:
        agent = replace(agent, profile=profile)
    if max_calls is not None:
        agent = replace(agent, admission=replace(agent.admission, max_calls=max_calls))
    if event_logs:
        agent = replace(agent, records=replace(agent.records, keep="event_logs", max_calls=event_logs))
    agent = with_own_models(agent, stt, llm, tts)
    agent, llm_server = with_llm_server(agent, llm, llm_url, llm_model, is_told=seat is None)
    if tls_cert or tls_key:
        certificate = certificate_of(tls_cert, tls_key, Path.cwd())
    else:
        certificate = certificate_of(agent.http.tls_cert, agent.http.tls_key, Path(agent.base_dir))
    known = registry_of(agent)
    refusal = _pull(agent, known) if pull else ""
    name, why = choose_profile(agent, known)
    if why and seat is None:
        click.echo(refusal or why, err=True)
    agent = replace(agent, profile=name)
    limits = load_budgets(budgets or agent.budgets_file).extended(name, profile_of(agent, known).budgets)
    link: FrontLink | None = None

    def on_ready(url: str) -> None:
        if seat is None:
            click.echo(f"{agent.name} answers at {url}")
        if is_opened:
            open_page(url)

    def on_bound(url: str) -> None:
        if link is None:
            click.echo(f"loading the {agent.profile} profile …")
        else:
            link.takes_http(url)

    if workers > 1 and seat is None:
        plan = plan_of(workers, agent, profile_of(agent, known).llm.engine, worker_arguments(click.get_current_context()))
        front = FrontSettings(host, port, max_connections, certificate, keys, agent.admission, agent.http.allowed_origins)
        with LimitedHandler(log_handler, lambda lines: None) as limited:
            totals = asynccontextmanager(limited.tell_from_time_to_time)
            asyncio.run(serve_workers(front, plan, totals, on_bound, on_ready))
        return
    reloading = Reloading(file, read, budgets, lambda line: click.echo(redacted(line)) if tells else None)
    service = AgentService(
        agent,
        limits,
        keys,
        tell=log_weakness if tells else lambda weakness: None,
        reloading=reloading if is_reloaded else None,
        llm_server=llm_server,
        workers=1 if seat is None else seat.of,
        has_lines=seat is None or seat.has_lines,
    ).service()
    service = dataclasses.replace(service, drain_timeout_s=drain_timeout_s)
    if seat is not None:
        host, port = seat.host, seat.port
        service, link = seated(service, seat, agent.admission.per_client)
    app = make_app(service)

    with LimitedHandler(log_handler, service.metrics.log_left_out) as limited:
        app.cleanup_ctx.append(lambda _: limited.tell_from_time_to_time())
        asyncio.run(
            run_server(
                app,
                host,
                port,
                certificate=certificate if seat is None else None,
                max_connections=max_connections,
                on_bound=on_bound,
                on_ready=on_ready,
            )
        )


def with_llm_server(
    agent: AgentConfig, llm: str, url: str, model: str, *, is_told: bool = True
) -> tuple[AgentConfig, LlmServer | None]:
    """The agent with the language model server at this address, whose limits are told; as it is where none is named. Raises
    EngineError, ConfigError, ModelError."""
    if llm and (url or model):
        raise click.UsageError("--llm names a model of your own, --llm-url and --llm-model one of a server; leave one out")
    if not url:
        llm_settings = msgspec.structs.replace(agent.llm, model=model or agent.llm.model)
        return msgspec.structs.replace(agent, llm=llm_settings), None
    agent, found = asyncio.run(find_llm_server(agent, url, model))
    for line in (f"the language model is {found.server}", *(f"  {line}" for line in found.lines)) if is_told else ():
        click.echo(line)
    found.require_tools(agent)
    return agent, found


def open_page(url: str) -> None:
    """Open the page in a browser, without waiting for it. Without a screen nothing happens."""
    if sys.platform.startswith("linux") and not any(map(os.environ.get, SCREENS)):
        return
    host = url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:")
    threading.Thread(target=_open, args=(host,), name="browser", daemon=True).start()


def _open(url: str) -> None:
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(url)


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
