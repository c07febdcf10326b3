"""How much audio a peer may make the server work on."""

from __future__ import annotations

from voiceagent.media.audio_allowance import BURST_S, PATIENCE_S, AudioAllowance

FRAME_S = 0.02


def test_audio_at_the_pace_of_the_clock_is_taken_for_ever() -> None:
    allowance = AudioAllowance()
    assert all(allowance.take(FRAME_S, frame * FRAME_S) for frame in range(100_000))


def test_what_a_stalled_network_delivers_at_once_is_taken() -> None:
    allowance = AudioAllowance()
    assert all(allowance.take(FRAME_S, 10.0) for _ in range(int(BURST_S / FRAME_S)))
    assert not allowance.take(FRAME_S, 10.0)
    assert not allowance.is_abused


def test_a_sender_thirty_times_too_fast_is_cut_and_soon_an_abuser() -> None:
    allowance = AudioAllowance()
    at_s, taken_s = 0.0, 0.0
    while not allowance.is_abused:
        at_s += FRAME_S / 30
        taken_s += FRAME_S * allowance.take(FRAME_S, at_s)
    assert at_s < 1.0
    assert taken_s <= BURST_S + 1.1 * at_s
    assert allowance.refused_s >= PATIENCE_S
