"""The plan of several workers: the share of each of the calls and of the UDP ports, and the arguments of its command. What cannot
work is refused here, in one line."""

from __future__ import annotations

import click
from click.core import ParameterSource

from voiceagent.errors import ConfigError
from voiceagent.gateway.supervisor import WorkerPlan, port_shares, shares
from voiceagent.media.webrtc.ports import MediaPorts
from voiceagent.settings.agent import AgentConfig

MAX_WORKERS = 64
IN_PROCESS = ("vllm",)
"""Engines of the language model that take a whole accelerator for one process."""
OF_THE_FRONT = frozenset(("workers", "host", "port", "tls_cert", "tls_key", "pull", "is_opened", "max_calls"))
"""The options that workers do not get."""


def plan_of(workers: int, agent: AgentConfig, llm_engine: str, arguments: list[str]) -> WorkerPlan:
    """The plan of so many workers. Raises ConfigError for what cannot work."""
    if llm_engine in IN_PROCESS:
        raise ConfigError(
            f"--workers {workers}: the profile {agent.profile} runs {llm_engine} inside the process, and each worker would need "
            "an accelerator for it; serve the model with `vllm serve` and name it by --llm-url, or leave --workers out"
        )
    calls, ports = agent.admission.max_calls, MediaPorts.from_settings(agent.media).ports
    if calls < workers:
        raise ConfigError(f"--workers {workers}: there are more workers than calls at once ({calls}); raise admission.max_calls")
    if ports is not None and len(ports) < workers:
        raise ConfigError(f"--workers {workers}: media.ports has {len(ports)} ports, and each worker needs some; widen the range")
    each: list[range | None] = list(port_shares(ports, workers)) if ports is not None else [None] * workers
    return WorkerPlan(arguments, shares(calls, workers), each)


def worker_arguments(context: click.Context) -> list[str]:
    """The command of this process again, for a worker: without what only the front needs."""
    found = [context.command.name or "serve"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in OF_THE_FRONT or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value = context.params[name]
        if not isinstance(parameter, click.Option) or value is None or value is False:
            continue
        found += [parameter.opts[0]] if parameter.is_flag else [parameter.opts[0], str(value)]
    return found
