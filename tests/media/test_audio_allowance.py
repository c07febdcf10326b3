"""How much audio a peer may make the server work on."""

from __future__ import annotations

from voiceagent.media.audio_receiver import BURST_S, PATIENCE_S, audio_meter

FRAME_S = 0.02


def test_audio_at_the_pace_of_the_clock_is_taken_for_ever() -> None:
    allowance = audio_meter()
    assert all(allowance.admit(FRAME_S, frame * FRAME_S) for frame in range(100_000))


def test_what_a_stalled_network_delivers_at_once_is_taken() -> None:
    allowance = audio_meter()
    assert all(allowance.admit(FRAME_S, 10.0) for _ in range(int(BURST_S / FRAME_S)))
    assert not allowance.admit(FRAME_S, 10.0)
    assert not allowance.exhausted


def test_a_sender_thirty_times_too_fast_is_cut_and_soon_an_abuser() -> None:
    allowance = audio_meter()
    at_s, taken_s = 0.0, 0.0
    while not allowance.exhausted:
        at_s += FRAME_S / 30
        taken_s += FRAME_S * allowance.admit(FRAME_S, at_s)
    assert at_s < 1.0
    assert taken_s <= BURST_S + 1.1 * at_s
    assert allowance.refused >= PATIENCE_S
