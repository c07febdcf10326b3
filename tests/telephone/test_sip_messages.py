"""What goes between us, Janus and a telephone's keys, without any of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.errors import ConfigError, MediaError
from voiceagent.settings.telephone import SipSettings, TransferTarget
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.audio import PCMA, PCMU, is_hold, read_audio, updated_description, with_keys
from voiceagent.telephone.sip.janus_messages import call_cause, registration_cause
from voiceagent.telephone.sip.line import Trunk
from voiceagent.telephone.telephone_events import KEYS, KeyReader, KeyWriter

SDP = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF {types}\r\na=rtpmap:96 telephone-event/8000\r\na={direction}\r\na=rtcp-mux\r\n"


def sent(keys: str) -> list[tuple[bytes, int]]:
    """The packets of keys, each with its timestamp."""
    writer = KeyWriter()
    writer.press(keys)
    packets, frame = [], 0
    while writer.busy:
        packet = writer.next()
        if packet is not None:
            packets.append((packet.payload, (frame - packet.frames_ago) * PHONE_FRAME_SAMPLES))
        frame += 1
    return packets


@given(st.text(KEYS, min_size=1, max_size=40), st.data())
def test_every_key_arrives_once_whatever_else_of_it_is_lost_or_comes_twice(keys: str, data: st.DataObject) -> None:
    packets = sent(keys)
    by_key: dict[int, list[bytes]] = {}
    for payload, timestamp in packets:
        by_key.setdefault(timestamp, []).append(payload)
    reader, got = KeyReader(), ""
    for timestamp, payloads in by_key.items():
        indices = st.lists(st.integers(0, len(payloads) - 1), min_size=1, max_size=len(payloads))
        for index in data.draw(indices):
            got += reader.read(payloads[index], timestamp)
    assert got == keys


def test_a_thousand_keys_come_back_as_they_were_pressed() -> None:
    keys = (KEYS * 70)[:1000]
    reader = KeyReader()
    got = ""
    for start in range(0, 1000, 50):
        first = start * 10_000
        got += "".join(reader.read(payload, first + timestamp) for payload, timestamp in sent(keys[start : start + 50]))
    assert got == keys


def test_a_key_lasts_160_ms_and_its_release_is_told_three_times() -> None:
    payloads = [payload for payload, _ in sent("5")]
    assert [int.from_bytes(each[2:]) for each in payloads] == [*range(160, 1281, 160), 1280, 1280, 1280]
    assert [each[1] >> 7 for each in payloads] == [0] * 8 + [1] * 3


@pytest.mark.parametrize("keys", ["", "x", "1" * 65])
def test_what_no_telephone_has_is_not_pressed(keys: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        KeyWriter().press(keys)


def event(**result: Any) -> dict[str, Any]:
    return {"janus": "event", "sender": 1, "plugindata": {"plugin": janus.PLUGIN, "data": {"sip": "event", "result": result}}}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (event(event="registered", master_id=7), janus.Registered(7)),
        (event(event="registration_failed", code=403, reason="No"), janus.RegistrationFailed(403, "No")),
        (event(event="hangup", code=486, reason="Busy Here"), janus.Ended(486, "Busy Here")),
        (event(event="notify", notify="refer", content="SIP/2.0 486 Busy Here\r\n"), janus.TransferProgress(486, "Busy Here")),
        (event(event="notify", notify="refer", content="rubbish"), janus.Ignored()),
        (event(event="hangup", code="486", reason=None), janus.Ended(0, "")),
        ({"janus": "hangup", "reason": "Close PC"}, janus.MediaLost()),
        (
            {"janus": "event", "plugindata": {"data": {"error_code": 447, "error": "Wrong state"}}},
            janus.Failed(447, "Wrong state"),
        ),
        ({}, janus.Ignored()),
        ({"plugindata": 3, "jsep": []}, janus.Ignored()),
    ],
)
def test_what_janus_tells_is_read(message: dict[str, Any], told: janus.Event) -> None:
    assert janus.read(message) == told


@pytest.mark.parametrize(("types", "chosen", "keys"), [("0 8 96", PCMU, 96), ("8 0", PCMA, None), ("111 8 96", PCMA, 96)])
def test_the_other_sides_favourite_of_our_codecs_is_taken(types: str, chosen: int, keys: int | None) -> None:
    audio = read_audio(SDP.format(types=types, direction="sendrecv"))
    assert (audio.payload_type, audio.keys_type) == (chosen, keys)


@pytest.mark.parametrize("text", ["", "v=0\r\nm=audio 0 RTP/AVP 0\r\n", SDP.format(types="111 9", direction="sendrecv")])
def test_a_call_without_a_codec_of_ours_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(MediaError, match="expected"):
        read_audio(text)


@pytest.mark.parametrize(
    ("offered", "answered", "holds"),
    [("sendonly", "recvonly", True), ("inactive", "inactive", True), ("sendrecv", "sendrecv", False)],
)
def test_a_re_invite_is_answered_with_what_changes(offered: str, answered: str, holds: bool) -> None:
    ours = with_keys(SDP.format(types="0", direction="sendrecv"), 101)
    offer = SDP.format(types="0", direction=offered)
    assert is_hold(offer) is holds
    assert updated_description(ours, offer) == ours.replace("a=sendrecv", f"a={answered}")
    assert "m=audio 9 UDP/TLS/RTP/SAVPF 0 101\r\n" in ours


def test_causes_are_one_line() -> None:
    assert call_cause("sip:a@b", 486, "Busy Here") == "sip:a@b is busy (486 Busy Here)"
    assert call_cause("sip:a@b", 500, "") == "sip:a@b could not be called (500)"
    assert "check telephony.sip" in call_cause("sip:a@b", 407, "")
    assert "$PASSWORD" in registration_cause("sip:a@b", 403, "Forbidden", "PASSWORD")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"account": "agent"}, "account"),
        ({"account": "sip:pbx.example.org"}, "account"),
        ({"account": "sip:a@b\r\nX: y"}, "account"),
        ({"account": "sip:a@b", "proxy": "b"}, "proxy"),
        ({"account": "sip:a@b", "gateway": "http://b"}, "gateway"),
        ({"account": "sip:a@b", "gateway": "ws://me:hush@b"}, "gateway"),
        ({"account": "sip:a@b", "transfers": {"sales": "200"}}, "transfers.sales"),
        ({"account": "sip:a@b", "transfers": {"sales": {"to": "200", "kind": "warm"}}}, "transfers.sales"),
        ({"account": "sip:a@b", "transfers": {"sales": {"to": "sip:a@b", "kind": "cold"}}}, "kind"),
        ({"account": "sip:a@b", "transfers": {"sales": {"to": "sip:a@b", "kind": "warm"}}, "calls": 1}, "calls"),
        ({"account": "sip:a@b", "transfers": {"sales": {"to": "sip:a@b", "accept_key": "#"}}}, "accept_key"),
        ({"account": "sip:a@b", "password_env": "my password"}, "password_env"),
        ({"account": "sip:a@b", "calls": 0}, "calls"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_no_secret_told(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=named) as refused:
        msgspec.convert(settings, SipSettings)
    assert "hush" not in str(refused.value)
    assert "my password" not in str(refused.value)


def test_an_account_without_its_password_is_refused_and_the_variable_named() -> None:
    with pytest.raises(ConfigError, match=r"\$VOICEAGENT_SIP_PASSWORD"):
        Trunk.from_settings(SipSettings("sip:agent@pbx.example.org"), {})
    trunk = Trunk.from_settings(SipSettings("sip:agent@pbx.example.org"), {"VOICEAGENT_SIP_PASSWORD": "p"})
    assert (trunk.account.user, trunk.account.password) == ("agent", "p")


def test_no_secret_is_told_when_settings_are_shown() -> None:
    secrets = {"VOICEAGENT_SIP_PASSWORD": "hush", "VOICEAGENT_JANUS_SECRET": "hush"}
    assert "hush" not in repr(Trunk.from_settings(SipSettings("sip:agent@pbx.example.org"), secrets))


def test_who_calls_is_told_on_one_line() -> None:
    incoming = janus.read(event(event="incomingcall", username="sip:a@b\r\nERROR x", displayname='"Ann"', callee="sip:c@d"))
    assert isinstance(incoming, janus.Incoming)
    assert incoming.facts.caller == "sip:a@bERROR x"
    assert incoming.facts.parameters == {"caller_name": "Ann"}


def test_an_address_alone_is_a_blind_transfer() -> None:
    transfers = {"sales": "sip:200@pbx", "support": {"to": "sip:300@pbx", "kind": "warm"}}
    settings = msgspec.convert({"account": "sip:a@b", "transfers": transfers}, SipSettings)
    assert settings.targets == {"sales": TransferTarget("sip:200@pbx"), "support": TransferTarget("sip:300@pbx", "warm")}
    assert settings.longest_ring_s == 20
