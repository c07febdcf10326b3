"""The telephone's audio between two legs: what is relayed, mixed and heard by who waits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import g711
from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.media.rtp import RtpPacket
from voiceagent.telephone.messages import Encoding
from voiceagent.telephone.sip.audio import LateEncoder, SipReceiver, mixed
from voiceagent.telephone.sip.description import PCMA, PCMU, PhoneAudio
from voiceagent.telephone.transfer.warm import (
    FIRST_FRAMES,
    MAX_FRAMES,
    PERIOD_FRAMES,
    TONE_FRAMES,
    AudioRelay,
    WaitingTone,
)


def frame(value: int) -> NDArray[np.int16]:
    return np.full(PHONE_FRAME_SAMPLES, value, np.int16)


def test_a_relay_gathers_frames_first_and_again_when_it_has_run_dry() -> None:
    relay = AudioRelay()
    for _ in range(2):
        for number in range(FIRST_FRAMES):
            assert relay.take() is None
            relay.put(frame(number))
        taken = [relay.take() for _ in range(FIRST_FRAMES)]
        assert [each[0] for each in taken if each is not None] == list(range(FIRST_FRAMES))
        assert relay.take() is None


def test_a_relay_that_fills_up_drops_its_oldest_frames() -> None:
    relay = AudioRelay()
    for number in range(MAX_FRAMES + 1):
        relay.put(frame(number))
    assert relay.dropped == MAX_FRAMES + 1 - FIRST_FRAMES
    first = relay.take()
    assert first is not None
    assert first[0] == relay.dropped


def test_who_waits_hears_a_short_tone_now_and_then_and_never_over_a_voice() -> None:
    tone = WaitingTone()
    sounding = [tone.take(may_sound=True) is not None for _ in range(2 * PERIOD_FRAMES)]
    assert sounding == ([True] * TONE_FRAMES + [False] * (PERIOD_FRAMES - TONE_FRAMES)) * 2
    assert tone.take(may_sound=False) is None
    assert [tone.take(may_sound=True) for _ in range(PERIOD_FRAMES - TONE_FRAMES)] == [None] * (PERIOD_FRAMES - TONE_FRAMES)


def test_what_is_relayed_in_the_agents_silence_keeps_each_byte() -> None:
    payload = bytes(range(PHONE_FRAME_SAMPLES))
    for encoding in (Encoding.MULAW, Encoding.ALAW):
        is_alaw = encoding is Encoding.ALAW
        relayed = g711.decode(payload, alaw=is_alaw)
        encoder = LateEncoder(lambda voice: relayed)  # noqa: B023
        encoder.use(encoding)
        sent = encoder.encode(np.zeros(480, np.int16))
        assert (g711.decode(sent, alaw=is_alaw) == relayed).all()


def test_two_voices_that_are_loud_together_do_not_wrap() -> None:
    assert set(mixed(frame(30_000), frame(30_000))) == {32_767}
    assert set(mixed(frame(-30_000), frame(-30_000))) == {-32_768}


async def test_a_phone_that_goes_over_to_the_other_law_is_heard_on() -> None:
    heard: list[NDArray[np.int16]] = []
    receiver = SipReceiver(PhoneAudio(PCMU, 101), lambda pcm, at_ms, lost: heard.append(pcm), lambda key: None, 8_000)
    level = 8_031  # of both laws
    for number in range(20):
        law = PCMA if number >= 10 else PCMU
        payload = g711.encode(frame(level), alaw=law == PCMA)
        receiver.receive(RtpPacket(law, 0, number, number * PHONE_FRAME_SAMPLES, 1, payload))
    receiver.close()
    pcm = np.concatenate(heard)
    assert len(pcm) == 20 * PHONE_FRAME_SAMPLES
    assert (abs(pcm.astype(int) - level) < 300).all()
    assert receiver.counters["packets_lost"] == 0
