"""The report as a page: whole without a network, readable for everybody, and with words only where they are asked for."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from tests.browser.browsers import installed
from tests.reports.measured import turns
from tests.speech import RATE_HZ, tone
from tests.store.calls import keep_call
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import LegKind, TurnReport, WaitCause
from voiceagent.reports.html_page import as_html
from voiceagent.reports.kept_words import kept_turns
from voiceagent.reports.turn_groups import grouped
from voiceagent.resources import default_budgets_file
from voiceagent.store.database import StoreAddress, local_store
from voiceagent.telephone.features.recording_file import open_recording

BUDGETS = load_budgets(default_budgets_file())
DAYS = [turn for day in range(3) for turn in turns(40, day, at=1.79e9 + day * 86_400, version=f"0.{day}.0")]
TURNS = [*DAYS, *turns(30, 9, {WaitCause.LLM_TTFT: 2500.0}, at=1.79e9, leg=LegKind.TELEPHONE)]


def kept_turn(tmp_path: Path) -> tuple[StoreAddress, TurnReport]:
    """A turn whose call is kept, with a recording in which the caller hums and the agent is silent."""
    recording = tmp_path / "rtc_1.wav"
    file = open_recording(recording, "wav", RATE_HZ)
    file.write(np.stack([tone(12_000, 300), np.zeros(12 * RATE_HZ, np.int16)], axis=1))
    file.close()
    keep_call(local_store(tmp_path), "rtc_1", keep="transcripts", recording=str(recording))
    (turn,) = turns(1, 3)
    assert turn.wait is not None
    return local_store(tmp_path), replace(turn, call_id="rtc_1", wait=replace(turn.wait, began_ms=6_500.0))


def test_the_page_names_owners_limits_and_the_longest_waits() -> None:
    page = as_html(grouped(TURNS, BUDGETS))
    assert "cpu/telephone" in page
    assert "over budget" in page
    assert "turn.manner" in page
    longest = max((turn for turn in DAYS), key=lambda turn: turn.voice_to_voice_ms or 0)
    assert f"{longest.voice_to_voice_ms:,.0f} ms" in page
    assert "by version" in page
    assert "by day" in page
    assert not re.search(r"(src|href)=.?(https?:)?//|@import|<script", page)


def test_words_and_sound_of_the_longest_waits_are_shown_where_kept(tmp_path: Path) -> None:
    address, turn = kept_turn(tmp_path)
    page = as_html(grouped([turn, *turns(3, 4)], BUDGETS), lambda worst: kept_turns(address, worst))
    assert "<dt>caller</dt>" in page
    assert "It holds words and voices of callers" in page
    (sound,) = re.findall(r'src="data:audio/ogg;base64,([^"]+)"', page)
    assert "<dt>" not in as_html(grouped([turn], BUDGETS))
    (tmp_path / "cut.ogg").write_bytes(base64.b64decode(sound))
    with av.open(str(tmp_path / "cut.ogg")) as opened:
        assert sum(frame.samples for frame in opened.decode(opened.streams.audio[0])) / 48_000 == pytest.approx(11.0, abs=0.8)


def test_a_recording_that_is_gone_leaves_the_words(tmp_path: Path) -> None:
    address, turn = kept_turn(tmp_path)
    (tmp_path / "rtc_1.wav").unlink()
    (kept,) = kept_turns(address, [turn])
    assert kept.entries
    assert not kept.audio


@pytest.mark.browser
def test_axe_finds_nothing_and_nothing_is_fetched(tmp_path: Path) -> None:
    browser = installed("chromium", "axe-core")
    address, turn = kept_turn(tmp_path)
    page = tmp_path / "report.html"
    page.write_text(as_html(grouped([turn, *TURNS], BUDGETS), lambda worst: kept_turns(address, worst)), encoding="utf-8")
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    seen = browser.sees(Path(__file__).with_name("report_page.mjs"), str(page), shots)
    assert seen == {"violations": [], "requests": []}
