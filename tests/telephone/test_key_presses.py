"""One press of a key is one key, whatever its sender and the network make of its packets, and a second press is a second one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.media.rtp import RtpPacket
from voiceagent.telephone.sip.audio import PCMU, PhoneAudio, SipReceiver
from voiceagent.telephone.telephone_events import KEYS, KeyReader

KEYS_TYPE = 101


@dataclass(frozen=True, slots=True)
class Press:
    """A key that is held for so many packets, and then as many frames of audio."""

    key: str
    packets: int
    pause: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet on its way; `press` is its number, or -1 for audio."""

    press: int
    sequence: int
    timestamp: int
    marker: int = 0
    payload: bytes = b"\xff" * 160


def sent(presses: list[Press], style: str = "standard", stamp: int = 0, sequence: int = 0, releases: int = 3) -> list[Sent]:
    """What a telephone sends: by the standard, with a fresh timestamp in each packet, with one in each and the whole duration,
    or with an unrelated one."""
    packets: list[Sent] = []

    def add(press: int, timestamp: int, marker: int, payload: bytes) -> None:
        packets.append(Sent(press, sequence + len(packets), timestamp & 0xFFFF_FFFF, marker, payload))

    now = stamp
    for number, press in enumerate(presses):
        began, step = now, PHONE_FRAME_SAMPLES
        for place in range(press.packets + releases):
            held = min(place + 1, press.packets) * step
            segment = (held - 1) // 0xFFFF
            timestamp = began + segment * 0xFFFF
            duration = held - segment * 0xFFFF
            if style == "fresh":
                timestamp = began + place * step
            elif style == "fresh, one duration":
                timestamp, duration = began + place * step, press.packets * step
            elif style == "unrelated":
                timestamp = (began + place * 7919 * 7919) ^ 0x5A5A_0000
            ends = 0x80 if place >= press.packets else 0
            add(number, timestamp, int(not place), bytes((KEYS.index(press.key), ends | 10)) + duration.to_bytes(2))
            now = began + (place + 1) * step
        for _ in range(press.pause):
            add(-1, now, 0, b"\xff" * 160)
            now += step
    return packets


def keys_of(packets: list[Sent]) -> str:
    """What the reader makes of them."""
    reader, keys = KeyReader(), ""
    for each in packets:
        if each.press < 0:
            reader.pass_audio(each.sequence)
        else:
            keys += reader.read(each.payload, each.timestamp, each.sequence, is_marked=bool(each.marker))
    return keys


async def heard_of(packets: list[Sent]) -> str:
    """What a call hears of them through its gateway."""
    pressed: list[str] = []
    receiver = SipReceiver(PhoneAudio(PCMU, KEYS_TYPE), lambda *_: None, pressed.append)
    for each in packets:
        kind = PCMU if each.press < 0 else KEYS_TYPE
        receiver.receive(RtpPacket(kind, each.marker, each.sequence & 0xFFFF, each.timestamp, 1, each.payload))
    receiver.close()
    return "".join(pressed)


PRESSES = st.lists(st.builds(Press, st.sampled_from("115#"), st.integers(2, 30), st.integers(2, 30)), min_size=1, max_size=6)
PLACES = st.sampled_from([0, 1, 0xFFFF_FFFF, 0xFFFF_FF00, 0xFFFF_F000, 0x7FFF_FF00, 123_456])


