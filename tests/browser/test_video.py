"""Calls from a page that offers video as well: real Chromium, a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.browser.test_page import HERE, chromium
from tests.server_process import running_server


@pytest.mark.browser
def test_a_call_with_video_of_any_codec_works_without_the_video(tmp_path: Path) -> None:
    browser = chromium()
    with running_server(tmp_path) as server:
        driven = subprocess.run(
            ["node", str(HERE / "video.mjs"), server.url],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "CHROMIUM": browser},
            check=False,
        )
    assert driven.returncode == 0, driven.stderr
    calls = json.loads(driven.stdout)
    assert {name.split()[0] for name in calls} >= {"video/VP8", "video/VP9", "video/AV1"}
    for name, call in calls.items():
        assert (call["first"], call["state"]) == ("session.created", "connected"), name
        sections = [re.sub(r" [1-9]\d*$", " open", section) for section in call["sections"]]
        first = ["m=video 0", "m=audio open"] if "balanced" in name else ["m=audio open", "m=video 0"]
        assert sections == [*first, "m=audio 0", "m=video 0", "m=application open"], name
