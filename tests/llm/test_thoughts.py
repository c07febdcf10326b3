"""What a model thinks aloud is taken out of its text, wherever that is cut."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.errors import EngineError
from voiceagent.llm.chat.prompt import Answer
from voiceagent.llm.chat.thoughts import PAIRS, BegunThoughts, Thoughts, begun_in
from voiceagent.llm.engine import GeneratedText


def said(pieces: list[str], begun: str = "") -> str:
    thoughts = Thoughts(begun)
    return "".join(thoughts.feed(piece) for piece in pieces) + thoughts.finish()


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_a_thought_is_left_out_wherever_it_is_cut(opener: str, closer: str) -> None:
    text = f"{opener}\nOkay, the user < wants > to know.\n\nWait.\n{closer}\n\nIt is noon."
    rng = random.Random(opener)
    for _ in range(30):
        at = sorted(rng.randrange(len(text) + 1) for _ in range(10))
        assert said([text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]) == "It is noon."
    assert said(list(text)) == "It is noon."


def test_a_thought_between_words_is_left_out() -> None:
    assert said(["Hello. <think>hm</think> It is noon. <thi", "nk>more"]) == "Hello. It is noon. "


def test_a_mark_in_other_letters_is_a_mark() -> None:
    assert said(["<Thi", "nk>hm</THINK>", "It is noon."]) == "It is noon."


def test_a_harmony_thought_ends_with_the_next_message_and_is_known_without_its_marks() -> None:
    assert said(["<|channel|>analysis<|message|>hm", "<|start|>", " Noon."]) == "<|start|> Noon."
    assert said(["ana", "lysis", "The user asks.", "assistant", "final", "Noon."]) == "Noon."
    assert said(["analysis", " of it is done."]) == "analysis of it is done."


def test_a_thought_that_the_prompt_began_ends_with_its_mark() -> None:
    assert begun_in("<｜Assistant｜><think>\n") == "</think>"
    assert begun_in("<|im_start|>assistant\n<think>\n\n</think>\n\n") == ""
    assert said(["The user ", "wants</thi", "nk>\n\nIt is noon."], "</think>") == "It is noon."


def test_an_end_without_a_beginning_is_not_said_and_is_remembered() -> None:
    thoughts, begun = Thoughts(), BegunThoughts()
    assert thoughts.feed("Hm.</think>Noon.") + thoughts.finish() == "Hm.Noon."
    begun.learn(thoughts)
    assert begun.closer == "</think>"
    later = Thoughts(begun.closer)
    assert later.feed("Hm.</think>Noon.") + later.finish() == "Noon."
    begun.learn(later)
    cut_off = Thoughts(begun.closer)
    cut_off.feed("Hm")
    begun.learn(cut_off)
    assert begun.closer == "</think>"


def test_one_stray_mark_does_not_silence_a_server_for_ever() -> None:
    stray, begun = Thoughts(), BegunThoughts()
    stray.feed("A</think>B")
    begun.learn(stray)
    plain = Thoughts(begun.closer)
    plain.feed("It is noon.")
    begun.learn(plain)
    assert begun.closer == ""


@pytest.mark.parametrize("begun", ["", "</think>"])
def test_a_thought_without_an_end_is_one_clear_error(begun: str) -> None:
    answer = Answer(None, [], begun)
    assert answer.feed("Okay, so" if begun else "<think>Okay, so") == []
    with pytest.raises(EngineError, match=r"only thought.*max_tokens.*enable_thinking: false"):
        answer.finish()


def test_a_call_in_a_thought_is_no_call() -> None:
    answer = Answer(None, [])
    pieces = answer.feed('<think><tool_call>{"name": "a", "arguments": {}}</tool_call></think>Noon.') + answer.finish()
    assert pieces == [GeneratedText("Noon.")]
    assert not answer.called


@given(
    st.text(alphabet="ab <>/thinkTHINK[]◁▷|\n", max_size=60),
    st.lists(st.integers(0, 100), max_size=10),
    st.sampled_from(["", "</think>"]),
)
def test_any_text_reads_the_same_wherever_it_is_cut(text: str, places: list[int], begun: str) -> None:
    ends = sorted({place % (len(text) + 1) for place in places})
    assert said([text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)], begun) == said([text], begun)
