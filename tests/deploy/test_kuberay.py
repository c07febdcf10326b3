"""The manifest for KubeRay as a file: it agrees with itself, with the program and with what is locked. `make test-helm` holds
its pods against the schemas of Kubernetes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from tests.docs.test_blocks import parse
from tests.docs.test_documents import told
from voiceagent import __version__
from voiceagent.media.webrtc.ports import read_ports
from voiceagent.models.registry import registry
from voiceagent.settings.agent import load_agent

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "deploy" / "kuberay" / "voiceagent.yaml"
RESOURCES: dict[str, dict[str, Any]] = {
    f"{each['kind']} {each['metadata']['name']}": each for each in yaml.safe_load_all(MANIFEST.read_text())
}
RAY = RESOURCES["RayCluster voiceagent"]["spec"]
PODS: dict[str, dict[str, Any]] = {
    "head": RAY["headGroupSpec"]["template"],
    **{group["groupName"]: group["template"] for group in RAY["workerGroupSpecs"]},
    "gateway": RESOURCES["StatefulSet voiceagent-gateway"]["spec"]["template"],
}
"""What runs, by its role or its region."""


def gateway_lines() -> list[list[str]]:
    """The commands of the gateway's shell, in order."""
    text = PODS["gateway"]["spec"]["containers"][0]["args"][0]
    return [shlex.split(line.removeprefix("exec ")) for line in text.split(" && ")]


def test_it_is_of_this_version_and_of_the_locked_ray() -> None:
    locked = re.search(r"^ray==(\S+)", (ROOT / "requirements" / "cluster.lock").read_text(), re.MULTILINE)
    assert locked
    assert RAY["rayVersion"] == locked[1]
    images = {container["image"] for pod in PODS.values() for container in pod["spec"]["containers"]}
    assert images == {f"registry.example.org/voiceagent:{__version__}-cluster"}


def test_its_agent_is_one_and_has_ports_for_all_its_workers(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(RESOURCES["ConfigMap voiceagent-agent"]["data"]["agent.yaml"])
    agent = load_agent(file)
    assert f"open {agent.media.ports}/udp" in MANIFEST.read_text()
    ports, up = read_ports(agent.media.ports), gateway_lines()[1]
    assert ports is not None
    assert len(ports) // (2 * int(up[up.index("--max-workers") + 1])) >= agent.admission.max_calls


def test_the_gateway_joins_ray_without_room_for_workers_and_its_command_is_one_of_the_program() -> None:
    join, up = gateway_lines()
    assert join[:2] == ["ray", "start"]
    assert "--address=voiceagent-head-svc:6379" in join  # the operator names it after the cluster
    assert "--num-cpus=0" in join
    parse(up[1:])
    assert up[up.index("--profile") + 1] in registry().profiles
    regions = [up[place + 1] for place, word in enumerate(up) if word == "--region"]
    assert regions == [group["groupName"] for group in RAY["workerGroupSpecs"]]
    assert [group["rayStartParams"]["labels"] for group in RAY["workerGroupSpecs"]] == [
        f"ray.io/region={name}" for name in regions
    ]


def test_each_gateway_names_its_own_link_first_and_then_those_of_all() -> None:
    gateways = RESOURCES["StatefulSet voiceagent-gateway"]["spec"]
    service, up = RESOURCES[f"Service {gateways['serviceName']}"], gateway_lines()[1]
    own, *all_ = [up[place + 1] for place, word in enumerate(up) if word == "--link"]
    where = f"{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert own == f"$HOSTNAME.{where}"
    assert all_ == [f"voiceagent-gateway-{number}.{where}" for number in range(gateways["replicas"])]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True  # a gateway is ready once workers have found it


def test_only_workers_have_room_for_workers_and_they_fetch_their_models_first() -> None:
    assert RAY["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    for group in RAY["workerGroupSpecs"]:
        assert int(group["rayStartParams"]["num-cpus"]) > 0
        pod = group["template"]["spec"]
        fetch = pod["initContainers"][0]["command"]
        parse(fetch[1:])
        assert pod["hostNetwork"] is True
        assert pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]


def test_ray_asks_for_its_token_everywhere_and_every_variable_exists() -> None:
    for pod in PODS.values():
        for container in pod["spec"]["containers"]:
            assert {"name": "RAY_AUTH_MODE", "value": "token"} in container["env"]
            assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
            assert container["envFrom"] == [{"secretRef": {"name": "voiceagent"}}]
    assert set(re.findall(r"\bVOICEAGENT_[A-Z_]+[A-Z]", MANIFEST.read_text())) <= set(told())
    assert "RAY_AUTH_TOKEN" in MANIFEST.read_text()


def test_every_pod_is_confined_and_selected_by_what_means_it() -> None:
    for pod in PODS.values():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
            assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
            assert "memory" in container["resources"]["limits"]
    labels = {role: pod["metadata"]["labels"] for role, pod in PODS.items()}
    selected = RESOURCES["StatefulSet voiceagent-gateway"]["spec"]["selector"]["matchLabels"]
    assert selected == labels["gateway"]
    for name in ("voiceagent", "voiceagent-gateway"):
        assert RESOURCES[f"Service {name}"]["spec"]["selector"] == selected
    assert RESOURCES["NetworkPolicy voiceagent-ray"]["spec"]["podSelector"]["matchLabels"] == labels["head"]
