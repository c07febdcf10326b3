"""What speech over the agent's means, from its words and its length."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.overlap import MANNERS, Manners, Overheard, Overlap, classify, leaning

SAID = "The first one is Italian and has a quiet garden."
UNHEARD = "It opens at seven in the evening."


def verdict(
    words: str, voiced_ms: float = 600.0, *, silent: bool = True, said: str = SAID, unheard: str = UNHEARD, code: str = "en"
) -> str:
    return classify(Overlap(words, voiced_ms, silent, said, unheard), language(code))


@pytest.mark.parametrize("words", ["Stop.", "Wait", "No, I meant Rome.", "Hold on.", "hang on a second", "Excuse me."])
@pytest.mark.parametrize("silent", [True, False])
def test_a_command_takes_the_floor_at_once(words: str, silent: bool) -> None:
    assert verdict(words, 150.0, silent=silent) == "yield"


@pytest.mark.parametrize("words", ["Mm-hm.", "Okay.", "Yeah, right.", "Oh, I see.", "Okay, great."])
def test_backchannels_do_not(words: str) -> None:
    assert verdict(words) == "continue"
    assert verdict(words, 2000.0, silent=False) == "wait"


@pytest.mark.parametrize(
    ("words", "voiced_ms"), [("Hamburg", 350.0), ("Hang.", 500.0), ("write", 440.0), ("Oh, they.", 450.0), ("there hot", 250.0)]
)
def test_what_a_recogniser_makes_of_a_mumble_does_not(words: str, voiced_ms: float) -> None:
    assert verdict(words, voiced_ms) == "continue"


@pytest.mark.parametrize(
    ("words", "voiced_ms"),
    [("75.", 280.0), ("For Berlin.", 550.0), ("What", 200.0), ("Tomorrow.", 650.0), ("a table for two", 700.0), ("Berlin", 0.0)],
)
def test_words_that_mean_something_do_once_the_caller_is_silent(words: str, voiced_ms: float) -> None:
    assert verdict(words, voiced_ms) == "yield"


def test_three_words_do_before_the_caller_is_silent_and_fewer_may_become_more() -> None:
    assert verdict("what is the", 500.0, silent=False) == "yield"
    assert verdict("what is", 500.0, silent=False) == "wait"
    assert verdict("what is", 900.0, silent=False) == "yield"
    assert verdict("what is the", 200.0, silent=False) == "wait"


def test_a_short_answer_to_a_question_does() -> None:
    assert verdict("Yes.", 300.0, said="Shall I book", unheard="it?") == "yield"
    assert verdict("Rome.", 300.0, said="In which city?", unheard="") == "yield"
    assert verdict("Yes.", 300.0, said="Shall I", unheard="book it for four at seven tomorrow?") == "continue"


def test_the_agents_own_words_and_no_words_do_not() -> None:
    assert verdict("has a quiet garden", 900.0) == "continue"
    assert verdict("", 900.0) == "continue"
    assert verdict("", 900.0, silent=False) == "wait"


def test_words_that_were_not_heard_are_no_echo() -> None:
    assert verdict("It opens at seven.", 900.0) == "yield"


def test_an_answer_in_the_words_of_the_question_is_no_echo() -> None:
    question = "We are open all week. Do you want Friday at seven or Saturday at"
    assert verdict("Saturday at eight.", 900.0, said=question, unheard="eight?") == "yield"
    assert verdict("Saturday at eight.", 900.0, said=f"{question} eight?", unheard="") == "yield"
    assert verdict("open all week", 900.0, said=f"{question} eight?", unheard="") == "continue"


@pytest.mark.parametrize("words", ["Tomorrow.", "Mm-hm.", "quiet garden", "And for two people."])
def test_whatever_is_said_before_anything_was_heard_is_the_callers_turn(words: str) -> None:
    assert verdict(words, 400.0, said="", unheard=SAID) == "yield"


COMMANDS = {
    "de": ("Stopp!", "Nein.", "Moment mal.", "Noch einmal, bitte."),
    "es": ("Para.", "No.", "Espere.", "Más alto, por favor."),
    "fr": ("Arrêtez.", "Non.", "Attendez.", "Encore une fois."),
    "it": ("Basta.", "No.", "Aspetta.", "Un momento."),
    "pt": ("Pare.", "Não.", "Espere.", "De novo."),
    "nl": ("Stop.", "Nee.", "Wacht even.", "Nog een keer."),
    "en": ("Repeat.", "Louder.", "Help."),
}
BACKCHANNELS = {
    "de": "Ja, genau.",
    "es": "Ajá, claro.",
    "fr": "D'accord.",
    "it": "Sì, certo.",
    "pt": "Entendi.",
    "nl": "Ja, precies.",
}


@pytest.mark.parametrize(("code", "words"), [(code, words) for code, said in COMMANDS.items() for words in said])
def test_each_language_has_its_commands(code: str, words: str) -> None:
    assert verdict(words, 400.0, said="Eins, dos, trois.", code=code) == "yield"


@pytest.mark.parametrize(("code", "words"), BACKCHANNELS.items())
def test_each_language_has_its_backchannels(code: str, words: str) -> None:
    assert verdict(words, 700.0, said="Eins, dos, trois.", code=code) == "continue"


def test_in_a_language_without_a_file_any_understood_word_takes_the_floor() -> None:
    assert verdict("Tak.", 400.0, code="pl") == "yield"
    assert verdict("Tak.", 100.0, silent=False, code="pl") == "wait"
    assert verdict("", 400.0, code="pl") == "continue"


def test_no_language_lacks_a_list() -> None:
    for one in LANGUAGES.values():
        lists = (
            one.yes,
            one.beside_yes,
            one.yes_phrases,
            one.no,
            one.commands,
            one.command_phrases,
            one.backchannels,
            one.whole_turns,
            one.openers,
        )
        assert all(lists), one.name
        assert all((one.question_words, one.numbers, one.spelling, *one.unfinished.values())), one.name
        assert set(one.unfinished) == set(LANGUAGES["en"].unfinished), one.name
        said = one.sayings
        assert all(
            (
                said.check_in,
                said.farewell,
                said.apology,
                said.not_understood,
                said.offer_person,
                said.fillers,
                said.blocked_input,
                said.code,
            )
        ), one.name
        assert all(asdict(one.prompts).values()), one.name
        for result in [value for name, value in asdict(one.prompts).items() if name.startswith("tool_")]:
            assert isinstance(json.loads(result), dict), one.name


@pytest.mark.parametrize("words", ["Get me out!", "Oh, sorry.", "I'm amazing.", "hahahahahaha"])
def test_what_a_recogniser_makes_of_a_cough_or_a_laugh_does_not_take_the_floor(words: str) -> None:
    unlike_words = Overlap(words, 900.0, True, SAID, UNHEARD, 0.1)
    assert classify(unlike_words, language("en")) == "continue"


@pytest.mark.parametrize(
    ("code", "laughter"),
    [
        ("en", "Hahahaha"), ("en", "Ha ha ha!"), ("en", "Hehe"), ("de", "Hihihi"), ("es", "Jajaja"), ("fr", "Ah ah ah"),
        ("it", "Ahahah"), ("nl", "Haha"), ("pt", "Kkkk"), ("pt", "rsrs"),
    ],
)  # fmt: skip
def test_written_laughter_does_not_take_the_floor_in_any_language(code: str, laughter: str) -> None:
    assert verdict(laughter, 1500.0, code=code) == "continue"


def test_words_in_which_laughter_is_hidden_are_words() -> None:
    assert verdict("He hit me.", 900.0) == "yield"
    assert verdict("Haha, that is wrong.", 900.0) == "yield"


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_every_language_knows_how_laughter_is_written(code: str) -> None:
    assert LANGUAGES[code].laughs


@pytest.mark.parametrize("words", ["Stop.", "Wait", "No."])
def test_a_command_takes_the_floor_whatever_it_sounds_like(words: str) -> None:
    assert classify(Overlap(words, 200.0, True, SAID, UNHEARD, 0.01), language("en")) == "yield"


def test_several_words_are_believed_whatever_they_sound_like() -> None:
    assert classify(Overlap("I want to go to Rome", 900.0, True, SAID, UNHEARD, 0.01), language("en")) == "yield"


PATIENT = Manners("duck", pause_after_ms=300, patience_ms=800, hush_after_ms=100, hush_ms=180)


@pytest.mark.parametrize(
    ("words", "look"),
    [
        ("", "unknown"),
        ("Okay", "listening"),
        ("Hahaha", "listening"),
        ("Good. In", "taking"),
        ("once upon", "listening"),
        ("I need", "taking"),
    ],
)
def test_first_words_look_like_listening_like_taking_the_floor_or_like_nothing(words: str, look: str) -> None:
    assert leaning(words, Overlap(words, 300, False, "Once upon a time", ""), language("en")) == look


def test_a_few_words_in_a_sound_that_is_unlike_words_look_like_nothing() -> None:
    assert leaning("Get me out!", Overlap("", 300, False, "Once upon a time", "", 0.1), language("en")) == "unknown"
    assert leaning("Get me out of there", Overlap("", 300, False, "Once upon a time", "", 0.1), language("en")) == "taking"


def test_long_speech_pauses_the_reply_and_short_speech_does_not() -> None:
    assert PATIENT.pauses(Overheard(300, 0, "unknown"))
    assert not PATIENT.pauses(Overheard(280, 0, "unknown"))


def test_a_sound_that_is_unlike_words_pauses_and_hushes_nothing_however_long_it_is() -> None:
    assert not PATIENT.pauses(Overheard(1900, 0, "unknown", 0.05))
    assert not PATIENT.hushes(Overheard(1900, 0, "unknown", 0.05))
    assert PATIENT.pauses(Overheard(300, 0, "unknown", 0.9))


def test_what_is_over_pauses_nothing_however_long_it_was() -> None:
    assert not PATIENT.pauses(Overheard(320, 60, "unknown"))


def test_backchannels_get_more_time() -> None:
    assert not PATIENT.pauses(Overheard(700, 0, "listening"))
    assert PATIENT.pauses(Overheard(800, 0, "listening"))


def test_other_words_pause_the_reply_at_once() -> None:
    assert PATIENT.pauses(Overheard(120, 60, "taking"))


def test_a_little_sound_hushes_the_reply() -> None:
    assert PATIENT.hushes(Overheard(100, 0, "unknown"))
    assert not PATIENT.hushes(Overheard(80, 0, "unknown"))
    assert PATIENT.hushes(Overheard(100, 0, "unknown", 0.2)), "the judgement of so little sound is unsure"
    assert not MANNERS["duck"].hushes(Overheard(300, 0, "unknown"))


@pytest.mark.parametrize(
    ("heard", "silent"),
    [
        (Overheard(200, 0, "unknown", 0.9), True),
        (Overheard(200, 60, "unknown", 0.9), False),
        (Overheard(300, 0, "unknown", 0.2), False),
        (Overheard(300, 0, "listening", 0.9), False),
    ],
    ids=["still said", "over", "unlike words", "a backchannel"],
)
def test_a_hushed_reply_stays_silent_for_what_is_still_said_and_sounds_like_words(heard: Overheard, silent: bool) -> None:
    assert PATIENT.stays_hushed(heard) == silent


def test_no_manners_fall_silent_at_the_mere_onset() -> None:
    assert {name: manners.onset for name, manners in MANNERS.items()} == {"eager": "duck", "duck": "duck", "wait": "go on"}


def test_words_in_less_speech_than_they_take_look_like_nothing() -> None:
    assert leaning("Thought it", Overlap("", 220, False, "Once upon a time", ""), language("en")) == "unknown"
    assert leaning("Thought it", Overlap("", 300, False, "Once upon a time", ""), language("en")) == "taking"
