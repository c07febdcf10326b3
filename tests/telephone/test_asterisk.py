"""Asterisk's `chan_websocket`, by a peer written from its document: both forms of its messages, its queue, its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import MakeService
from tests.server_process import complaints
from tests.telephone.asterisk_peer import PASSWORD, AsteriskPeer, basic
from tests.telephone.conftest import EchoServer, echoing
from tests.telephone.peers import CALLED, CALLER
from tests.telephone.test_refusals import complaint_of
from tests.telephone.test_streams import loud, peak_hz, tone
from voiceagent.errors import ConfigError, MediaError
from voiceagent.server.http.app import CALLS
from voiceagent.settings.agent import load_agent
from voiceagent.settings.telephone import TelephonySettings
from voiceagent.telephone.messages import CallFacts, Digit, Flow, MarkReached, Started
from voiceagent.telephone.streams.dialects import FORMATS, AsteriskStream
from voiceagent.telephone.streams.vendors import StreamLimits, Telephone

BOTH = pytest.mark.parametrize("is_json", [True, False], ids=["json", "plain"])


@pytest.fixture
async def pbx(make_service: MakeService, limits: StreamLimits) -> AsyncIterator[EchoServer]:
    """Takes Asterisk's calls only, without an address that others would sign."""
    telephone = Telephone.from_settings(TelephonySettings(("asterisk",)), {"VOICEAGENT_ASTERISK_PASSWORD": PASSWORD})
    async with echoing(make_service, replace(telephone, limits=limits)) as server:
        yield server


@BOTH
@pytest.mark.parametrize("name", ["ulaw", "alaw", "slin", "slin16"])
async def test_a_tone_goes_to_the_agent_and_comes_back_whole(pbx: EchoServer, name: str, is_json: bool) -> None:
    async with AsteriskPeer(pbx.session, pbx.url, name, is_json, parameters={"customer": "42"}) as peer:
        peer.say(tone(440, peer.rate_hz, 1.0))
        await peer.wait(lambda: len(loud(peer.heard_pcm())) >= 0.98 * peer.rate_hz)
    assert abs(peak_hz(loud(peer.heard_pcm()), peer.rate_hz) - 440) < 3
    leg = pbx.calls[0].leg
    assert leg.counters["packets_malformed"] == leg.counters["marks_missing"] == leg.counters["marks_stale"] == 0
    facts = leg.facts
    assert (facts.caller, facts.called, facts.vendors_id) == (CALLER, CALLED, "pbx1-123456789.999")
    assert facts.parameters == {"customer": "42"}


@BOTH
async def test_keys_are_one_message_that_asks_for_an_answer(pbx: EchoServer, is_json: bool) -> None:
    async with AsteriskPeer(pbx.session, pbx.url, is_json=is_json) as peer:
        await peer.press("12*4#")
        await peer.wait(lambda: bool(pbx.calls) and len(pbx.calls[0].typed) == 3)
    typed = [json.loads(text) for text in pbx.calls[0].typed]
    assert [event["type"] for event in typed] == ["output_audio_buffer.clear", "conversation.item.create", "response.create"]
    assert typed[1]["item"]["content"][0]["text"] == "12*4"


@BOTH
async def test_what_was_heard_is_what_asterisk_says_that_has_gone_out(pbx: EchoServer, is_json: bool) -> None:
    pbx.echoes = False
    async with AsteriskPeer(pbx.session, pbx.url, is_json=is_json) as peer:
        await pbx.begun.wait()
        call = pbx.calls[0]
        call.say(tone(440, 24_000, 0.5))
        await peer.wait(lambda: len(peer.heard_pcm()) >= 0.2 * peer.rate_hz)
        peer.is_stopped = True
        told = max((position[2] for position in call.sent), default=0.0)
        assert told <= len(peer.heard_pcm()) / 8
        peer.is_stopped = False
        await peer.wait(lambda: (2, 0, 500.0) in call.sent)
    assert len(peer.marks_told) >= 4
    assert call.sent == sorted(call.sent)


