"""The look-ahead window: text goes on clause by clause, checked; what is blocked never does."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.guard.checks import Guards, load_guards
from voiceagent.guard.settings import GuardSettings, OutputRules
from voiceagent.guard.window import OutputWindow, WindowCheck


def guards(tokens: int = 12, **rules: Any) -> Guards:
    chosen = OutputRules(**{"secrets": False, "cards": False, "line": "No.", **rules})
    return load_guards(GuardSettings(output=chosen, window_tokens=tokens))


async def through(loaded: Guards, pieces: list[str]) -> list[WindowCheck]:
    window = OutputWindow(loaded.output, loaded.window_tokens)
    checked = []
    for piece in pieces:
        checked.append(await window.add(piece))
        if checked[-1] is not None and checked[-1].verdict.blocked:
            break
    else:
        checked.append(await window.finish())
    return [check for check in checked if check is not None]


def pieces_of(text: str) -> list[str]:
    return re.findall(r"\s*\S+", text)


def texts(checked: list[WindowCheck]) -> list[str]:
    return [check.text for check in checked if check.text]


async def test_a_clause_goes_on_as_soon_as_it_is_complete() -> None:
    checked = await through(guards(cards=True), pieces_of("It is noon, I think. Anything else?"))
    assert texts(checked) == ["It is noon, I", " think. Anything", " else?"]
    assert sum(check.tokens for check in checked) == 7
    assert all(check.guard_ms > 0 for check in checked)


async def test_a_long_clause_goes_on_window_by_window() -> None:
    checked = await through(guards(tokens=3, cards=True), pieces_of("one word after another without end"))
    assert texts(checked) == ["one word after", " another without end"]


async def test_without_rules_every_token_goes_on_at_once() -> None:
    checked = await through(guards(), ["It", " is"])
    assert [(check.text, check.tokens, check.guard_ms) for check in checked] == [("It", 1, 0.0), (" is", 1, 0.0)]


async def test_nothing_of_a_blocked_clause_goes_on() -> None:
    checked = await through(guards(phrases=("acme rocket",)), pieces_of("That is fine. Buy the Acme Rocket today. Bye."))
    assert texts(checked) == ["That is fine. Buy"]
    assert (checked[-1].verdict.rule, checked[-1].verdict.line, checked[-1].text) == ("phrases", "No.", "")


async def test_no_half_of_a_card_number_goes_on_when_clauses_part_it() -> None:
    checked = await through(guards(cards=True), pieces_of("The card is 4111 1111, 1111. 1111. That is it."))
    assert checked[-1].verdict.rule == "cards"
    assert "".join(texts(checked)) == "The card is "


async def test_no_half_of_a_phrase_goes_on_when_clauses_part_it() -> None:
    checked = await through(guards(phrases=("acme rocket",)), pieces_of("We sell Acme. Rocket parts too."))
    assert checked[-1].verdict.rule == "phrases"
    assert "".join(texts(checked)) == "We sell "


async def test_what_is_held_goes_on_with_the_next_word_that_clears_it() -> None:
    checked = await through(guards(cards=True), ["Your order is 48271,", " ", "and", " more"])
    assert texts(checked)[:2] == ["Your order is ", "48271, and"]


async def test_what_is_forgotten_is_forgotten_by_whole_words() -> None:
    text = "The goddamned goddamn dam. " * 100
    checked = await through(guards(phrases=("damn", "damned")), pieces_of(text))
    assert "".join(texts(checked)) == text.rstrip()


TEXTS = st.lists(st.sampled_from(["acme", "rocket", "4111", "1111", "one", "fine", "is", "it,", "so.", "1111."]), max_size=30)


@given(TEXTS, st.integers(1, 12), st.data())
async def test_allowed_text_goes_on_unchanged_however_it_is_cut(words: list[str], tokens: int, data: st.DataObject) -> None:
    text = " ".join(words)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = data.draw(st.integers(1, 8))
        pieces.append(text[at : at + size])
        at += size
    loaded = guards(tokens, phrases=("acme rocket",), cards=True)
    checked = await through(loaded, pieces)
    passed = "".join(texts(checked))
    blocked = bool(checked) and checked[-1].verdict.blocked
    whole = await loaded.output.output("", text, last=True)
    assert blocked == whole.blocked
    assert text.startswith(passed) if blocked else passed == text
    assert not (await loaded.output.output("", passed, last=True)).blocked


async def test_a_pause_releases_a_sentence_that_has_ended_but_not_the_beginning_of_a_number() -> None:
    loaded = guards(cards=True)
    window = OutputWindow(loaded.output, loaded.window_tokens)
    for written in ("It", " is", " noon."):
        assert await window.add(written) is None
    paused = await window.pause()
    assert paused is not None
    assert paused.text == "It is noon."
    assert await window.pause() is None
    assert await window.add(" And") is None
    assert await window.pause() is None, "no clause has ended"
    assert await window.add(" it is 4111 1111.") is None
    held = await window.pause()
    assert held is not None
    assert not any(map(str.isdigit, held.text))
