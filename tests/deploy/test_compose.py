"""docker-compose.yml: that it is valid, that it is closed by default, and that it agrees with what it is made of."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.programs import program
from tests.turn_relay import SECRET, turn_process
from voiceagent import __version__
from voiceagent.media.webrtc.ports import read_ports
from voiceagent.models.registry import registry
from voiceagent.settings.agent import load_agent

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
BINDS = ("VOICEAGENT_BIND", "TURN_BIND", "MEDIA_BIND", "SIP_BIND")
"""Variables that say on which address a port is published."""
ONCE = ("models", "models-gpu")
"""Services that do their work and end."""


def client() -> list[str]:
    """`docker compose`, or Debian's docker-compose."""
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [docker, "compose"]
    return [program("docker-compose", "docker-compose")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a user has after cloning, without secrets."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets"))
    for name in ("docker-compose.yml", "Dockerfile"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def on_network(network: str) -> set[str]:
    """The services there."""
    return {name for name, service in SERVICES.items() if network in service.get("networks", ())}


def configured(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    secret = re.compile("^(VOICEAGENT|TURN|GRAFANA|VLLM|AGENT)_")
    environment = {key: value for key, value in os.environ.items() if not secret.match(key)}
    command = [*client(), *arguments, "config"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(("profile", "services"), [("cpu", {"agent", "models"}), ("gpu", {"agent-gpu", "models-gpu", "vllm"})])
def test_compose_takes_it_once_the_secrets_are_made(checkout: Path, profile: str, services: set[str]) -> None:
    subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, check=True, capture_output=True)
    found = configured(checkout, "--profile", profile)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert services | {"coturn", "prometheus", "grafana"} <= set(yaml.safe_load(found.stdout)["services"])


@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_no_service_asks_for_more_cpus_than_the_smallest_machine_has(checkout: Path, profile: str) -> None:
    subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, check=True, capture_output=True)
    services = yaml.safe_load(configured(checkout, "--profile", profile).stdout)["services"]
    assert all(float(service["cpus"]) <= 1 for service in services.values())


def test_the_gateway_to_a_trunk_comes_with_a_profile_of_its_own(checkout: Path) -> None:
    subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, check=True, capture_output=True)
    found = configured(checkout, "--profile", "cpu", "--profile", "sip")
    assert found.returncode == 0, found.stderr
    assert "janus" in yaml.safe_load(found.stdout)["services"]
    assert not SERVICES["janus"]["ports"][0].startswith("0.0.0.0")


def test_the_ports_for_audio_of_the_gateway_are_published() -> None:
    ports = re.findall(r"JANUS_SIP_PORTS:-(\d+-\d+)", (ROOT / "deploy/janus/start.sh").read_text())
    assert [f"${{SIP_BIND:-127.0.0.1}}:{each}:{each}/udp" for each in ports] == SERVICES["janus"]["ports"]


def test_janus_does_not_start_without_its_secret(tmp_path: Path) -> None:
    environment = {**os.environ, "JANUS_SECRET_FILE": str(tmp_path / "none"), "JANUS_RUN_FOLDER": str(tmp_path)}
    command = ["sh", str(ROOT / "deploy/janus/start.sh")]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 1
    assert ended.stderr == f"{tmp_path}/none is missing or empty: run deploy/secrets.sh\n"


def test_without_secrets_it_says_how_to_make_them(checkout: Path) -> None:
    found = configured(checkout, "--profile", "cpu")
    assert found.returncode != 0
    assert "deploy/secrets.sh" in found.stderr


def test_secrets_are_made_once_and_for_their_owner(checkout: Path) -> None:
    subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, check=True, capture_output=True)
    made = dict(line.split("=") for line in (checkout / ".env").read_text().splitlines())
    assert len(set(made.values())) == 5
    assert all(re.fullmatch("[0-9a-f]{48}", value) for value in made.values())
    assert (checkout / "deploy/secrets/metrics.key").read_text() == made["VOICEAGENT_METRICS_KEY"]
    assert (checkout / "deploy/secrets/turn.secret").read_text() == made["VOICEAGENT_TURN_SECRET"]
    assert (checkout / "deploy/secrets/janus.secret").read_text() == made["VOICEAGENT_JANUS_SECRET"]
    assert stat.S_IMODE((checkout / ".env").stat().st_mode) == 0o600
    assert stat.S_IMODE((checkout / "deploy/secrets").stat().st_mode) == 0o700
    again = subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "already" in again.stderr


def test_who_has_an_older_env_gets_the_file_for_coturn_of_it(checkout: Path) -> None:
    (checkout / ".env").write_text("VOICEAGENT_TURN_SECRET=from-before\n")
    subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, check=True, capture_output=True)
    assert (checkout / "deploy/secrets/turn.secret").read_text() == "from-before"
    assert (checkout / ".env").read_text() == "VOICEAGENT_TURN_SECRET=from-before\n"


