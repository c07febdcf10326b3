"""`voiceagent plan`: the number of calls that a language model and a GPU carry, and its limit; or, from a load test, the machines
for any number of calls."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import click

from voiceagent.capacity.load_result import read_load
from voiceagent.capacity.plan import (
    SPEECH_COSTS,
    Accelerator,
    Behaviour,
    CapacityPlan,
    Machine,
    SpeechCost,
    accelerator,
    accelerators,
    check_behaviour,
)
from voiceagent.capacity.plan import plan as make_plan
from voiceagent.capacity.shape import WEIGHT_BITS, FoundModel, find_model, known_models
from voiceagent.cli.fleet import DEFAULT_CALLS, MOST_CALLS, plan_fleet
from voiceagent.cli.fleet_simulation import MOST_TOTAL, FleetOptions, Machines, MachinesType, simulate_fleets
from voiceagent.cli.load import Numbers
from voiceagent.cli.output import json_option, print_json
from voiceagent.cli.tables import plain_table, show
from voiceagent.gateway.messages import STATUS_EVERY_S
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.registry import Profile, registry
from voiceagent.models.registry import profile as find_profile
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import models_cache_dir

KV_DTYPES = ("auto", "fp32", "bf16", "fp16", "fp8")
POSITIVE = click.FloatRange(min=0, min_open=True, max=1e6)
SECONDS = click.FloatRange(0, 86_400)


@click.command(
    epilog=f"""\b
Examples:
  voiceagent plan --model qwen3-8b --gpu l40s
  voiceagent plan --model llama-3.3-70b --weights fp8 --gpu h100 --gpus 2 --context 16384
  voiceagent plan --model ./my-model --memory-gb 48 --bandwidth-gbs 900 --tflops 200
  voiceagent plan --measured load.json                          what `bench load --format json` measured
  voiceagent plan --measured load.json --calls 500 --cores 16 --price 0.40
  voiceagent plan --measured load.json --arrivals monday.txt    a line a call: its second
  voiceagent plan --measured load.json --machines fewest --calls 1000 --price 0.40 --deaths 2
  voiceagent plan --measured load.json --machines auto --idle-places 10,50 --traffic day --total 100000

Models: {", ".join(known_models())};
or a folder with a config.json in Hugging Face format.

GPUs: {", ".join(accelerators())}.

