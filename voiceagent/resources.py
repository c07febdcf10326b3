"""The folder of the files that ship with voiceagent: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(installed: str, checkout: str) -> Path:
    inside = _PACKAGE / "_data" / installed
    return inside if inside.exists() else _PACKAGE.parent / checkout


def web_dir() -> Path:
    """The page and its client library."""
    return _shipped("web", "web")


def registry_file() -> Path:
    """The model registry (YAML)."""
    return _shipped("models/registry.yaml", "models/registry.yaml")


def bundled_models_dir() -> Path:
    """The micro models."""
    return _shipped("models/bundled", "models/bundled")


def default_budgets_file() -> Path:
    """The latency budgets used when none are named."""
    return _shipped("latency_budgets.yaml", "latency_budgets.yaml")


def examples_dir() -> Path:
    """The examples that agents begin from, and `templates.yaml` that lists them."""
    return _shipped("examples", "examples")


def demo_agent_file() -> Path:
    """The demo agent's `agent.yaml`."""
    return _shipped("demo/agent.yaml", "examples/demo/agent.yaml")
