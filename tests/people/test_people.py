"""The people's set is whole, and may be given on."""

from __future__ import annotations

import pytest

from tests.people.people import FOLDERS, RATE_HZ, RECORDINGS, Recording, recordings

MAY_BE_GIVEN_ON = ("Apache-2.0", "AN4 licence", "BSD", "MIT", "public domain", "CC-BY-4.0", "CC-BY-SA-4.0")
ALL = [each for folder in FOLDERS for each in recordings(folder)]


@pytest.mark.parametrize("recording", ALL, ids=lambda each: each.path.name)
def test_a_recording_lasts_as_long_as_its_index_says_and_has_its_pauses_inside(recording: Recording) -> None:
    audio = recording.audio()
    assert abs(audio.size / RATE_HZ - recording.duration_s) < 0.01
    assert 0 <= recording.start_s < recording.end_s <= recording.duration_s
    edges = [recording.start_s, *(edge for pause in recording.pauses for edge in (pause.start_s, pause.end_s)), recording.end_s]
    assert edges == sorted(edges)


@pytest.mark.parametrize("recording", ALL, ids=lambda each: each.path.name)
def test_a_recording_has_a_licence_under_which_it_may_be_given_on(recording: Recording) -> None:
    assert recording.licence.startswith(MAY_BE_GIVEN_ON)
    assert (
        recording.source and recording.group if recording.kind != "" and "rooms" not in recording.path.parts else recording.source
    )


def test_what_must_be_shared_alike_lies_apart() -> None:
    assert {each.path.parent.name for each in ALL if "SA" in each.licence} == {"digits_cc_by_sa"}


def test_every_file_is_in_an_index() -> None:
    assert {each.path for each in ALL} == set(RECORDINGS.glob("*/*.flac"))