What weights and tokens take is exact; how fast they are read is an estimate, from data sheets and from what calls do on
average: measure before you rely on it. --measured simulates one machine as a network of queues instead, from the turns of a
load test. --machines simulates every call on a fleet, by default 100,000 of them. Exit code 1 when not even one call fits, or no
fleet holds the budget."""
)
@click.option("--measured", type=click.Path(path_type=Path), help="Simulate from this result of `bench load --format json`.")
@click.option("--calls", type=Numbers(MOST_CALLS), help="With --measured: calls at a time. Default: 10 to 100,000.")
@click.option("--arrivals", type=click.Path(path_type=Path), help="With --measured: seconds at which calls come, one a line.")
@click.option("--call-s", default=180.0, show_default=True, type=POSITIVE, help="With --measured: a call's mean length.")
@click.option("--price", type=POSITIVE, help="With --measured: what a machine costs an hour.")
@click.option("--with-callers", is_flag=True, help="With --measured: the callers' work counts, too, if it ran there.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="With --measured: of the simulation.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 256), help="With --measured: of a machine.")
@click.option("--machines", type=MachinesType(), help="With --measured: simulate all calls on so many machines, or find them.")
@click.option("--places", type=click.IntRange(1, 100_000), help="With --machines: of a worker. Default: as the budget allows.")
@click.option(
    "--traffic",
    default="steady",
    show_default=True,
    type=click.Choice(["steady", "day", "burst"]),
    help="With --machines: how calls come; --calls are those of a day's peak.",
)
@click.option("--total", type=click.IntRange(100, MOST_TOTAL), help="With --machines: the calls that come. Default: 100,000.")
@click.option(
    "--burst-times", default=5.0, show_default=True, type=click.FloatRange(1, 1000), help="Of a burst: its calls, times."
)
@click.option("--burst-s", default=60.0, show_default=True, type=click.FloatRange(1, 86_400), help="Of a burst: how long.")
@click.option("--lengths", type=click.Path(path_type=Path), help="With --machines: seconds that calls last, one a line.")
@click.option(
    "--refused", default=0.01, show_default=True, type=click.FloatRange(0, 1), help="With --machines: the share that may be."
)
@click.option("--gateways", default=1, show_default=True, type=click.IntRange(1, 64), help="With --machines: that place calls.")
@click.option(
    "--status-s",
    default=STATUS_EVERY_S,
    show_default=True,
    type=click.FloatRange(0.01, 600),
    help="With --machines: age of a status.",
)
@click.option("--worker-start-s", default=15.0, show_default=True, type=SECONDS, help="With --machines: until it takes calls.")
@click.option("--machine-start-s", default=120.0, show_default=True, type=SECONDS, help="With --machines: before its workers.")
@click.option("--idle-places", default="2", show_default=True, type=Numbers(1_000_000), help="With --machines auto: kept free.")
@click.option("--deaths", default=0, show_default=True, type=click.IntRange(0, 1000), help="With --machines: of machines.")
@click.option("--resume-s", default=3.0, show_default=True, type=SECONDS, help="With --machines: until a call goes on elsewhere.")
@click.option("--model", default="", help="A well-known model, one of the registry, or a folder with a config.json.")
@click.option("--gpu", default="", help="A GPU of the table; the next three options override its figures.")
@click.option("--memory-gb", type=POSITIVE, help="Its memory, in 10⁹ bytes.")
@click.option("--bandwidth-gbs", type=POSITIVE, help="Its memory's bandwidth, in 10⁹ bytes a second.")
@click.option("--tflops", type=POSITIVE, help="Its dense 16-bit operations, 10¹² a second.")
@click.option("--gpus", default=1, show_default=True, type=click.IntRange(1, 64), help="GPUs that share the model.")
@click.option("--weights", type=click.Choice(list(WEIGHT_BITS)), help="The layers' type. Default: the model's own.")
@click.option("--kv-dtype", default="auto", show_default=True, type=click.Choice(KV_DTYPES), help="Of the KV cache.")
@click.option("--context", default=8192, show_default=True, type=click.IntRange(1, 10_000_000), help="Tokens of a conversation.")
@click.option("--profile", default="gpu", show_default=True, help="Whose latency budget, recogniser and voice.")
@click.option("--budgets", type=click.Path(path_type=Path), help="Latency budgets. Default: the shipped latency_budgets.yaml.")
@click.option(
    "--gpu-memory-utilization", default=0.9, show_default=True, type=click.FloatRange(0.05, 1), help="As given to vLLM."
)
@click.option("--reserve-gb", default=2.0, show_default=True, type=click.FloatRange(0, 1000), help="Of that, for activations.")
@click.option("--stt-rtf", type=POSITIVE, help="Seconds of computing for a second of the caller's speech.")
@click.option("--tts-rtf", type=POSITIVE, help="The same for the agent's.")
@click.option("--cores", type=click.IntRange(1, 4096), help="CPU cores for speech and media. Default: this machine's.")
@click.option("--turn-s", default=12.0, show_default=True, type=POSITIVE, help="A call has a turn so often.")
@click.option("--new-tokens", default=150, show_default=True, type=click.IntRange(1, 1_000_000), help="A turn's uncached prompt.")
@click.option("--reply-tokens", default=60, show_default=True, type=click.IntRange(1, 100_000), help="A turn's answer.")
@json_option
def plan(
    measured: Path | None,
    calls: tuple[int, ...] | None,
    arrivals: Path | None,
    call_s: float,
    price: float | None,
    with_callers: bool,
    seed: int,
    workers: int,
    machines: Machines | None,
    places: int | None,
    traffic: str,
    total: int | None,
    burst_times: float,
    burst_s: float,
    lengths: Path | None,
    refused: float,
    gateways: int,
    status_s: float,
    worker_start_s: float,
    machine_start_s: float,
    idle_places: tuple[int, ...],
    deaths: int,
    resume_s: float,
    model: str,
    gpu: str,
    memory_gb: float | None,
    bandwidth_gbs: float | None,
    tflops: float | None,
    gpus: int,
    weights: str | None,
    kv_dtype: str,
    context: int,
    profile: str,
    budgets: Path | None,
    gpu_memory_utilization: float,
    reserve_gb: float,
    stt_rtf: float | None,
    tts_rtf: float | None,
    cores: int | None,
    turn_s: float,
    new_tokens: int,
    reply_tokens: int,
    as_json: bool,
) -> int:
    """Show how many calls fit a model on a GPU within the latency budget, and what limits them; or, from a load test, the
    machines for any number of calls."""
    if bool(model) is (measured is not None):
        raise click.UsageError("give --model, or --measured with the result of `voiceagent bench load --format json`")
    if machines is not None and measured is None:
        raise click.UsageError("--machines needs --measured with the result of `voiceagent bench load --format json`")
    if measured is not None and machines is not None:
        options = FleetOptions(
            *(machines, workers, places, traffic, total, burst_times, burst_s, lengths, refused),
            *(gateways, status_s, worker_start_s, machine_start_s, idle_places, deaths, resume_s),
        )
        return simulate_fleets(
            read_load(measured),
            calls,
            arrivals,
            options,
            cores=cores,
            call_s=call_s,
            price=price,
            with_callers=with_callers,
            seed=seed,
            as_json=as_json,
        )
    if measured is not None:
        return plan_fleet(
            read_load(measured),
            calls or DEFAULT_CALLS,
            arrivals,
            cores=cores,
            workers=workers,
            call_s=call_s,
            price=price,
            with_callers=with_callers,
            seed=seed,
            as_json=as_json,
        )
    chosen = find_profile(profile)
    budget = load_budgets(budgets or default_budgets_file()).of(profile)
    found = find_model(model, _registry_folder(model), weights or "")
    card = accelerator(gpu, memory_gb, bandwidth_gbs, tflops)
    machine = Machine(card, gpus, gpu_memory_utilization, reserve_gb, cores or os.cpu_count() or 1)
    behaviour = Behaviour(context_tokens=context, turn_s=turn_s, new_tokens=new_tokens, reply_tokens=reply_tokens)
    check_behaviour(behaviour)
    speech = _speech_cost(chosen, stt_rtf, tts_rtf)
    made = make_plan(found.shape, machine, behaviour, budget, speech, kv_dtype=kv_dtype, file_bytes=found.file_bytes)
    if as_json:
        print_json(_as_data(made, found, machine, behaviour, profile))
    else:
        _print(made, found, card, gpus, behaviour)
    return 0 if made.binding.calls else 1


def _registry_folder(model: str) -> Path | None:
    """The folder in which the registry keeps a model of this name, if it is on this machine."""
    known = registry().models.get(model)
    folder = known.folder(models_cache_dir()) if known else None
    return folder if folder is not None and (folder / "config.json").is_file() else None


def _speech_cost(profile: Profile, stt: float | None, tts: float | None) -> SpeechCost:
    on_gpu = profile.stt.options.get("device") == "cuda"
    measured = None if on_gpu else SPEECH_COSTS.get(profile.stt.model)
    return SpeechCost(stt or measured, tts or SPEECH_COSTS.get(profile.tts.model), on_gpu)


def _print(made: CapacityPlan, found: FoundModel, card: Accelerator, count: int, behaviour: Behaviour) -> None:
    shape = found.shape
    experts = f", {shape.experts.active} of {shape.experts.count} experts a token" if shape.experts else ""
    window = f"; {shape.windowed_layers} of {shape.layers} layers keep {shape.window} tokens at most" if shape.window else ""
    click.echo(f"{shape.name} ({found.source}) on {count} × {card.name} ({card.source})")
    click.echo(
        f"weights    {made.weight_bytes / 1e9:.2f} GB: {shape.parameters / 1e9:.2f} billion parameters, {shape.weights}{experts}"
    )
    click.echo(
        f"KV cache   {made.kv_bytes_per_token / 1024:.1f} KiB a token{window}; {made.kv_bytes_per_call / 1e9:.3f} GB for a call "
        f"of {behaviour.context_tokens} tokens; room for {made.kv_tokens} tokens"
    )
    table = plain_table("", "limit", "calls", "how", right=("calls",))
    for limit in made.limits:
        style = "bold" if limit is made.binding else ""
        table.add_row(limit.name, "?" if limit.calls is None else str(limit.calls), limit.arithmetic, style=style)
    show(table)
    unknown = [limit.name for limit in made.limits if limit.calls is None]
    besides = f"; {' and '.join(unknown)} not counted" if unknown else ""
    click.echo(f"{made.binding.calls} calls: {made.binding.name} is the limit{besides}. An estimate: measure it.")


def _as_data(made: CapacityPlan, found: FoundModel, machine: Machine, behaviour: Behaviour, profile: str) -> dict[str, object]:
    card = machine.accelerator
    return {
        "model": {
            "name": found.shape.name,
            "source": found.source,
            "parameters": found.shape.parameters,
            "weights": found.shape.weights,
            "weight_bytes": made.weight_bytes,
        },
        "machine": {
            "name": card.name,
            "source": card.source,
            "count": machine.count,
            "memory_gb": card.memory_gb,
            "bandwidth_gbs": card.bandwidth_gbs,
            "tflops": card.tflops,
            "memory_utilisation": machine.memory_utilisation,
            "reserve_gb": machine.reserve_gb,
            "cores": machine.cores,
        },
        "behaviour": dataclasses.asdict(behaviour),
        "profile": profile,
        "kv_bytes_per_token": made.kv_bytes_per_token,
        "kv_bytes_per_call": made.kv_bytes_per_call,
        "kv_tokens": made.kv_tokens,
        "limits": [dataclasses.asdict(limit) for limit in made.limits],
        "calls": made.binding.calls,
        "binds": made.binding.name,
    }
