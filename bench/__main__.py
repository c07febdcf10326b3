"""`python -m bench [calls] [--turns N] [--out FOLDER]`: measure, print the table, write the results. Exit code 1 when a target is
missed."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from bench import calls
from bench.harness import RESULTS_DIR, markdown, result, write

BENCHMARKS = ("calls",)


def main() -> int:
    """Run the chosen benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure voiceagent on this machine.")
    parser.add_argument("name", nargs="?", choices=BENCHMARKS, default="calls", help="which benchmark")
    parser.add_argument("--turns", type=int, default=50, help="undisturbed turns to measure (default: 50)")
    parser.add_argument("--out", type=Path, default=RESULTS_DIR, help="folder for the results (default: bench/results)")
    options = parser.parse_args()
    measured = result(options.name, asyncio.run(calls.measure(options.turns)))
    path = write(measured, options.out)
    print(markdown(measured))
    print(f"written to {path}")
    return 0 if measured.ok else 1


if __name__ == "__main__":
    sys.exit(main())
