"""German."""

from __future__ import annotations

from voiceagent.turn_taking.language import Language, Prompts, Sayings, number_words, phrase_set, word_set, written_set
from voiceagent.turn_taking.phone_words import PhoneWords

_ONES = """null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn
achtzehn neunzehn"""
_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"

GERMAN = Language(
    code="de",
    name="German",
    yes=word_set(
        "ja jawohl jo jep klar genau richtig stimmt okay ok gerne gern bitte einverstanden natürlich sicher doch absolut"
    ),
    beside_yes=word_set(
        """das ist so passt gut sehr prima super perfekt mach machen sie wir es mal dann danke vielen dank ich möchte
        will buchen und ach na aber schon für mich uns alles in ordnung"""
    ),
    yes_phrases=phrase_set(
        "warum nicht|ja warum nicht|passt|das passt|nur zu|auf jeden fall|in ordnung|machen sie das|alles klar"
    ),
    no=word_set("nein nee nö nicht kein keine niemals nie abbrechen stopp stop halt warte warten"),
    commands=word_set(
        """stopp stop halt nein nee nö warte warten moment abbrechen genug ruhe aufhören pause aber eigentlich
        entschuldigung sorry wiederholen wiederhole nochmal lauter langsamer leiser hilfe"""
    ),
    command_phrases=phrase_set("noch mal|noch einmal|einen augenblick|hör auf|hören sie auf|sei still|warte mal|warten sie"),
    backchannels=word_set(
        """mm mhm hm hmm hmmm äh ähm ah aha ach oh ja jo jep ok okay genau richtig gut schön klar stimmt super prima toll
        echt wirklich verstehe ich alles danke so na interessant"""
    ),
    openers=word_set(
        """was wann wo wer warum wie welche welcher welches kann können könnte könnten wird würde ist sind haben hat
        bitte in für am an im mit von und also weil wenn ich mein wir es der die das"""
    ),
    unfinished={
        "filler": word_set("äh ähm öh hm hmm mm also naja na tja"),
        "joiner": word_set(
            """und oder aber weil wenn dann als während dass ob wer was welche welcher welches wo wie warum auch plus
            minus mal geteilt sondern denn obwohl damit"""
        ),
        "determiner": word_set(
            """ein eine einen einem einer eines der die das den dem des mein meine meinen meinem meiner dein deine ihr
            ihre ihren ihrem sein seine unser unsere diese dieser diesen dieses jede jeder jeden kein keine keinen"""
        ),
        "preposition": word_set(
            """zu zum zur für von vom in im ins auf an am ans bei beim mit über um aus nach zwischen bis vor seit während
            ohne unter gegen durch neben per ab"""
        ),
        "auxiliary": word_set(
            """ist sind bin war waren habe haben hat hatte kann können könnte könnten will wollen würde würden werde wird
            werden soll sollte muss müssen darf möchte möchten hätte"""
        ),
        "pronoun": word_set("ich wir er sie man es"),
        "verb": word_set("brauche brauchen suche meine meinte sagte heiße sehr zu wirklich mehr"),
    },
    question_words=word_set(
        "was wann wo wohin woher wer wen wem wessen welche welcher welches welchen wie warum wieso weshalb wieviel"
    ),
    numbers=number_words(_ONES, _TENS, {"ein": 1, "zwo": 2, "hundert": 100, "tausend": 1000}),
    repeats={"doppel": 2},
    spelling=word_set("at punkt strich bindestrich unterstrich schrägstrich doppel wie komma klammeraffe"),
    email_signs=word_set("at klammeraffe"),
    dots=word_set("punkt dot"),
    abbreviations=written_set("hr. fr. dr. prof. z.b. d.h. u.a. ca. bzw. usw. str. nr. tel. inkl."),
    sayings=Sayings(
        check_in="Sind Sie noch da?",
        farewell="Auf Wiederhören.",
        apology="Entschuldigung, da ist etwas schiefgegangen. Bitte sagen Sie das noch einmal.",
        fillers=("Ich sehe kurz nach.", "Einen Moment, bitte.", "Eine Sekunde."),
        blocked_output="Das darf ich leider nicht sagen.",
        blocked_input="Dabei kann ich leider nicht helfen.",
        code="Den Code lasse ich weg.",
    ),
    prompts=Prompts(
        summary="Was bisher gesagt wurde:",
        sum_up=(
            "Fasse unser Gespräch bis hierher in höchstens fünf kurzen Sätzen zusammen. "
            "Behalte Namen, Zahlen und was vereinbart wurde."
        ),
        context="Notizen, die bei dem helfen können, was ich unten sage:",
        tool_interrupted='{"error": "abgebrochen, bevor es fertig war"}',
        tool_pending='{"status": "läuft noch, sage nur, was schon bekannt ist"}',
        tool_running='{"status": "läuft noch, das Ergebnis ist noch nicht bekannt"}',
        tool_not_confirmed='{"status": "noch nicht ausgeführt: der Anrufer wird um Bestätigung gebeten"}',
        tool_other_unconfirmed='{"error": "nicht ausgeführt: eine andere Anfrage wartet auf die Bestätigung des Anrufers"}',
    ),
    phone=PhoneWords(
        machine=phrase_set(
            "nach dem ton|nach dem signalton|nach dem signal|nach dem piep|nach dem piepton|nach dem pfeifton|"
            "eine nachricht|nachricht hinterlassen|hinterlassen sie|hinterlasse|hinterlasst|anrufbeantworter|"
            "mailbox|mobilbox|sprachbox|voicemail|sprachnachricht|rufe zurück|rufe sie zurück|ruf dich zurück|"
            "rufen sie zurück|rufen wir sie zurück|rufe ich zurück|melde mich|melden uns bei ihnen|"
            "vorübergehend nicht erreichbar|teilnehmer ist|der gewünschte gesprächspartner|versuchen sie es später|"
            "automatisch|drücken sie"
        ),
        absent=phrase_set(
            "nicht erreichbar|nicht zu erreichen|nicht da|nicht zu hause|nicht ans telefon|nicht entgegennehmen|"
            "nicht persönlich|außerhalb|geschäftszeiten|öffnungszeiten|büro ist geschlossen"
        ),
        collect_digits=(
            "Lass den Anrufer eine Nummer am Telefon eintippen, zum Beispiel eine Bestellnummer oder eine PIN. Sage "
            "vorher, was einzutippen ist und welche Taste abschließt. Das Eingetippte kommt als nächste Nachricht des "
            "Anrufers."
        ),
        collecting=(
            "der Anrufer kann jetzt tippen; das Eingetippte ist seine nächste Nachricht; sage ihm, was er eintippen soll"
        ),
    ),
)
