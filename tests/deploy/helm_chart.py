"""The chart, rendered by Helm; what comes out is held against the schemas of Kubernetes' resources, and its commands against the
program's own parser. `make test-helm` runs this with $HELM_VENV, which has both tools. No cluster takes part."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.test_helm import CHART
from tests.deploy.test_kuberay import PODS, RESOURCES
from tests.docs.test_blocks import parse

TOOLS = Path(os.environ.get("HELM_VENV", "")) / "bin"
OLDEST, NEWEST = "1.28", "1.37"
"""The first version that the chart takes, and the last whose schemas are at hand."""
CASES = {
    "as it comes": (),
    "all that can be switched on": (
        "gpu.enabled=true",
        "gpu.runtimeClassName=nvidia",
        "profile=gpu",
        "llm.url=http://vllm:8000/v1",
        "replicas=3",
        "ingress.enabled=true",
        "ingress.className=nginx",
        "ingress.tlsSecret=voice-tls",
        "ingress.annotations.nginx\\.ingress\\.kubernetes\\.io/proxy-buffering=off",
        "image.pullSecrets={one,two}",
        "media.address=203.0.113.7",
        "media.iceUrls=turn:turn.example.org:3478",
        "persistence.data.storageClass=fast",
        "options={--log-format,json}",
        "env.OMP_NUM_THREADS=1",
        "podAnnotations.a=b",
        "service.annotations.a=b",
        "serviceAccount.annotations.a=b",
        "nodeSelector.voice=yes",
        "tolerations[0].key=voice",
        "tolerations[0].operator=Exists",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=a",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=Exists",
    ),
    "without what can be switched off": (
        "media.hostNetwork=false",
        "pullModels=false",
        "agent.existingConfigMap=ours",
        "service.type=LoadBalancer",
        "resources.limits=null",
    ),
}


def helm(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    return subprocess.run([TOOLS / "helm", *arguments], capture_output=True, text=True, env=environment, timeout=60, check=False)


def rendered(settings: Sequence[str], folder: Path, *options: str) -> str:
    sets = [word for setting in settings for word in ("--set", setting)]
    ended = helm("template", "front-desk", str(CHART), "--namespace", "voice", *sets, *options, folder=folder)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def resources(text: str) -> dict[str, dict[str, Any]]:
    """What was rendered, by kind and name."""
    return {f"{each['kind']} {each['metadata']['name']}": each for each in yaml.safe_load_all(text) if each}


def test_helm_finds_no_fault(tmp_path: Path) -> None:
    ended = helm("lint", "--strict", str(CHART), folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("case", CASES)
def test_every_resource_is_one_of_kubernetes(case: str, version: str, tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    file.write_text(rendered(CASES[case], tmp_path, "--kube-version", version))
    command = [str(TOOLS / "kubernetes-validate"), "--strict", "--kubernetes-version", version, str(file)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert judged.stdout.count("passed") + judged.stderr.count("passed") == len(resources(file.read_text()))


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_the_manifest_for_kuberay_holds_resources_and_pods_of_kubernetes(version: str, tmp_path: Path) -> None:
    """KubeRay's own resource is in none of the schemas, so its pods are judged alone."""
    known = [each for each in RESOURCES.values() if each["kind"] != "RayCluster"]
    pods = [
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": pod} for name, pod in PODS.items()
    ]
    file = tmp_path / "kuberay.yaml"
    file.write_text(yaml.safe_dump_all([*known, *pods]))
    command = [str(TOOLS / "kubernetes-validate"), "--strict", "--kubernetes-version", version, str(file)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert judged.stdout.count("passed") + judged.stderr.count("passed") == len(known) + len(pods)


@pytest.mark.parametrize("case", CASES)
def test_its_commands_are_those_of_the_program(case: str, tmp_path: Path) -> None:
    pod = resources(rendered(CASES[case], tmp_path))["StatefulSet front-desk-voiceagent"]["spec"]["template"]["spec"]
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        parse([word.replace("$(POD_IP)", "192.0.2.1") for word in container["args"]])


def test_the_pod_has_the_time_to_drain_and_gives_a_gpu_only_where_asked(tmp_path: Path) -> None:
    plain = resources(rendered(("drainTimeoutSeconds=1200",), tmp_path))["StatefulSet front-desk-voiceagent"]
    pod = plain["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 1200
    assert pod["containers"][0]["image"] == "voiceagent:0.1.0"
    assert "nvidia.com/gpu" not in pod["containers"][0]["resources"]["limits"]
    with_gpu = resources(rendered(CASES["all that can be switched on"], tmp_path))["StatefulSet front-desk-voiceagent"]
    pod = with_gpu["spec"]["template"]["spec"]
    assert (pod["runtimeClassName"], pod["containers"][0]["image"]) == ("nvidia", "voiceagent:0.1.0-gpu")
    assert pod["containers"][0]["resources"]["limits"] == {"memory": "4Gi", "nvidia.com/gpu": 1}


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("replica=2", "additional properties 'replica' not allowed"),
        ("media.ports=40000", "/media/ports"),
        ("profile=gpu", "the profile gpu asks a vLLM server: set llm.url"),
    ],
)
def test_what_cannot_work_is_refused(setting: str, told: str, tmp_path: Path) -> None:
    ended = helm("template", "front-desk", str(CHART), "--set", setting, folder=tmp_path)
    assert ended.returncode != 0
    assert told in ended.stderr


@pytest.mark.parametrize(("release", "name"), [("voiceagent", "voiceagent"), ("desk", "desk-voiceagent"), ("x" * 53, "x" * 47)])
def test_names_follow_the_release(release: str, name: str, tmp_path: Path) -> None:
    ended = helm("template", release, str(CHART), folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    names = resources(ended.stdout)
    assert f"StatefulSet {name}" in names
    assert all(len(each.split()[1]) <= 63 for each in names)
