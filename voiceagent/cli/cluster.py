"""`voiceagent cluster`: workers on several machines, on Ray."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from voiceagent import logs
from voiceagent.cli.output import json_option, print_json
from voiceagent.cli.tables import plain_table, show
from voiceagent.cluster import on_ray
from voiceagent.cluster.autoscale import ScaleSettings
from voiceagent.cluster.call_worker import WorkerOptions
from voiceagent.cluster.controller import WorkerState, slots_of
from voiceagent.cluster.gateway import serve_cluster
from voiceagent.cluster.plan import (
    CLUSTER_KEY_VARIABLE,
    LINK_PORT,
    check_agent,
    check_linked,
    cluster_key,
    links_of,
    ports_for,
    written,
)
from voiceagent.cluster.ray_package import RayObject, require_ray
from voiceagent.gateway.plan import MAX_WORKERS
from voiceagent.gateway.run import FrontSettings
from voiceagent.models.choice import AUTO, choose_profile, registry_of
from voiceagent.resources import demo_agent_file
from voiceagent.server.access.key_ring import keys_of_server
from voiceagent.server.http.connections import MAX_CONNECTIONS
from voiceagent.settings.agent import data_dir, load_agent

T = TypeVar("T")
NO_DATA = 2
WORKERS = click.IntRange(1, MAX_WORKERS)

address_option = click.option(
    "--address",
    metavar="HOST:PORT",
    default="",
    help="Ray's address. Default: of what `up` has started here, else of the Ray of this machine.",
)


@click.group(
    epilog="""\b
Examples:
  voiceagent cluster up --config agent.yaml --workers 3
  voiceagent cluster status
  voiceagent cluster drain 2              its calls end by themselves; another worker takes its place
  voiceagent cluster down

It needs the extra `voiceagent[cluster]`.

Exit codes: 0 all is well, 1 it failed, 2 wrong usage or no workers."""
)
def cluster() -> None:
    """Answer calls on several machines, on Ray."""


@cluster.command(
    "up",
    epilog=f"""\b
Examples:
  voiceagent cluster up --config agent.yaml --workers 3              a Ray of its own, on loopback
  voiceagent cluster up --config agent.yaml --workers 2 --max-workers 8 --idle-places 4
  voiceagent cluster up --config agent.yaml --address auto --region eu --region us
  voiceagent cluster up --address auto --link one:7070 --link two:7070      on the machine `one`
  voiceagent cluster up --address auto --link two:7070 --link one:7070      a second gateway, on `two`

Without --address Ray ends with this command, and so do the workers. With --address they go on, and
the next `up` finds them: in place of the gateway that has ended, or as one more.

Keys are those of `voiceagent serve`. Gateway and workers know each other by ${CLUSTER_KEY_VARIABLE},
which must be the same on all machines; without --address it is made up.""",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address on which the gateway listens.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Its port; 0 takes a free one.")
@click.option("--config", type=click.Path(path_type=Path), help="The agent's YAML file. Default: the demo agent.")
@click.option("--profile", default="", help="Engines and models. Default: what the agent names, else the best that is here.")
@click.option("--workers", default=1, show_default=True, type=WORKERS, help="The least workers of each region.")
@click.option("--max-workers", type=WORKERS, help="The most of each region. Default: as many as --workers.")
@click.option("--max-calls", type=click.IntRange(1, 1000), help="Calls at once of a worker. Default: admission.max_calls, or 16.")
@click.option(
    "--idle-places", default=2, show_default=True, type=click.IntRange(0, 1000), help="Places that are kept free and ready."
)
@click.option(
    "--shrink-after",
    "shrink_after_s",
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(0, 86_400),
    help="A surplus must last so long before a worker is drained.",
)
@click.option(
    "--region",
    "regions",
    multiple=True,
    help="Where workers run: Ray's label ray.io/region. Several: each has workers; calls go to the first while it has room.",
)
@click.option("--cpus", default=1.0, show_default=True, type=click.FloatRange(0, 1024), help="CPUs that a worker asks Ray for.")
@click.option("--gpus", default=0.0, show_default=True, type=click.FloatRange(0, 64), help="GPUs that a worker asks Ray for.")
@click.option(
    "--address", metavar="HOST:PORT", default="", help="A Ray that runs; auto: on this machine. Default: one of its own."
)
@click.option(
    "--link",
    "links",
    metavar="HOST:PORT",
    multiple=True,
    help="Where workers find this gateway, and once more for each further gateway. "
    f"Default: this machine as Ray knows it, port {LINK_PORT}.",
)
def up(
    host: str,
    port: int,
    config: Path | None,
    profile: str,
    workers: int,
    max_workers: int | None,
    max_calls: int | None,
    idle_places: int,
    shrink_after_s: float,
    regions: tuple[str, ...],
    cpus: float,
    gpus: float,
    address: str,
    links: tuple[str, ...],
) -> None:
    """Start workers on Ray, and the gateway before them, until ctrl-c."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    logs.configure("warning", "text")
    require_ray()
    keys = keys_of_server(data_dir())
    keys.check_exposure(host)
    agent = load_agent(config or demo_agent_file())
    check_agent(agent)
    name = profile or agent.profile
    if not address:
        name, why = choose_profile(msgspec.structs.replace(agent, profile=name), registry_of(agent))
        if why:
            click.echo(why, err=True)
        os.environ.setdefault(CLUSTER_KEY_VARIABLE, secrets.token_hex(24))
    key = cluster_key()
    if max_workers is not None and max_workers < workers:
        raise click.UsageError(f"--max-workers is {max_workers}, and --workers is {workers}; expected as many or more")
    scale = ScaleSettings(workers, max_workers or workers, idle_places, shrink_after_s=shrink_after_s)
    named = tuple(dict.fromkeys(regions)) or ("",)
    if not address and len(named) > 1:
        raise click.UsageError("several regions are several machines: name a Ray that runs there by --address")
    if not address and len(links) > 1:
        raise click.UsageError("several gateways need a Ray that outlives each: name one that runs by --address")
    slots, calls = slots_of(scale, named), max_calls or agent.admission.max_calls
    ports = ports_for(agent, slots)
    with (
        on_ray.ray_at(address, data_dir(), shows_log=True)
        if address
        else on_ray.local_ray(slots * cpus, slots * gpus, named[0], data_dir())
    ):
        host_of_workers = "" if address else on_ray.LOOPBACK
        gateways = links_of(links, host_of_workers or on_ray.this_machine(), is_local=not address)
        options = WorkerOptions(
            (
                *(("--config", str(config.resolve())) if config is not None else ()),
                *(("--profile", name) if name != AUTO else ()),
            ),
            calls,
            tuple(map(written, gateways)),
            host_of_workers,
            ports,
        )
        controller = on_ray.controller_started(options, on_ray.WorkerNeeds(cpus, gpus), scale, named)
        admission = msgspec.structs.replace(agent.admission, max_calls=calls * scale.max_workers * len(named))
        front = FrontSettings(host, port, MAX_CONNECTIONS, None, keys, admission, agent.http.allowed_origins, key, named[0])
        check_linked(gateways[0], asyncio.run(on_ray.answered(controller.links.remote())))
        asyncio.run(on_ray.answered(controller.states.remote()))  # the first answer takes seconds: the controller starts
        told = on_ray.told_to(controller)

        def on_ready(url: str) -> None:
            click.echo(f"{agent.name} answers at {url}")

        is_over = asyncio.run(serve_cluster(front, gateways[0], workers * len(named), told, on_ready))
        if not is_over and not address:
            asyncio.run(on_ray.ended(controller))
    if not is_over and address:
        click.echo("the workers go on; `voiceagent cluster up` finds them, `voiceagent cluster down` ends them", err=True)


