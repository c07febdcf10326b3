"""Written forms of German."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_set
from voiceagent.text_normalization.written_language import WrittenLanguage, listed, money, names, said_for

GERMAN = WrittenLanguage(
    code="de",
    spelling="de",
    comma="Komma",
    point="Punkt",
    minus="minus",
    between="bis",
    per="pro",
    conjunction="und",
    signs=said_for(
        """§§: Paragrafen|&: und|+: plus|=: gleich|× / *: mal|÷: geteilt durch|−: minus|<: kleiner als|>: größer als|≤: höchstens
        |≥: mindestens|≈: etwa|~: etwa|±: plus minus|§: Paragraf|#: Nummer|@: at|%: Prozent|€: Euro"""
    ),
    spelled_signs=said_for(
        """§§: Paragrafen|@: at|.: Punkt|-: Bindestrich|_: Unterstrich|+: plus|/: Schrägstrich|#: Raute|&: und|=: gleich
        |%: Prozent|:: Doppelpunkt|*: Stern"""
    ),
    months=listed("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
    short_months=listed("Jan/Jän/Jänner Feb Mrz/Mär Apr - Jun Jul Aug Sep/Sept Okt Nov Dez"),
    weekdays=listed("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
    short_weekdays=listed("Mo Di Mi Do Fr Sa So"),
    weekday_links={"-": "bis", "bis": "bis", "/": "und", "&": "und", "+": "und", "und": "und"},
    hour=("Uhr", "Uhr"),
    minutes="Uhr",
    units=names(
        """²: hoch zwei|³: hoch drei|%: Prozent|‰: Promille|°C: Grad Celsius|°F: Grad Fahrenheit|°: Grad|km: Kilometer|m: Meter
        |cm: Zentimeter|mm: Millimeter|µm: Mikrometer|mi: Meile+n|m² / m2 / qm: Quadratmeter|km²: Quadratkilometer
        |cm²: Quadratzentimeter|ha: Hektar|m³ / m3 / cbm: Kubikmeter|cm³: Kubikzentimeter|kg: Kilogramm|g: Gramm
        |mg: Milligramm|µg: Mikrogramm|t: Tonne+n|oz: Unze+n|lb: Pfund|l / L: Liter|ml / mL: Milliliter|cl: Zentiliter
        |dl: Deziliter|kWh: Kilowattstunde+n|kW: Kilowatt|MW: Megawatt|W: Watt|V: Volt|A: Ampere|mAh: Milliamperestunde+n
        |PS: P S|Hz: Hertz|kHz: Kilohertz|MHz: Megahertz|GHz: Gigahertz|dB: Dezibel|hPa: Hektopascal|bar: Bar
        |kcal: Kilokalorie+n|kJ: Kilojoule|kB / KB: Kilobyte|MB: Megabyte|GB: Gigabyte|TB: Terabyte|Mbit: Megabit
        |Gbit: Gigabit|px: Pixel|ms: Millisekunde+n|s / Sek. / sek.: Sekunde+n|min / Min. / min.: Minute+n
        |h / Std. / Stdn. / std.: Stunde+n|d: Tag+e|Mon.: Monat+e|J.: Jahr+e|Stk. / St.: Stück|Pers.: Person+en"""
    ),
    currencies=money(
        """€ EUR Euro: Euro; Cent|$ US$ USD Dollar: Dollar; Cent|£ GBP: Pfund; Penny, Pence|CHF Fr. SFr. Franken: Franken; Rappen
        |¥ JPY: Yen; Sen|PLN zł: Zloty; Groschen|SEK NOK DKK: Krone+n; Öre|CZK: Krone+n; Heller|₺ TRY: Lira; Kuruş
        |₹ INR: Rupie+n; Paisa|R$ BRL: Real; Centavo, Centavos"""
    ),
    scales=names("k / Tsd.: Tausend|Mio. / Mio: Million+en|Mrd. / Mrd: Milliarde+n|Bio.: Billion+en"),
    fractions=(
        ("halb", "Halbe"),
        *((part, part) for part in listed("Drittel Viertel Fünftel Sechstel Siebtel Achtel Neuntel Zehntel")),
    ),
    mixed_half="{}einhalb",
    times=("{}mal", "{}mal"),
    size="mal",
    out_of="von",
    over="zu",
    short_words=said_for(
        """p. P. / p.P.: pro Person|z. B. / z.B.: zum Beispiel|d. h. / d.h.: das heißt|u. a. / u.a.: unter anderem
        |u. U. / u.U.: unter Umständen|i. d. R. / i.d.R.: in der Regel|z. T. / z.T.: zum Teil|v. a. / v.a.: vor allem
        |o. Ä. / o.Ä.: oder Ähnliches|bzw.: beziehungsweise|ca.: circa|evtl.: eventuell|ggf.: gegebenenfalls|inkl.: inklusive
        |exkl.: exklusive|zzgl.: zuzüglich|vgl.: vergleiche|sog.: sogenannte|usw.: und so weiter|etc.: et cetera|max.: maximal
        |min.: mindestens|mind.: mindestens|bspw.: beispielsweise|insb.: insbesondere|allg.: allgemein|tägl.: täglich
        |wg.: wegen|Dipl.-Ing.: Diplomingenieur|Jh.: Jahrhundert|Hr.: Herr|Fr.: Frau|Dr.: Doktor|Prof.: Professor
        |Dipl.: Diplom|Ing.: Ingenieur|St.: Sankt|geb.: geboren|MwSt.: Mehrwertsteuer|Tel.: Telefon|Str.: Straße|u.: und
        |v. Chr.: vor Christus|n. Chr.: nach Christus|km/h: Kilometer pro Stunde"""
    ),
    short_before_number=said_for(
        """Nr.: Nummer|Kl.: Klasse|Bj.: Baujahr|S.: Seite|Abb.: Abbildung|Tab.: Tabelle|Bd.: Band|Kap.: Kapitel|Art.: Artikel
        |Abs.: Absatz|Hnr.: Hausnummer|Zi.: Zimmer|PLZ: Postleitzahl|Pos.: Position|Std.: Stunden"""
    ),
    labels=word_set(
        """notruf wählen code codes buchungscode zugangscode pin puk tan nummer telefonnummer handynummer rufnummer
        kundennummer bestellnummer vertragsnummer kontonummer rechnungsnummer auftragsnummer kartennummer hausnummer
        vorgangsnummer buchungsnummer sendungsnummer ticketnummer mitgliedsnummer artikelnummer nr telefon tel handy
        mobil fax durchwahl postleitzahl plz bestellung auftrag buchung ticket vorgang konto iban bic kennwort passwort
        aktenzeichen flug"""
    ),
    numbered=word_set(
        """option zimmer tisch seite gleis plan schritt platz linie tor stock etage haus gruppe raum halle kabine variante
        punkt frage kapitel band teil akt szene artikel abschnitt stufe klasse phase anhang bauabschnitt weltkrieg typ"""
    ),
    century=re.compile(r"jahrhunderts?|jh\.?"),
    digitwise=True,
    hundreds="hundert",
    respelled=((r"eins(?=tausend)", "ein"),),
    masculine=((r"eins$", "ein"),),
    feminine=((r"eins$", "eine"),),
    feminine_words=word_set(
        """person nacht uhrzeit stadt hand frau zahl tür nummer mutter tochter schwester mark lira wahl liga million regel
        gabel insel schachtel kartoffel tafel arbeit antwort fahrt einfahrt ausfahrt abfahrt karte gebühr bar mail
        e-mail sms pizza cola kiwi mango tonne firma bank post bahn wand maus kuh kraft luft angst wurst butter feder
        leiter mauer steuer dauer trauer ecke burg kur natur kultur figur"""
    ),
    feminine_endings=listed(
        "ung heit keit schaft tät ion erin ztin stin kundin kollegin freundin chefin anwältin enz anz ik ur e"
    ),
    masculine_words=word_set(
        """ende auge käse name kunde junge kollege buchstabe gebäude gebirge interesse erbe experte patient patiente
        tourist getreide gemüse glaube gedanke wille riese hase löwe affe franzose russe pole türke chinese zeuge
        nachbar abitur tanz kranz glanz schwanz grenze pferde tage jahre monate gäste hunde tische euro ergebnisse tisch
        kaffee tee schnee see klee gelee essen getränke geschenke geräte spiele stücke pläne plätze anrufe termine
        preise kurse filme briefe ringe"""
    ),
    not_nouns=word_set(
        """aber wieder eher später über unter immer hier dieser jeder einer leider sicher weiter weniger lieber entweder
        und oder bis mit von vom für ist sind ohne heute bitte alle sowie wie als zu zum am im in auf an aus bei nach
        vor pro je mal gerne gestern morgen danke beide bitte wäre habe hatte wurde würde seite"""
    ),
    before_clock=word_set("um ab gegen bis von zwischen seit nach vor"),
    before_date=word_set("am zum vom bis ab dem den seit"),
    rank_endings=(
        (
            r"(?:am|im|vom|zum|beim|ab|bis|seit|nach|vor|dem|den|des|ins|zur|mit|in"
            r"|(?:ein|jed|dies|unser|ihr|mein|sein|kein)e[mn]) .*",
            "en",
        ),
        (r"(?:d(?:er|ie|as)|dies(?:e|er|es)|jed(?:e|er|es)|welche|(?:ein|ihr|mein|unser|sein|kein)e) .*", "e"),
        (
            r".* (?:jahrhundert|mal|quartal|semester|kapitel|halbjahr|stockwerk|(?:ober|unter)geschoss|jahr|bild|kind|tor|spiel"
            r"|zimmer|buch|haus|gebot)",
            "es",
        ),
    ),
    before_rank=word_set("am zum vom dem den der beim"),
    dotted_dates=True,
    capital_nouns=True,
    ruler_articles=("der", "die"),
    decade="er",
    decade_ending="er",
    phones=r"0 ?\d{2,4} ?/ ?\d{2,8}(?: \d{2,3}){0,4}(?!\d)",
    copulas=word_set("sie ist lautet die der den ihre ihr meine mein unter"),
    label_endings=listed("code nummer nr pin kennzeichen"),
    half_before=(
        (
            r"stunde|tablette|pizza|minute|flasche|portion|seite|tonne|meile|tasse|woche|million|milliarde|.*(?:ung|ion|e)",
            "eine halbe",
        ),
        (r"liter|meter|kilometer|tag|monat|apfel|teelöffel|esslöffel|löffel|preis|kreis", "ein halber"),
        (r"[^\W\d_].{2,}", "ein halbes"),
    ),
    endings={"str.": "straße", "nr.": "nummer"},
    score="zu",
    after_dative=(
        word_set("mit von vom bei nach aus zu seit in vor unter über etwa ca. circa"),
        ((r"((?i:meter|liter))$", r"\1n"), (r"(Tage|Jahre|Monate)$", r"\1n")),
    ),
)
