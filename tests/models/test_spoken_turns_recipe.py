"""The callers' turns that the adapter learns endings from: each ends once, behind its last word, and goes on behind the words
where its caller pauses."""

from __future__ import annotations

import random

from models.train import adapter_tokenizer
from models.train.adapter_spoken import ENDS, GOES_ON, SpokenTurns, callers_turns, ending_ids, labelled
from voiceagent.turn_judges.meaning import without_closing_marks


def test_every_turn_ends_behind_its_last_word_and_pauses_behind_words() -> None:
    turns = SpokenTurns(random.Random(1))
    for turn in (turns.draw() for _ in range(300)):
        assert turn.paused[-1] == len(without_closing_marks(turn.text))
        assert all(not turn.text[place : place + 1].isalnum() and turn.text[place - 1 : place].strip() for place in turn.paused)


def test_a_turn_has_one_token_behind_which_it_ends_and_one_for_each_pause() -> None:
    tokenizer, turns = adapter_tokenizer.tiny(), SpokenTurns(random.Random(2))
    for turn in (turns.draw() for _ in range(100)):
        ids, labels = labelled(tokenizer, turn)
        assert len(ids) == len(labels)
        assert labels.count(ENDS) == 1
        assert labels.count(GOES_ON) == len(turn.paused) - 1
        assert tokenizer.decode(ids[: labels.index(ENDS)], skip_special_tokens=False).endswith(turn.text[: turn.paused[-1]])


def test_turns_of_conversations_keep_the_question_that_they_answer() -> None:
    conversation = [
        {"role": "user", "content": "I'd like a table."},
        {"role": "assistant", "content": "For how many?"},
        {"role": "user", "content": "Four, please."},
    ]
    found = list(callers_turns({"conversations": [conversation]}, "topic"))
    assert [(pattern.asked, pattern.text) for pattern in found] == [("", "I'd like a table."), ("For how many?", "Four, please.")]


def test_endings_are_marks_new_lines_and_the_control_tokens_that_end_a_turn() -> None:
    tokenizer = adapter_tokenizer.tiny()
    endings = set(ending_ids(tokenizer))
    assert {tokenizer.token_to_id(token) for token in (".", "?", "!", "<|im_end|>", "<|endoftext|>")} <= endings
    assert tokenizer.token_to_id("a") not in endings