@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_no_secret_stands_on_a_command_line(checkout: Path, profile: str) -> None:
    subprocess.run(["sh", "deploy/secrets.sh"], cwd=checkout, check=True, capture_output=True)
    secrets = [line.split("=")[1] for line in (checkout / ".env").read_text().splitlines()]
    assert len(secrets) == 5
    for name, service in yaml.safe_load(configured(checkout, "--profile", profile).stdout)["services"].items():
        said = repr([service.get(key) for key in ("command", "entrypoint", "healthcheck", "labels")])
        assert not [secret for secret in secrets if secret in said], name


def told_of(process: int) -> str:
    """A process's command line and environment."""
    return "".join(Path(f"/proc/{process}/{name}").read_text() for name in ("cmdline", "environ"))


async def test_coturn_starts_with_a_secret_that_no_other_user_sees(tmp_path: Path) -> None:
    async with turn_process(tmp_path) as (process, _):
        assert SECRET not in told_of(process.pid)
        made = tmp_path / "turnserver.conf"
        assert f"static-auth-secret={SECRET}" in made.read_text().splitlines()
        assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_coturn_does_not_start_without_its_secret(tmp_path: Path) -> None:
    environment = {**os.environ, "TURN_SECRET_FILE": str(tmp_path / "none"), "TURN_RUN_FOLDER": str(tmp_path)}
    command = ["sh", str(ROOT / "deploy/coturn/start.sh")]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 1
    assert ended.stderr == f"{tmp_path}/none is missing or empty: run deploy/secrets.sh\n"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["user"].split(":")[0] != "0"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"cpus", "mem_limit", "pids_limit"} <= set(service)
    assert service["logging"]["options"]["max-size"]
    assert (name in ONCE) or service["healthcheck"]["test"]
    assert not service.get("privileged")
    assert "network_mode" not in service
    assert re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)?:v?\d+\.\d+\.\d+(-gpu)?(@sha256:[0-9a-f]{64})?", service["image"]), (
        "a name, a version, no registry"
    )


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_listens_beyond_loopback_by_default(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith(("127.0.0.1:", *(f"${{{name}:-127.0.0.1}}:" for name in BINDS)))


@pytest.mark.parametrize("name", ["agent", "agent-gpu"])
def test_the_ports_for_audio_are_those_that_the_agent_takes(name: str) -> None:
    ports = SERVICES[name]["environment"]["VOICEAGENT_MEDIA_PORTS"]
    assert any(port.endswith(f":{ports}:{ports}/udp") for port in SERVICES[name]["ports"])
    assert read_ports(ports) is not None


def test_a_turn_relay_reaches_the_agents_network_and_nothing_else() -> None:
    subnet = ipaddress.ip_network(COMPOSE["networks"]["media"]["ipam"]["config"][0]["subnet"])
    lines = (ROOT / "deploy/coturn/turnserver.conf").read_text().splitlines()
    settings = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    allowed = [value for key, value in settings if key == "allowed-peer-ip"]
    assert allowed == [f"{subnet[0]}-{subnet[-1]}"]
    assert ["denied-peer-ip", "0.0.0.0-255.255.255.255"] in settings
    ports = "-".join(value for key, value in settings if key in ("min-port", "max-port"))
    assert any(f":{ports}:{ports}/udp" in port for port in SERVICES["coturn"]["ports"])
    assert on_network("media") == {"agent", "agent-gpu", "coturn", "janus"}


def test_vllm_has_no_way_out_and_only_the_agent_and_prometheus_have_one_in() -> None:
    assert COMPOSE["networks"]["model"]["internal"] is True
    assert SERVICES["vllm"]["networks"] == ["model"]
    assert on_network("model") == {"vllm", "agent-gpu", "prometheus"}


def test_vllm_serves_the_model_of_the_profile() -> None:
    spec = registry().profile("gpu").llm
    folder = registry().model(spec.model).folder(Path("/models"))
    command = SERVICES["vllm"]["command"]
    assert command[0] == str(folder)
    assert f"--served-model-name={spec.options['served_model']}" in command
    context = int(next(option for option in command if option.startswith("--max-model-len=")).partition("=")[2])
    assert load_agent(ROOT / "deploy/agent/agent.yaml").admission.context_tokens_per_call <= context


def test_the_images_of_ours_are_of_this_version() -> None:
    for name in ("agent", "agent-gpu", *ONCE):
        assert SERVICES[name]["image"].removesuffix("-gpu") == f"voiceagent:{__version__}"


def test_what_is_mounted_is_there() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists()


def test_the_image_is_built_of_files_that_are_there_and_not_ignored() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    sources = " ".join(copied).split()
    assert len(sources) > 8
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for source in sources:
        assert (ROOT / source).exists()
        assert source in kept
