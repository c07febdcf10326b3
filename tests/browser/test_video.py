"""Calls from a page that offers video as well: real Chromium, a real server."""

from __future__ import annotations

import re

import pytest

from tests.browser.browsers import installed
from tests.server_process import ServerProcess


@pytest.mark.browser
def test_a_call_with_video_of_any_codec_works_without_the_video(demo_server: ServerProcess) -> None:
    calls = installed("chromium").sees("video.mjs", demo_server.url)["calls"]
    assert {name.split()[0] for name in calls} >= {"video/VP8", "video/VP9", "video/AV1"}
    for name, call in calls.items():
        assert (call["first"], call["state"]) == ("session.created", "connected"), name
        sections = [re.sub(r" [1-9]\d*$", " open", section) for section in call["sections"]]
        first = ["m=video 0", "m=audio open"] if "balanced" in name else ["m=audio open", "m=video 0"]
        assert sections == [*first, "m=audio 0", "m=video 0", "m=application open"], name
