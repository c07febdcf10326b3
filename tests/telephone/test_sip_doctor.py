"""What `voiceagent doctor` says of the gateway."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.telephone.sip_parts import GATEWAY_SECRET, HOST, free_port, janus
from voiceagent.doctor import examine
from voiceagent.doctor.finding import Finding, Settings

AGENT = "telephony: {{sip: {{account: 'sip:agent@pbx.example.org', gateway: 'ws://{host}:{port}'}}}}\n"


def gateway(config: Path) -> Finding:
    return next(finding for finding in examine(Settings(config=config)) if finding.name == "SIP gateway")


async def test_it_knows_whether_janus_answers_and_takes_the_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port, config = free_port(socket.SOCK_STREAM), tmp_path / "agent.yaml"
    config.write_text(AGENT.format(host=HOST, port=port))
    monkeypatch.setenv("VOICEAGENT_SIP_PASSWORD", "p")
    monkeypatch.setenv("VOICEAGENT_JANUS_SECRET", GATEWAY_SECRET)
    nobody = await asyncio.to_thread(gateway, config)
    assert nobody.status == "fail"
    assert "Janus does not answer" in nobody.detail
    async with janus(tmp_path / "janus", port):
        fine = await asyncio.to_thread(gateway, config)
        assert (fine.status, fine.detail) == (
            "ok",
            f"Janus answers at ws://{HOST}:{port}, with its SIP plugin, for sip:agent@pbx.example.org",
        )
        monkeypatch.setenv("VOICEAGENT_JANUS_SECRET", "another")
        refused = await asyncio.to_thread(gateway, config)
        assert refused.status == "fail"
        assert "refuses our secret" in refused.detail
        assert "another" not in refused.detail
