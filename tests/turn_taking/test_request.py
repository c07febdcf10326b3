"""Words that ask for nothing, and words that do."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.overlap import Overlap
from voiceagent.turn_taking.request import asks_nothing, asks_to_repeat, asks_to_start_over, only_halts

STATEMENT = "Your table for four is booked."
HALTS = {
    "en": (
        "Stop.",
        "No, stop.",
        "Stop stop, please.",
        "Okay, okay, stop.",
        "Hold on a second.",
        "Please be quiet.",
        "Wait. Wait a minute.",
        "Shut up!",
        "That's enough, thank you.",
        "Never mind.",
        "Can you stop talking, please?",
        "Um, wait.",
        "stop",
        "Just a moment, please.",
        "Could you hold on for a moment?",
        "STOP!!!",
    ),
    "de": ("Stopp.", "Nein, stopp!", "Warte mal bitte.", "Einen Moment, bitte.", "Hören Sie auf.", "Sei still.", "Vergiss es."),
    "es": ("Para, por favor.", "Espere un momento.", "No, basta.", "Cállate.", "Un momento, por favor.", "Olvídalo."),
    "fr": ("Arrêtez, s'il vous plaît.", "Attendez une seconde.", "Non, stop.", "Tais-toi.", "Ça suffit.", "Laisse tomber."),
    "it": ("Basta.", "Fermati, per favore.", "Aspetti un attimo.", "No, stop.", "Silenzio.", "Lascia perdere."),
    "pt": ("Pare, por favor.", "Espere um momento.", "Não, chega.", "Silêncio.", "Um momento, por favor.", "Esquece."),
    "nl": ("Stop.", "Nee, wacht even.", "Hou op, alsjeblieft.", "Een momentje.", "Wees stil.", "Laat maar."),
}
REACTIONS = {
    "en": ("Okay.", "Mm-hmm.", "Right.", "Yeah, okay.", "Oh, I see.", "No.", "Okay, great, thank you.", "Repeat, please.", "Uh."),
    "de": ("Okay.", "Mhm.", "Ja, genau.", "Ach so.", "Nein.", "Noch einmal, bitte."),
    "es": ("Vale.", "Mhm.", "Sí, claro.", "No.", "Otra vez, por favor."),
    "fr": ("D'accord.", "Mhm.", "Oui.", "Non.", "Encore une fois, s'il vous plaît."),
    "it": ("Okay.", "Mhm.", "Sì, certo.", "No.", "Di nuovo, per favore."),
    "pt": ("Okay.", "Aham.", "Sim, claro.", "Não.", "Outra vez, por favor."),
    "nl": ("Oké.", "Mhm.", "Ja, precies.", "Nee.", "Nog een keer, alsjeblieft."),
}
REQUESTS = {
    "en": (
        "Stop the music.",
        "Cancel my booking.",
        "Stop it at nine.",
        "Stop at one.",
        "Wait, book a table for four.",
        "Stop. Book a table for four.",
        "Okay, cancel it.",
        "Hold on to my order.",
        "No, for five people.",
        "Enough for four people.",
        "Right now, please.",
        "Yes, please.",
        "Go ahead.",
        "Do it.",
        "Pause my subscription.",
        "Goodbye.",
        "75.",
        "",
    ),
    "de": ("Stopp die Musik.", "Storniere meine Buchung.", "Warte bis neun Uhr.", "Nein, für fünf.", "Ja, bitte."),
    "es": ("Para la música.", "Cancela mi reserva.", "Para las nueve.", "No, para cinco."),
    "fr": ("Arrête la musique.", "Annulez ma réservation.", "Non, pour cinq personnes."),
    "it": ("Ferma la musica.", "Annulla la mia prenotazione.", "No, per cinque."),
    "pt": ("Pare a música.", "Cancele a minha reserva.", "Não, para cinco."),
    "nl": ("Stop de muziek.", "Annuleer mijn boeking.", "Nee, voor vijf."),
}
CAN_BE_AGREED_TO = {
    "en": (
        "Shall I book it?",
        "It is free at seven. How about Friday?",
        "Can I do anything else for you?",
        "And is that right?",
        "Would you like to know what we have?",
    ),
    "de": ("Soll ich ihn buchen?", "Wie wäre es am Freitag?"),
    "es": ("¿La reservo?", "¿Qué tal el viernes?"),
    "fr": ("Est-ce que je la réserve ?", "Pourquoi pas vendredi ?"),
    "it": ("Lo prenoto?", "Che ne dice di venerdì?"),
    "pt": ("Posso reservar?", "Que tal sexta-feira?"),
    "nl": ("Zal ik hem boeken?", "Wat dacht u van vrijdag?"),
}
OPEN = {
    "en": ("Hello, how can I help you?", "For how many people?", "And on what day?", "Okay, which table?"),
    "de": ("Guten Tag, wie kann ich helfen?", "Für wie viele Personen?"),
    "es": ("Hola, ¿cómo puedo ayudarle?", "¿Para cuántas personas?"),
    "fr": ("Bonjour, comment puis-je vous aider ?", "À quelle heure ?"),
    "it": ("Buongiorno, come posso aiutarla?", "A che ora?"),
    "pt": ("Olá, como posso ajudar?", "Para quantas pessoas?"),
    "nl": ("Hallo, hoe kan ik u helpen?", "Voor hoeveel personen?"),
}


def pairs(by_code: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(code, said) for code, texts in by_code.items() for said in texts]


def nothing(said: str, code: str, heard: str = STATEMENT, unheard: str = "", last: str | None = None) -> bool:
    return asks_nothing(Overlap(said, 0.0, True, heard, unheard), said if last is None else last, language(code))


@pytest.mark.parametrize(("code", "said"), pairs(HALTS))
def test_a_command_to_stop_asks_for_nothing_whatever_the_agent_asked(code: str, said: str) -> None:
    for heard in ("", STATEMENT, CAN_BE_AGREED_TO[code][0], OPEN[code][0]):
        assert nothing(said, code, heard)


@pytest.mark.parametrize(("code", "said"), pairs(REACTIONS))
def test_a_backchannel_asks_for_nothing_after_a_statement_or_as_the_first_words(code: str, said: str) -> None:
    assert nothing(said, code)
    assert nothing(said, code, "")


@pytest.mark.parametrize(("code", "said"), pairs(REQUESTS))
def test_a_request_with_such_a_word_in_it_is_a_request(code: str, said: str) -> None:
    assert not nothing(said, code)


@pytest.mark.parametrize(("code", "question"), pairs(CAN_BE_AGREED_TO))
def test_a_backchannel_answers_a_question_that_it_can_answer(code: str, question: str) -> None:
    assert not nothing(REACTIONS[code][0], code, question)


@pytest.mark.parametrize(("code", "question"), pairs(OPEN))
def test_a_backchannel_does_not_answer_a_question_for_something_else(code: str, question: str) -> None:
    assert nothing(REACTIONS[code][0], code, question)


def test_a_question_is_answered_before_its_last_words() -> None:
    assert not nothing("Yes.", "en", "Shall I book the table for", "you?")
    assert nothing("Yes.", "en", "Shall I", "book the table for four people on Friday?")


@pytest.mark.parametrize(
    "said", ["Book a table for four. Stop.", "Book a table. No, wait. Stop, please.", "Cancel it. Never mind."]
)
def test_a_request_that_is_taken_back_at_its_end_asks_for_nothing(said: str) -> None:
    assert nothing(said, "en")


def test_a_request_is_taken_back_by_a_later_utterance_without_a_full_stop_between() -> None:
    assert nothing("Book a table for four stop", "en", last="stop")
    assert not nothing("Book a table for four stop", "en", last="Book a table for four stop")


def test_nothing_is_known_of_a_language_without_a_file() -> None:
    assert not nothing("Stop.", "pl")


def test_no_language_lacks_a_list() -> None:
    for one in LANGUAGES.values():
        assert all((one.halts, one.beside_commands, one.proposals)), one.name
        assert one.commands.isdisjoint(phrase[0] for phrase in one.halts if len(phrase) == 1), one.name


def test_what_lets_a_matter_be_asks_for_nothing_in_every_language() -> None:
    for one in LANGUAGES.values():
        assert one.dismissals, one.name
        assert all(asks_nothing(Overlap(" ".join(words), 0.0, True, "", ""), "", one) for words in one.dismissals), one.name


@pytest.mark.parametrize(("code", "said"), pairs(HALTS))
def test_a_command_to_stop_only_halts(code: str, said: str) -> None:
    assert only_halts(said, language(code))


def test_each_phrase_for_it_only_halts_in_every_language() -> None:
    for one in LANGUAGES.values():
        assert all(only_halts(" ".join(words), one) for words in one.halts), one.name


@pytest.mark.parametrize(("code", "said"), [*pairs(REACTIONS), *pairs(REQUESTS), *pairs(CAN_BE_AGREED_TO), *pairs(OPEN)])
def test_other_words_do_not_only_halt(code: str, said: str) -> None:
    assert not only_halts(said, language(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "Stop. What time is it?"),
        ("en", "Cancel my booking. No, stop."),
        ("en", "Book a table for four. Stop."),
        ("en", "Stop. Cancel."),
        ("en", "Stop. Help."),
        ("en", "Wait, say again."),
        ("en", "Wait, what?"),
        ("en", "Stop, start over."),
        ("en", "Don't stop."),
        ("de", "Warte. Wie spät ist es?"),
        ("fr", "Stop, annulez."),
        ("es", "No pare."),
        ("pt", "Não pare, por favor."),
        ("it", "Basta. Che ore sono?"),
        ("nl", "Stop. Hoe laat is het?"),
        ("pl", "Stop."),
    ],
)
def test_a_command_to_stop_beside_which_something_is_said_does_not_only_halt(code: str, said: str) -> None:
    assert not only_halts(said, language(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "Sorry, could you repeat that, please?"),
        ("en", "I didn't catch that."),
        ("en", "Say that again?"),
        ("en", "Can you say the last part again?"),
        ("en", "Please repeat the question."),
        ("de", "Können Sie die Frage noch einmal wiederholen?"),
        ("es", "Perdón, no he entendido la pregunta."),
        ("it", "Potrebbe ripetere la domanda?"),
        ("nl", "Wat zei u? Dat heb ik niet verstaan."),
        ("pt", "Desculpe, pode repetir a pergunta?"),
        ("fr", "Pardon, je n'ai pas bien compris."),
        ("de", "Wie bitte?"),
        ("de", "Können Sie das bitte wiederholen?"),
        ("de", "Das habe ich nicht verstanden."),
        ("fr", "Vous pouvez répéter, s'il vous plaît ?"),
        ("fr", "Je n'ai pas compris."),
        ("es", "¿Puede repetir, por favor?"),
        ("es", "¿Cómo dice?"),
        ("it", "Può ripetere, per favore?"),
        ("it", "Non ho capito."),
        ("nl", "Kunt u dat herhalen, alstublieft?"),
        ("nl", "Nog een keer, alsjeblieft."),
        ("pt", "Pode repetir, por favor?"),
        ("pt", "Não entendi."),
    ],
)
def test_a_request_for_the_last_words_is_known(code: str, said: str) -> None:
    assert asks_to_repeat(said, language(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "Can you repeat my order?"),
        ("en", "Book the same table again, please."),
        ("en", "I want to try again tomorrow."),
        ("de", "Können Sie den Termin wiederholen?"),
        ("de", "Ich möchte noch einmal für Freitag buchen."),
        ("fr", "Comment ça marche ?"),
        ("es", "¿Cómo puedo pagar otra vez?"),
        ("it", "Come posso pagare di nuovo?"),
        ("nl", "Ik wil nog een keer komen."),
        ("pt", "Quero marcar outra vez."),
        ("en", ""),
    ],
)
def test_a_request_for_something_else_is_none_for_the_last_words(code: str, said: str) -> None:
    assert not asks_to_repeat(said, language(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "Start over."),
        ("en", "I want to start over."),
        ("en", "Sorry, can we start over, please?"),
        ("en", "No, let's start again from the beginning."),
        ("en", "Could we go back to the start?"),
        ("en", "Let me start all over again."),
        ("de", "Können wir bitte noch einmal von vorne anfangen?"),
        ("de", "Ich möchte neu anfangen."),
        ("de", "Fangen wir noch einmal von vorn an."),
        ("de", "Nein, nochmal von Anfang an, bitte."),
        ("fr", "On peut recommencer depuis le début, s'il vous plaît ?"),
        ("fr", "Je voudrais tout reprendre à zéro."),
        ("fr", "Pardon, recommençons."),
        ("es", "¿Podemos empezar de nuevo, por favor?"),
        ("es", "Quiero volver a empezar desde el principio."),
        ("es", "No, empecemos otra vez."),
        ("it", "Possiamo ricominciare da capo, per favore?"),
        ("it", "Vorrei ricominciare dall'inizio."),
        ("it", "No, torniamo all'inizio."),
        ("nl", "Kunnen we opnieuw beginnen, alstublieft?"),
        ("nl", "Ik wil graag helemaal opnieuw beginnen."),
        ("nl", "Sorry, van voren af aan."),
        ("pt", "Podemos começar de novo, por favor?"),
        ("pt", "Quero recomeçar do início."),
        ("pt", "Não, vamos voltar ao começo."),
    ],
)
def test_a_request_to_start_over_is_known(code: str, said: str) -> None:
    assert asks_to_start_over(said, language(code))
    assert not asks_to_repeat(said, language(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "When does the course start again?"),
        ("en", "Start the dishwasher again."),
        ("en", "It hurts all over."),
        ("en", "I have been here from the start."),
        ("en", "Again, please."),
        ("en", "My pain started at the beginning of May."),
        ("de", "Der Kurs fängt von vorne an zu langweilen."),
        ("de", "Noch einmal, bitte."),
        ("de", "Ich will am Montag neu anfangen."),
        ("fr", "Ça recommence à faire mal."),
        ("es", "Quiero empezar el curso de nuevo en mayo."),
        ("it", "Vorrei iniziare la terapia da zero a maggio."),
        ("nl", "Het begint opnieuw pijn te doen."),
        ("pt", "Quero começar o curso de novo em maio."),
        ("en", ""),
    ],
)
def test_a_request_about_something_else_does_not_start_over(code: str, said: str) -> None:
    assert not asks_to_start_over(said, language(code))
