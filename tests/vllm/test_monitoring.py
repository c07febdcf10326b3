"""The dashboard and the alerts ask for what vLLM really exports."""

from __future__ import annotations

import re

from bench.vllm_server import VllmServer
from tests.deploy.test_monitoring import ASKED


def test_every_metric_of_vllm_that_is_asked_for_is_exported(vllm_server: VllmServer) -> None:
    asked = {name for expression in ASKED for name in re.findall(r"\bvllm:\w+", expression)}
    assert len(asked) > 5
    assert asked <= set(vllm_server.metrics())
