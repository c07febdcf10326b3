"""German."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

GERMAN = Dictation(
    code="de",
    region="DE",
    numbers=counts("2: zwo, zwote|1: eins, ein, eine, einen|30: dreißig, dreissig|5: fünef"),
    variants=((r"^einhundert", "hundert"), (r"^einhundert", "ein hundert"), (r"zwei", "zwo")),
    joiner="und",
    at_end=phrases("am ende|am schluss|hinten|zum schluss"),
    scales=counts("1000: tausend|1000000: million, millionen"),
    hundreds=counts("100: hundert"),
    like_digits=texts("1: eines|3: dreh, drei|8: achte"),
    like_letters=texts(
        """a: ah|b: be|c: ce, tse, zeh|d: de|e: eh|f: ef, eff|g: ge, geh|h: ha|j: jot, yot|k: ka|l: el, ell|m: em,
        emm|n: en, enn
        |o: oh|p: pe, peh|q: ku, kuh|r: er, err|s: es, ess|t: te, tee|u: uh|v: vau, fau|w: we, weh, wee|x: ix, iks
        |y: ypsilon|z: zet, zett|ss: eszett, scharfes s, scharfes es|ae: a umlaut, ä|oe: o umlaut, ö|ue: u umlaut, ü"""
    ),
    alphabet=words(
        """anton ärger aachen augsburg berta berlin cäsar charlotte chemnitz cottbus dora düsseldorf emil essen
        friedrich frankfurt gustav
        goslar heinrich hamburg ida ingelheim isar julius jena kaufmann konrad köln ludwig leipzig martha münchen nordpol
        nürnberg otto ökonom offenbach paula potsdam quelle quickborn richard rostock samuel siegfried schule salzwedel
        theodor tübingen ulrich übermut unna viktor victor völklingen wilhelm wuppertal xanthippe xaver xanten ypsilon
        zacharias zeppelin zürich zwickau alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike
        november oscar papa quebec romeo sierra tango uniform whiskey yankee zulu"""
    ),
    as_in=phrases("wie|wie in|für|von|wie bei"),
    ends=phrases("am ende|es endet auf|endet auf|endet mit|hinten|die endung ist|zum schluss|am schluss"),
    like_at=words("ad et hat"),
    with_letter=words("mit"),
    without_letter=words("ohne kein"),
    single_letter=words("nur einem einfachem"),
    at_domain=words("bei"),
    number_words=words("nummer"),
    proposals=phrases(
        "wie wäre es mit|wie wäre|wie wär's mit|wie wärs mit|ginge|geht|passt|ginge es|geht es|können wir|könnten wir|sagen wir"
    ),
    signs=texts(
        """@: at, ät, et, klammeraffe, at zeichen, affenschwanz|.: punkt, dot|_: unterstrich, underscore|-: minus,
        bindestrich, strich
        |+: plus|/: schrägstrich, slash"""
    ),
    repeats=counts(
        "2: doppel, doppelt, zweimal, zweimal die, zwei mal, zwei mal die|3: dreimal, dreimal die, drei mal, drei mal die"
    ),
    restart=phrases(
        """nochmal von vorn|noch mal von vorn|noch einmal von vorn|nochmal von vorne|noch mal von vorne|noch einmal
        von vorne|von vorn
        |von vorne|ganz von vorn|ich fange nochmal an|ich fang nochmal an|vergessen sie das|alles zurück|streichen sie das"""
    ),
    repair=phrases(
        """nein|nee|ne|nein entschuldigung|entschuldigung|nein sorry|sorry|ich meine|ich
        meinte|quatsch|moment|halt|falsch|besser gesagt
        |vielmehr|pardon|verzeihung|nein warten sie|nein moment|nein quatsch|äh nein|korrektur|stopp"""
    ),
    no=words("nein nee nö ne falsch nicht"),
    not_=phrases("nicht|und nicht|statt|anstatt|anstelle von|keine|kein"),
    but=words("sondern aber"),
    first=words("erste ersten erster erstes"),
    last=words("letzte letzten letzter letztes"),
    both=words("beiden beide zwei"),
    ordinals=counts("1: erster|3: dritter|7: siebte|8: achte"),
    ordinal_endings=("", "n", "r", "s"),
    fillers=words("äh ähm öh hm hmm mm also tja naja"),
    polite=words("bitte danke schön vielen dank"),
    yes=words("ja jawohl genau okay ok also hallo"),
    doubled=words("doppel doppeltem doppelten zwei"),
    with_=words("mit einem einen ein und es wird ist das geschrieben buchstaben man schreibt"),
    beside=words(
        """meine mein die der das den dem nummer telefonnummer handynummer rufnummer handy telefon mobil ist sind lautet es wäre
        wär ja genau okay ok bitte danke und also äh ähm öh hm die ziffern ziffer zahl zahlen kundennummer bestellnummer
        kartennummer karte pin postleitzahl vorwahl dann nein nicht falsch adresse email e mail mailadresse name ich bin heiße
        heisse möchte hätte gerne gern für am um gegen im in an auf zum zur von bis ab mal so etwa circa ungefähr geboren
        geburtstag geburtsdatum bitte lieber passt geht ginge gut machen wir nehmen nehme will zahlen zahle überweisen betrag
        kostet insgesamt nur sollte sein eine einen ein einer eins nummer alles klein kleingeschrieben zusammen geschrieben groß
        uhrzeit tag datum termin unter erreichen sie mich sagte sagen habe gesagt haben wie heißt oder vielleicht da doch schon
        hier kommt letzten letzte ersten erste beiden wohl denke glaube"""
    ),
    months=(
        "Januar/Jänner/Jan",
        "Februar/Feber/Feb",
        "März/Mrz",
        "April/Apr",
        "Mai",
        "Juni/Jun/Juno",
        "Juli/Jul/Julei",
        "August/Aug",
        "September/Sep/Sept",
        "Oktober/Okt",
        "November/Nov",
        "Dezember/Dez",
    ),
    weekdays=("Montag/Mo", "Dienstag/Di", "Mittwoch/Mi", "Donnerstag/Do", "Freitag/Fr", "Samstag/Sonnabend/Sa", "Sonntag/So"),
    of=words("des im"),
    articles=words("der die das den dem"),
    dotted=True,
    days=counts("0: heute|1: morgen|2: übermorgen, über morgen|3: überübermorgen|-1: gestern"),
    next=phrases("nächsten|nächster|nächste|kommenden|kommender|kommende|diesen|dieser"),
    after_next=phrases("übernächsten|übernächster|übernächste"),
    next_week=phrases("nächste woche|nächster woche|kommende woche|kommender woche"),
    units=counts("1: tag, tage, tagen|7: woche, wochen"),
    months_unit=words("monat monate monaten"),
    within=phrases("in|ab heute|von heute an|heute in"),
    clock=texts("12:00: mittag, mittags, zwölf uhr mittags|00:00: mitternacht"),
    halves=texts(
        """am: morgens, früh, in der früh, am morgen, vormittags, am vormittag, vormittag|pm: nachmittags, am
        nachmittag, nachmittag, mittags
        , abends, am abend, abend|night: nachts, in der nacht"""
    ),
    before_hour=counts("-30: halb|15: viertel nach|-15: viertel vor, dreiviertel, drei viertel|-45: viertel"),
    minutes_from=counts("1: nach, minuten nach|-1: vor, minuten vor"),
    hour=words("uhr"),
    at_time=words("um gegen ab"),
    currencies=texts(
        """EUR: euro, euros, eur|USD: dollar, dollars, us dollar|GBP: pfund, britische pfund|CHF: franken, schweizer
        franken, chf
        |cent: cent, cents, rappen"""
    ),
    half=phrases("einhalb"),
    decimal=words("komma"),
    introductions=phrases(
        """auf den namen|auf den nachnamen|unter dem namen|läuft auf|läuft unter|ist unter|mein name ist|der name ist
        |ich heiße|ich heisse|ich bin|ich bin der|ich bin die|hier ist|hier spricht|name
        ist|das ist|es ist
        |herr|frau|doktor|dr|mein nachname ist|nachname|vorname|mein vorname ist|ich wohne in der|ich wohne in|ich wohne am
        |ich wohne im|meine adresse ist|die adresse ist|die adresse lautet|meine adresse lautet|wir sind in
        der|wohnhaft in der"""
    ),
    names=words(
        """anna maria peter michael thomas andreas wolfgang klaus jürgen günter stefan christian uwe werner horst frank dieter
        manfred gerhard hans bernd thorsten matthias helmut walter heinz martin jörg rolf jens sven alexander jan rainer holger
        karl dirk joachim ralf carsten herbert oliver wilhelm kurt markus heinrich harald paul hermann rudolf erich
        ursula monika
        petra elisabeth sabine renate helga karin brigitte ingrid erika andrea gisela claudia susanne gabriele christa christine
        hildegard anja barbara birgit heike eva irmgard angelika elke martina katrin sandra julia lena laura lisa sarah nicole
        stefanie melanie lukas leon felix jonas tim max moritz ben emma mia hannah sophie marie
        müller schmidt schneider fischer weber meyer wagner becker schulz hoffmann schäfer koch bauer richter klein
        wolf schröder
        neumann schwarz zimmermann braun krüger hofmann hartmann lange schmitt werner schmitz krause meier lehmann
        schmid schulze
        maier köhler herrmann könig walter mayer huber kaiser fuchs peters lang scholz möller weiß jung hahn schubert vogel
        friedrich keller günther frank berger winkler roth beck lorenz baumann franke albrecht schuster simon ludwig böhm
        winter kraus martin schumacher krämer vogt stein jäger otto sommer groß seidel heinrich brandt haas schreiber graf"""
    ),
    particles=words("von van der zu vom zum de"),
    small=words(
        """der die das ein eine einen und oder aber wenn ist sind war bin habe hat haben hatte werde wird kann können
        könnte möchte
        will muss soll ich du er sie es wir ihr mich mir ihnen mein was wann wo wer warum wieso wie welche hier da zu in im auf
        an am bei für mit von über nicht kein keine ja nein bitte danke hallo guten tag morgen abend brauche weiß wissen sagen
        viel viele mehr heute noch schon nur sehr so jetzt dann etwas nichts frage warten wiederholen geöffnet offen termin"""
    ),
    streets=("straße", "strasse", "str", "weg", "platz", "allee", "gasse", "ring", "damm", "ufer", "chaussee", "hof"),
    agree=phrases(
        "das stimmt|stimmt|stimmt so|genau|so ist es|das ist richtig|das ist korrekt|korrekt|ganz genau|mhm|jep|jap|ja genau"
    ),
    refuse=phrases(
        """das stimmt nicht|stimmt nicht|das ist falsch|falsch|das ist nicht richtig|nicht ganz|eher nicht|lieber nicht
        |auf keinen fall"""
    ),
    choose=words("option nummer wahl möglichkeit"),
    dates="{weekday}, {day}. {month}",
    clocks="{hour}:{minute} Uhr",
    full_clocks="{hour} Uhr",
    births="{day}. {month} {year}",
    spoken={
        "yes": "ja",
        "no": "nein",
        "@": "at",
        ".": "Punkt",
        "_": "Unterstrich",
        "-": "Minus",
        "+": "plus",
        "/": "Schrägstrich",
    },
    hints={
        "phone": "Meine Nummer ist 030 12 34 567. Null eins sieben eins, zwei drei vier.",
        "email": "anna.weber@gmx.de. Anna Punkt Weber at web Punkt de.",
        "name": "Mein Name ist Jana Krzyzanowski. K-R-Z-Y.",
        "address": "Hauptstraße 12, 10115 Berlin.",
        "date": "Am Dienstag, dem dritten Mai. Nächsten Freitag. 5. Dezember. Übermorgen.",
        "time": "Um halb vier. 15 Uhr 30. Viertel vor fünf.",
        "date_of_birth": "Am vierten Juli 1985. 3.12.1990.",
        "digits": "4 8 1 5 1 6. Doppel fünf, null, sieben.",
        "money": "12,50 Euro. Zwanzig Euro.",
        "yes_no": "Ja. Nein.",
        "card": "4 1 1 1, 1 1 1 1, 1 1 1 1, 1 1 1 1.",
    },
)
