"""The page in the language of its agent, in real Chromium."""

from __future__ import annotations

import pytest

from tests.browser.browsers import installed
from tests.server_process import ServerProcess
from voiceagent.turn_taking.languages import LANGUAGES

OFTEN_THE_SAME = 0.8
"""Of two languages' words, so many differ at least: "Agent", "Volume" and the names of keys do not."""


@pytest.mark.browser
def test_the_page_speaks_the_agents_language(demo_server: ServerProcess) -> None:
    pages = installed("chromium").sees("words.mjs", demo_server.url, *LANGUAGES)["pages"]
    assert not any(page["tooWide"] for page in pages.values())
    assert (pages["own"]["language"], pages["own"]["call"], pages["own"]["status"]) == ("en", "Call", "Not in a call")
    assert (pages["german"]["language"], pages["german"]["call"], pages["german"]["status"]) == ("de", "Anrufen", "Kein Anruf")
    assert (pages["brazilian"]["language"], pages["japanese"]["language"]) == ("pt", "en")
    assert {code: pages[code]["language"] for code in LANGUAGES} == {code: code for code in LANGUAGES}
    assert (pages["en"]["figures"], pages["de"]["figures"]) == (["1,234 ms", "1.23"], ["1.234 ms", "1,23"])
    for code in LANGUAGES:
        assert all(pages[code]["written"])
        if code != "en":
            pairs = list(zip(pages[code]["written"], pages["en"]["written"], strict=True))
            assert sum(one != other for one, other in pairs) >= OFTEN_THE_SAME * len(pairs)
