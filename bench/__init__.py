"""Benchmarks: each measures figures on this machine and writes them in one schema to `bench/results/`."""
