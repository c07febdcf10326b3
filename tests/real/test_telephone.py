"""A telephone, baresip, calls an agent on published models by SIP: kamailio is the PBX, Janus the gateway, and the published
voice the caller."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.real.conftest import Said
from tests.real.models import fetched
from tests.real.test_calls import REQUESTS
from tests.server_process import PROFILE as CHOSEN
from tests.telephone.sip_parts import RATE_HZ, phone
from tests.telephone.test_sip_calls import an_exchange, quiet_after_speech
from tests.telephone.test_telephone_calls import ended
from voiceagent.audio.resample import resample
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.engines import load_stt
from voiceagent.models.registry import profile

PROFILE = CHOSEN or "starter"
REQUEST = "What's the weather in London tomorrow?"


async def test_a_request_that_a_telephone_speaks_is_answered_with_the_tools_result(said: Said, tmp_path: Path) -> None:
    fetched("--profile", PROFILE)
    pcm, rate_hz = await said(REQUEST)
    async with (
        an_exchange(tmp_path, further=("--profile", PROFILE)) as exchange,
        phone(tmp_path, "alice", exchange.pbx_port) as alice,
    ):
        await alice.do("dial", exchange.agent)
        await quiet_after_speech(alice, 0, 0.6)
        asked = len(alice.heard())
        await alice.say(resample(pcm, rate_hz, RATE_HZ))
        answer = await quiet_after_speech(alice, asked, 1.2)
        await alice.do("hangup")
        await alice.wait_told("CALL_CLOSED")
        steps = await ended(exchange.server, 1)
    calls = [action for _, actions in steps for action in actions if isinstance(action, act.ToolStarted)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [REQUESTS[REQUEST]]
    (output,) = {event.output for event, _ in steps if isinstance(event, ev.ToolFinished | ev.SpeculativeToolFinished)}
    temperature = str(json.loads(output)["temperature"])
    stt = load_stt(profile(PROFILE).stt)
    try:
        heard = (resample(answer, RATE_HZ, 16_000) / np.float32(32768)).astype(np.float32)
        assert f"{temperature} degrees" in (await stt.transcribe(heard, final=True)).text
    finally:
        await stt.close()