@BOTH
async def test_a_cancelled_reply_is_flushed_and_no_more_counts_as_heard_than_was(pbx: EchoServer, is_json: bool) -> None:
    pbx.echoes = False
    async with AsteriskPeer(pbx.session, pbx.url, is_json=is_json) as peer:
        await pbx.begun.wait()
        call = pbx.calls[0]
        call.say(tone(440, 24_000, 5.0))
        await peer.wait(lambda: len(peer.heard_pcm()) >= peer.rate_hz // 2)
        _, _, known_ms = call.leg.playout.cancel(2)
        await peer.wait(lambda: bool(peer.flushes))
        played_ms = len(peer.heard_pcm()) / 8
        call.say(tone(880, 24_000, 0.4), 3)
        await peer.wait(lambda: (3, 0, 400.0) in call.sent)
        rest = loud(peer.heard_pcm(peer.flushes[0]))
    assert played_ms - 250 <= known_ms <= played_ms
    assert abs(peak_hz(rest, peer.rate_hz) - 880) < 10, "nothing of the first is left"
    assert call.leg.counters["marks_stale"] == 0


@BOTH
async def test_nothing_is_sent_between_xoff_and_xon_and_nothing_is_lost(pbx: EchoServer, is_json: bool) -> None:
    pbx.echoes = False
    async with AsteriskPeer(pbx.session, pbx.url, is_json=is_json, xoff_frames=8, xon_frames=3) as peer:
        await pbx.begun.wait()
        call = pbx.calls[0]
        peer.is_stopped = True
        call.say(np.repeat((100 * 1.3 ** np.arange(20)).astype(np.int16), 24_000 // 20))
        await peer.wait(lambda: peer.flow == ["MEDIA_XOFF"])
        kept = peer.frames_kept
        began = asyncio.get_running_loop().time()
        await peer.wait(lambda: asyncio.get_running_loop().time() >= began + 2.5)
        assert peer.frames_kept <= kept + 1
        assert not call.sent, "what Asterisk keeps was not heard, however long it keeps it"
        peer.is_stopped = False
        await peer.wait(lambda: (2, 0, 1000.0) in call.sent)
    assert peer.flow[:2] == ["MEDIA_XOFF", "MEDIA_XON"]
    assert peer.late_frames <= 1, "no more than was on its way"
    levels = peer.heard_pcm().clip(1)
    assert set(np.round(np.log(levels / 100) / np.log(1.3)).tolist()) >= set(range(20)), "nothing is lost"


async def test_a_reply_is_flushed_also_while_asterisk_takes_nothing(pbx: EchoServer) -> None:
    pbx.echoes = False
    async with AsteriskPeer(pbx.session, pbx.url, xoff_frames=8, xon_frames=3) as peer:
        await pbx.begun.wait()
        call = pbx.calls[0]
        peer.is_stopped = True
        call.say(tone(440, 24_000, 2.0))
        await peer.wait(lambda: peer.flow == ["MEDIA_XOFF"])
        assert call.leg.playout.cancel(2)[2] == 0.0
        await peer.wait(lambda: bool(peer.flushes))
        assert peer.frames_kept == 0


@pytest.mark.parametrize("limits", [StreamLimits(hold_s=0.1)], ids=["impatient"])
async def test_an_asterisk_that_never_takes_audio_again_is_let_go(pbx: EchoServer, caplog: pytest.LogCaptureFixture) -> None:
    pbx.echoes = False
    async with AsteriskPeer(pbx.session, pbx.url, xoff_frames=8, xon_frames=3) as peer:
        await pbx.begun.wait()
        peer.is_stopped = True
        pbx.calls[0].say(tone(440, 24_000, 2.0))
        await pbx.app[CALLS].over()
    assert pbx.calls[0].ended == "lost"
    assert "its peer has taken no audio for" in caplog.text


@BOTH
async def test_our_hang_up_is_told_and_asterisks_ends_the_call(pbx: EchoServer, is_json: bool) -> None:
    async with AsteriskPeer(pbx.session, pbx.url, is_json=is_json) as peer:
        await pbx.begun.wait()
        pbx.calls[0].hang_up("farewell")
        await peer.wait(lambda: peer.hung_up and peer.socket.closed)
    assert pbx.calls[0].ended == "farewell"
    pbx.begun.clear()
    async with AsteriskPeer(pbx.session, pbx.url, is_json=is_json) as peer:
        await pbx.begun.wait()
    await pbx.app[CALLS].over()
    assert pbx.calls[1].ended == "hangup"
    assert not peer.hung_up


@pytest.mark.parametrize("password", ["asterisk:wrong", "other:let-me-in-if-you-please", ":"])
async def test_a_wrong_password_is_refused_in_one_line(pbx: EchoServer, password: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with AsteriskPeer(pbx.session, pbx.url, password=password):
            pass
    assert refused.value.status == 403
    (line,) = complaints(caplog)
    assert "a stream of asterisk from 127.0.0.1 was refused: its password is missing or wrong" in line
    assert "$VOICEAGENT_ASTERISK_PASSWORD" in line
    assert "let-me-in" not in line
    assert not pbx.calls


async def test_an_ordinary_request_is_told_that_calls_come_as_a_websocket(pbx: EchoServer) -> None:
    for method, headers, status in (("GET", basic(PASSWORD), 400), ("GET", {}, 403), ("POST", {}, 403)):
        async with pbx.session.request(method, f"{pbx.url}/telephony/asterisk", headers=headers) as response:
            assert response.status == status, await response.text()


async def test_the_dialplan_tells_that_nobody_took_a_call_of_ours(pbx: EchoServer) -> None:
    for at, told in enumerate(("NOANSWER", "BUSY", "CHANUNAVAIL", "ANSWER", "BUSY")):
        form = {"call_id": f"c-{at % 4}", "caller": CALLER, "called": CALLED, "CallStatus": told}
        async with pbx.session.post(f"{pbx.url}/telephony/asterisk/status", data=form, headers=basic(PASSWORD)) as response:
            assert response.status == 200
    assert [reason for _, reason in pbx.unanswered] == ["no_answer", "busy", "call_failed"], "each once"
    assert pbx.unanswered[0][0] == CallFacts(CALLER, CALLED, "c-0", outbound=True)


async def test_a_channel_of_another_code_is_closed_with_what_to_write(
    pbx: EchoServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AsteriskPeer.__init__.__globals__["RATES_HZ"], "opus", 8_000)
    async with AsteriskPeer(pbx.session, pbx.url, "opus") as peer:
        await peer.wait(lambda: peer.socket.closed)
    assert "a channel of format 'opus'; expected ulaw, alaw, slin, slin16, slin24: name one in Dial" in caplog.text
    assert not pbx.calls


def test_lines_of_older_releases_are_read() -> None:
    stream = AsteriskStream()
    start = "MEDIA_START connection_id:e226e283 channel:WebSocket/connectionid format:slin16 optimal_frame_size:640"
    started = stream.read(start)
    assert isinstance(started, Started)
    assert started.format == FORMATS["slin16"]
    assert started.facts.vendors_id == "e226e283"
    assert stream.read("DTMF_END digit:#") == Digit("#")
    assert stream.read("MEDIA_BUFFERING_COMPLETED 1.0.7") == MarkReached("1.0.7")
    assert stream.read("MEDIA_XOFF") == Flow(may_send=False)
    assert stream.mark("1.0.7") == ("START_MEDIA_BUFFERING", "STOP_MEDIA_BUFFERING 1.0.7")


@pytest.mark.parametrize("size", ["0", "321", "-1", "x", "9" * 5000, "²"])
def test_frames_that_ours_do_not_fill_are_refused(size: str) -> None:
    with pytest.raises(MediaError, match=r"^frames of .{1,22} bytes; expected 160, which are 20 ms of ulaw$"):
        AsteriskStream().read(f"MEDIA_START channel_id:a format:ulaw optimal_frame_size:{size}")


@given(
    message=st.text(max_size=80)
    | st.binary(max_size=80)
    | st.builds(
        "{} {}".format,
        st.sampled_from(["MEDIA_START", "DTMF_END", "MEDIA_BUFFERING_COMPLETED"]),
        st.text(alphabet=" :\n0159abdfgiortu_", max_size=60),
    )
    | st.dictionaries(
        st.sampled_from(["event", "format", "digit", "correlation_id", "optimal_frame_size"]),
        st.none()
        | st.floats()
        | st.integers()
        | st.lists(st.text(max_size=3))
        | st.sampled_from(["MEDIA_START", "DTMF_END", "ulaw"]),
    ).map(json.dumps)
)
@settings(max_examples=200, deadline=None)
def test_no_message_breaks_a_stream(message: str | bytes) -> None:
    complaint = complaint_of(AsteriskStream(), message)
    assert "\n" not in complaint
    assert len(complaint) < 400


def test_asterisk_needs_its_password_and_no_address(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("telephony: {vendors: [asterisk]}\n")
    telephony = load_agent(file).telephony
    with pytest.raises(ConfigError, match=r"asterisk needs \$VOICEAGENT_ASTERISK_PASSWORD, by which its streams are checked"):
        Telephone.from_settings(telephony, {})
