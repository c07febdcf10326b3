"""What models write, as it is said: a corpus in the styles of the usual families, wherever the text is cut."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.conversation.clauses import split_clauses
from voiceagent.text_normalization.formulas import as_written, in_english
from voiceagent.text_normalization.prose import Prose
from voiceagent.text_normalization.reading import Reading

CODE = "I'll leave out the code."
REPLIES = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8"))
MARKUP = [
    "**",
    "*",
    "_",
    "`",
    "```",
    "~~",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "# ",
    "> ",
    "| ",
    "|",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
    "<b>",
]
MARKUP += [
    "&amp;",
    "\\(",
    "\\)",
    "\\frac{1}{2}",
    "$",
    "$$",
    "😊",
    "🇫🇷",
    "→",
    ":)",
    "(^_^)",
    "http://a.b/",
    "www.",
    "---",
    "[1]",
    "[^1]:",
]
MARKUP += [
    "word",
    "A",
    " ",
    ".",
    "! ",
    "3",
    "Assistant:",
    "<!--",
    "-->",
    "【",
    "】",
    "\\",
    "=",
    "{",
    "}",
    "<sup>1</sup>",
    "•",
    "~",
]


def said(written: str, pieces: list[str] | None = None) -> str:
    prose = Prose(CODE, in_english)
    return "".join(prose.feed(piece) for piece in pieces or [written]) + prose.finish()


def cut(text: str, rng: random.Random) -> list[str]:
    pieces, at = [], 0
    while at < len(text):
        length = rng.choice((1, 1, 2, 3, 5, 9))
        pieces.append(text[at : at + length])
        at += length
    return pieces


def test_the_corpus_is_large_and_of_many_families() -> None:
    assert len(REPLIES) >= 200
    assert len({reply["written"] for reply in REPLIES}) == len(REPLIES)
    assert {"llama", "qwen", "mistral", "gemma", "gpt", "smollm", "deepseek-r1", "phi"} <= {reply["family"] for reply in REPLIES}


@pytest.mark.parametrize("reply", REPLIES, ids=[f"{n}-{reply['family']}" for n, reply in enumerate(REPLIES)])
def test_a_reply_is_said_as_a_person_would_read_it_wherever_it_is_cut(reply: dict[str, str]) -> None:
    written, expected = reply["written"], reply["said"]
    assert said(written).strip("\n") == expected
    assert said(written, list(written)).strip("\n") == expected
    rng = random.Random(written)
    for _ in range(20):
        assert said(written, cut(written, rng)).strip("\n") == expected


def test_nothing_of_the_corpus_is_read_as_a_sign() -> None:
    for reply in REPLIES:
        text = Reading().spoken(reply["said"]).said
        assert not re.search(r"\*\*|`|^#|\|\s|\]\(|</|\\\(|[\U0001f300-\U0001faff]", text), text


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(MARKUP), max_size=25), st.integers(0, 1000))
def test_any_markup_is_said_the_same_wherever_it_is_cut(parts: list[str], seed: int) -> None:
    text = "".join(parts)
    whole = said(text)
    assert said(text, list(text)) == whole
    assert said(text, cut(text, random.Random(seed))) == whole


@given(st.text(max_size=200), st.integers(0, 1000))
def test_any_text_is_said_the_same_wherever_it_is_cut(text: str, seed: int) -> None:
    assert said(text, cut(text, random.Random(seed))) == said(text)


PLAIN = "Of course, I can do that for you. It is at 7:30, in room 12; is that all right? Yes, it's “free” (for now) — I think."


def test_plain_text_is_not_delayed() -> None:
    prose, words = Prose(CODE, in_english), re.findall(r"\s*\S+", PLAIN)
    given_out = ""
    for count, word in enumerate(words, start=1):
        given_out += prose.feed(word)
        assert given_out == "".join(words[:count])


@given(st.text(alphabet="abcXYZ ,.;?'", max_size=60))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert said(f"Well {text}") == " ".join(f"Well {text}".split())


def test_the_first_clause_does_not_wait_for_markup_that_follows() -> None:
    prose = Prose()
    buffer = prose.feed("Sure,") + prose.feed(" here") + prose.feed(" are **")
    assert split_clauses(buffer, first=True, final=False)[0] == ()
    assert split_clauses(prose.feed("three") + buffer, first=True, final=False)
    lines = Prose()
    assert lines.feed("Sure:\n") == "Sure:\n"
    assert lines.feed("- one\n") == "one.\n"


def test_markup_is_not_said_before_it_is_known() -> None:
    prose = Prose()
    assert prose.feed("See <") == "See"
    assert prose.feed("b") == ""
    assert prose.feed(">this") == " this"
    assert prose.feed(" at http") == " at"
    assert prose.feed("s://example.org/a") == ""
    assert prose.feed(" now") == " https://example.org/a now"


def test_each_clause_of_a_list_is_an_item() -> None:
    text = said("You need:\n* 2 eggs\n* **Flour**\n  1. white\n\nThat's all")
    clauses, _ = split_clauses(text, first=True, final=True)
    assert clauses == ("You need:", "2 eggs.", "Flour.", "1: white.", "That's all")


def test_code_is_mentioned_once() -> None:
    fenced = "```py\nx = 1\n```\n"
    assert said(f"First:\n{fenced}Then:\n{fenced}Done.") == f"First:\n{CODE}\nThen:\nDone."
    assert Prose().feed(f"First:\n{fenced}Done.\n") == "First:\nDone.\n"
    assert said("```py\nnever closed = 1") == f"{CODE}\n"


def test_a_generation_after_a_tool_begins_anew() -> None:
    prose = Prose()
    assert prose.feed("- Let me **see") + prose.finish() == "Let me see."
    assert prose.feed("It is** noon") + prose.finish() == "It is noon"


@pytest.mark.parametrize(
    ("formula", "english", "written"),
    [
        ("x^2", "x squared", "x ^2"),
        (r"\frac{a+1}{2}", "a plus 1 over 2", "a+1/2"),
        (r"\sqrt{2} \approx 1.41", "the square root of 2 is about 1.41", "√2 1.41"),
        (r"20\%", "20%", "20%"),
        (r"\text{Total} = 5", "Total equals 5", "Total = 5"),
        (r"90^\circ", "90 degrees", "90 °"),
    ],
)
def test_a_formula_is_read_in_english_and_left_bare_elsewhere(formula: str, english: str, written: str) -> None:
    assert in_english(formula) == english
    assert as_written(formula) == written


@given(st.text(max_size=80))
def test_no_formula_breaks_the_reader(text: str) -> None:
    in_english(text)
    as_written(text)


@pytest.mark.parametrize("written", ["Great!", "3.", "It costs $5.", "Ask www.example.com.", "What?!"])
def test_a_pause_releases_a_sentence_that_has_ended(written: str) -> None:
    prose = Prose()
    said = "".join(map(prose.feed, written))
    assert (said + prose.pause())[-1] in ".!"
    assert prose.feed(" And").endswith("And")


def test_a_pause_releases_no_markup() -> None:
    prose = Prose()
    assert prose.feed("It is **") + prose.pause() + prose.feed("hot**.") == "It is hot."
