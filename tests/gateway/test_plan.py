"""The shares of workers, and what cannot work."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from msgspec import structs

from voiceagent.cli.serve import serve
from voiceagent.errors import ConfigError
from voiceagent.gateway.plan import plan_of, worker_arguments
from voiceagent.gateway.seat import VARIABLE, WorkerSeat, taken_from
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import AgentConfig, load_agent


@pytest.fixture
def agent() -> AgentConfig:
    return load_agent(demo_agent_file())


def with_ports(agent: AgentConfig, ports: str) -> AgentConfig:
    return structs.replace(agent, media=structs.replace(agent.media, ports=ports))


def test_calls_and_ports_are_shared_out(agent: AgentConfig) -> None:
    plan = plan_of(3, with_ports(agent, "40000-40009"), "embedded", [])
    assert plan.max_calls == [6, 5, 5]
    assert plan.ports == [range(40000, 40004), range(40004, 40007), range(40007, 40010)]
    assert plan_of(2, agent, "embedded", []).ports == [None, None]


def test_more_workers_than_ports_or_calls_are_refused(agent: AgentConfig) -> None:
    with pytest.raises(ConfigError, match=r"media.ports has 2 ports, and each worker needs some; widen the range"):
        plan_of(3, with_ports(agent, "40000-40001"), "embedded", [])
    with pytest.raises(ConfigError, match=r"more workers than calls at once \(16\); raise admission.max_calls"):
        plan_of(17, agent, "embedded", [])


def test_an_engine_that_takes_an_accelerator_is_refused(agent: AgentConfig) -> None:
    with pytest.raises(ConfigError, match=r"runs vllm inside the process.*name it by --llm-url"):
        plan_of(2, agent, "vllm", [])


def test_a_worker_gets_the_command_without_what_is_the_fronts(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[str]] = []

    @click.pass_context
    def record(context: click.Context, /, **_: object) -> None:
        found.append(worker_arguments(context))

    monkeypatch.setattr(serve, "callback", record)
    options = ["--host", "0.0.0.0", "--port", "9", "--workers", "4", "--pull", "--open", "--max-calls", "9", "--tls-cert", "x"]
    kept = ["--config", "a.yaml", "--reload", "--event-logs", "3", "--log-format", "json", "--drain-timeout", "7.0"]
    result = CliRunner().invoke(serve, [*options, *kept], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (arguments,) = found
    assert arguments[0] == "serve"
    assert sorted(arguments[1:]) == sorted(kept)


def test_a_seat_is_read_once() -> None:
    seat = WorkerSeat(2, 3, "unix:/run/2", ("unix:/run/front",), 77, has_lines=False)
    environment = {VARIABLE: seat.written(), "HOME": "/"}
    assert taken_from(environment) == seat
    assert environment == {"HOME": "/"}
    assert taken_from(environment) is None


@pytest.mark.parametrize("text", ["3", "{}", '{"number": 0, "of": 1, "address": ""}'])
def test_a_seat_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"set by `voiceagent serve --workers` alone"):
        taken_from({VARIABLE: text})
