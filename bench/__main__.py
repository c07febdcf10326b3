"""`python -m bench [NAME …]`: measure, print the tables, write the results. Exit code 1 when a target is missed. Each benchmark
is a module of this package with `async def measure(options) -> Iterable[Figure]`; its `NOTES`, where it has any, go below the
table."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from pathlib import Path

from bench.harness import RESULTS_DIR, markdown, result, write
from voiceagent.models.choice import PROFILE_VARIABLE

BENCHMARKS = (
    "calls",
    "guard",
    "media",
    "floor",
    "interruptions",
    "simulation",
    "synthesis",
    "endpointing",
    "slow_tools",
    "context",
)
"""Modules of this package, in the order in which `make bench` runs them."""
ON_REQUEST = (
    "attacks",
    "bundled",
    "degrading",
    "degrading_real",
    "ears",
    "encoder",
    "fanout",
    "fleet",
    "held_out",
    "killed",
    "measuring",
    "model_service",
    "noise",
    "opening_words",
    "peers",
    "people",
    "people_recogniser",
    "phone",
    "prediction",
    "published_voice",
    "real",
    "reports",
    "scenarios",
    "soak",
    "starter",
    "steps",
    "transcription",
    "values",
    "vllm",
    "vocabulary",
    "voicemail",
    "waits",
    "workers",
)
"""Run only when named: they take up to an hour, and some install other people's software."""

MODULES = {"peers_real": "bench.peers.published", "phone": "bench.phone.figures", "starter": "bench.starter.measure"}
"""The modules of benchmarks that have another name than their module."""


def main() -> int:
    """Run the chosen benchmarks."""
    os.environ.setdefault(PROFILE_VARIABLE, "embedded")  # whatever other models this machine has
    names = f"which benchmarks (default: {', '.join(BENCHMARKS)}); on request: {', '.join(ON_REQUEST)}"
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure voiceagent on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    turns = "undisturbed turns to measure (default: calls 50, peers and real 100, peers --real 30, people all, prediction 60)"
    parser.add_argument("--turns", type=int, help=turns)
    profiles = "real: the profiles to measure (default: embedded,real-speech); peers --real: the profile (default: real-speech); "
    profiles += "soak: the profile (default: embedded); people: the profile (default: starter); "
    profiles += "phone: the profiles (default: embedded,starter); model_service, workers: the profile (default: embedded)"
    parser.add_argument("--profile", default="", help=profiles)
    parser.add_argument("--minutes", type=float, default=60.0, help="soak: talk for so long (default: 60)")
    parser.add_argument(
        "--voice", type=Path, help="the .onnx of a published Piper voice: measured in synthesis besides, the caller in starter"
    )
    parser.add_argument("--real", action="store_true", help="peers: on published models; writes peers_real")
    parser.add_argument("--together", action="store_true", help="peers: call all servers at the same time, not in turn")
    parser.add_argument(
        "--part", default="turns", choices=("turns", "short"), help="people: their turns, or their answers of a word or two"
    )
    manners = "people: how voiceagent takes turns, joined by commas; default: as its agent says (default: brisk,balanced,patient;"
    parser.add_argument("--manners", default="", help=f"{manners} of --part short balanced)")
    parser.add_argument("--only", choices=("ours",), help="people: without Pipecat")
    parser.add_argument(
        "--at-once", type=int, default=1, help="people: so many calls at a time, each to another server (default: 1)"
    )
    parser.add_argument("--shape", default="micro", choices=("micro", "8b", "30b-a3b", "tiny"), help="vllm: the model's shape")
    parser.add_argument(
        "--calls",
        type=int,
        nargs="*",
        help="how many calls at a time: vllm (default: 1 4 16; of a shape 1 16 64 256), prediction (default: 1 3 6), workers, "
        "degrading_real (one number)",
    )
    parser.add_argument("--model", type=Path, help="starter: the onnxruntime-genai folder (default: the profile's model)")
    parser.add_argument("--whisper", type=Path, help="starter: the CTranslate2 folder that hears (default: whisper-tiny.en)")
    parser.add_argument(
        "--split", default="held_out", choices=("dev", "held_out"), help="starter: which requests; floor, noise: which sounds"
    )
    parser.add_argument("--set", choices=("demo", "unseen", "none", "facts"), help="starter: one set alone")
    parser.add_argument("--text-only", action="store_true", help="starter: without speech; values: without synthetic speech")
    parser.add_argument("--limit", type=int, help="starter: so many dialogues of each agent")
    parser.add_argument(
        "--namespaces", action="store_true", help="workers: the server in a network namespace of its own; as root"
    )
    parser.add_argument("--out", type=Path, default=RESULTS_DIR, help="folder for the results (default: bench/results)")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(BENCHMARKS) - set(ON_REQUEST))
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}: choose from {', '.join((*BENCHMARKS, *ON_REQUEST))}")
    ok = True
    for chosen in options.names or BENCHMARKS:
        name = f"{chosen}_real" if chosen == "peers" and options.real else chosen
        module = importlib.import_module(MODULES.get(name, f"bench.{name}"))
        named = getattr(module, "result_name", lambda options, name=name: name)(options)
        measured = result(named, asyncio.run(module.measure(options)))
        path = write(measured, options.out, getattr(module, "NOTES", ""))
        print(markdown(measured))
        print(f"written to {path}")
        ok = ok and measured.ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