@cluster.command(
    "status",
    epilog="""\b
Examples:
  voiceagent cluster status
  voiceagent cluster status --json""",
)
@address_option
@json_option
def status(address: str, as_json: bool) -> int:
    """List the workers: where each runs, its calls, and whether it drains."""
    states, reasons = _asked(address, _states)
    if as_json:
        print_json({"workers": [_facts(state) for state in states], "last_change": reasons})
    elif states:
        table = plain_table(
            "Workers", "worker", "region", "machine", "state", "calls", "places", "load", right=("calls", "places", "load")
        )
        for state in states:
            facts = _facts(state)
            table.add_row(*(str(facts[name]) for name in ("worker", "region", "machine", "state", "calls", "places", "load")))
        show(table)
    if not states:
        click.echo("no worker was started yet", err=True)
    return 0 if states else NO_DATA


@cluster.command(
    "drain",
    epilog="""\b
Examples:
  voiceagent cluster drain 2""",
)
@click.argument("worker", type=click.IntRange(1, 0xFFFF))
@address_option
@json_option
def drain(worker: int, address: str, as_json: bool) -> None:
    """Have WORKER take no more calls, and end when its last has ended. Another takes its place."""

    async def tell(controller: RayObject) -> None:
        await controller.drain.remote(worker)

    _asked(address, tell)
    if as_json:
        print_json({"worker": worker, "draining": True})
    else:
        click.echo(f"worker {worker} drains: it ends when its calls have")


@cluster.command(
    "down",
    epilog="""\b
Examples:
  voiceagent cluster down                 ends all calls; drain the workers first where they must not""",
)
@address_option
@json_option
def down(address: str, as_json: bool) -> None:
    """End all workers and the gateway, with their calls. A Ray that `up` did not start goes on."""

    _asked(address, on_ray.ended)
    if as_json:
        print_json({"ended": True})
    else:
        click.echo("the workers have ended")


async def _states(controller: RayObject) -> tuple[list[WorkerState], dict[str, str]]:
    return await controller.states.remote(), await controller.reasons.remote()


def _asked(address: str, ask: Callable[[RayObject], Coroutine[None, None, T]]) -> T:
    """Ask the controller. Raises ConfigError where there is none, UnknownNameError."""
    with on_ray.ray_at(address, data_dir()):
        return asyncio.run(on_ray.answered(ask(on_ray.controller_found())))


def _facts(state: WorkerState) -> dict[str, object]:
    status, order = state.status, state.order
    phase = "draining" if state.is_draining else "ready" if state.is_ready else "not ready"
    return {
        "worker": order.number,
        "region": order.region or "any",
        "machine": state.report.machine or "none yet",
        "process": state.report.process,
        "state": phase,
        "reason": "" if state.is_ready else status.reason,
        "calls": status.calls,
        "places": status.places,
        "load": round(status.pressure, 2),
    }