def disturbed(packets: list[Sent], chance: random.Random, most_lost: int, most_late: int) -> list[Sent]:
    """Some lost, at most so many in a row; some twice; some so many places late."""
    kept, run = [], 0
    for packet in packets:
        lost = chance.random() < 0.3 and run < most_lost
        run = run + 1 if lost else 0
        if not lost:
            kept += [packet] * chance.choice([1, 1, 1, 2])
    places = [place + chance.choice([0, 0, 0, most_late // 2, most_late]) for place in range(len(kept))]
    return [packet for _, packet in sorted(zip(places, kept, strict=True), key=lambda pair: pair[0])]


def expected(presses: list[Press], arrived: list[Sent]) -> list[str]:
    """Each press of which anything arrived."""
    return sorted(presses[number].key for number in {packet.press for packet in arrived} - {-1})


CHANCE = st.randoms(use_true_random=False)


@given(PRESSES, PLACES, st.integers(1, 1000), CHANCE)
def test_each_press_is_one_key_if_any_packet_of_it_arrives(
    presses: list[Press], stamp: int, most_lost: int, chance: random.Random
) -> None:
    arrived = disturbed(sent(presses, "standard", stamp, 65_530), chance, most_lost, 5)
    assert sorted(keys_of(arrived)) == expected(presses, arrived)


@given(PRESSES, PLACES, st.sampled_from([("fresh", 2), ("fresh, one duration", 0), ("unrelated", 0)]), CHANCE)
def test_timestamps_that_change_in_a_press_make_no_second_one_of_it(
    presses: list[Press], stamp: int, style: tuple[str, int], chance: random.Random
) -> None:
    name, most_late = style
    arrived = disturbed(sent(presses, name, stamp, 65_530), chance, 2, most_late)
    assert sorted(keys_of(arrived)) == expected(presses, arrived)


@pytest.mark.parametrize("style", ["standard", "fresh", "fresh, one duration", "unrelated"])
@pytest.mark.parametrize("stamp", [0, 0xFFFF_FFFF, 0xFFFF_FB00])
async def test_a_call_hears_the_same_key_twice_with_the_start_or_all_releases_lost(style: str, stamp: int) -> None:
    packets = sent([Press("5", 8, 4), Press("5", 8, 4), Press("6", 8, 4)], style, stamp, 65_530)
    assert await heard_of(packets) == "556"
    assert await heard_of([packet for packet in packets if not packet.marker]) == "556"
    assert await heard_of([packet for packet in packets if packet.press < 0 or not packet.payload[1] & 0x80]) == "556"


@given(st.sampled_from([2, 409, 410, 411, 819, 820, 1300]), PLACES, CHANCE)
def test_a_long_press_in_segments_is_one_key(packets: int, stamp: int, chance: random.Random) -> None:
    arrived = disturbed(sent([Press("1", packets, 5), Press("1", 8, 5)], stamp=stamp), chance, 3, 2)
    assert sorted(keys_of(arrived)) == ["1", "1"]


def test_a_whole_segment_that_is_lost_makes_no_second_key() -> None:
    packets = sent([Press("1", 1200, 5)])
    assert keys_of(packets[:300] + packets[850:]) == "1"


def test_a_sender_that_ends_a_segment_at_a_whole_packet_presses_once() -> None:
    packets = sent([Press("1", 500, 5)])
    moved = [replace(each, timestamp=0xFFA0) if each.timestamp == 0xFFFF else each for each in packets]
    assert keys_of(moved) == "1"


def test_a_sender_whose_keys_all_have_one_timestamp_presses_each() -> None:
    packets = [replace(each, timestamp=0) if each.press >= 0 else each for each in sent([Press("1", 8, 9), Press("1", 8, 9)])]
    assert keys_of(packets) == "11"
    assert keys_of([each for each in packets if each.press < 0 or not each.payload[1] & 0x80]) == "11"


def test_a_sender_that_marks_each_packet_and_stamps_it_anew_presses_once() -> None:
    packets = [replace(each, marker=1) for each in sent([Press("1", 8, 9), Press("2", 8, 9)], "fresh")]
    assert keys_of([each for each in packets if not each.payload[1] & 0x80]) == "12"


def test_a_release_that_arrives_after_the_next_release_of_its_press_makes_no_second_key() -> None:
    first, second, third = sent([Press("1", 2, 0)], "fresh")[2:]
    assert keys_of([second, first]) == keys_of([third, first]) == keys_of([third, second, first]) == "1"


def test_a_press_without_a_pause_after_the_other_is_a_second_one() -> None:
    packets = sent([Press("1", 8, 0), Press("1", 8, 0)], releases=0)
    assert keys_of(packets) == "11"


def test_without_sequence_numbers_fresh_timestamps_make_no_second_key_and_a_second_press_does() -> None:
    reader = KeyReader()
    packets = [each for each in sent([Press("1", 8, 5), Press("1", 8, 5)], "fresh") if each.press >= 0]
    assert "".join(reader.read(each.payload, each.timestamp) for each in packets) == "11"
