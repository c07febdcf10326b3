"""Dutch."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

DUTCH = Dictation(
    code="nl",
    region="NL",
    numbers=counts("1: één, een|8: acht|6: zes|14: viertien|100: honderd"),
    joiner="en",
    at_end=phrases("aan het eind|aan het einde|op het eind|achteraan"),
    scales=counts("1000: duizend|1000000: miljoen"),
    hundreds=counts("100: honderd"),
    like_digits=texts("1: eens|3: dree|7: zeuven|0: nol"),
    like_letters=texts(
        """b: bee, be|c: cee, see|d: dee|e: ee|f: ef|g: gee|h: haa, ha|j: jee|k: kaa, ka|l: el|m: em|n: en|o: oo|p:
        pee|q: kuu, ku|r: er|s: es|t: tee, thee
        |u: uu|v: vee|w: wee|x: iks, ix|y: ypsilon, griekse y, i grec, ij|z: zet"""
    ),
    alphabet=words(
        """anna anton bernhard bernard cornelis dirk eduard ferdinand gerard hendrik izaak isaac johan jan karel
        lodewijk maria marie nico
        otto pieter quirinus quotiënt richard rudolf simon teunis theodoor utrecht victor willem xantippe ypsilon zacharias
        zaandam alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo
        sierra tango uniform whiskey yankee zulu"""
    ),
    as_in=phrases("van|als in|zoals|zoals in|als|voor"),
    ends=phrases("eindigt op|het eindigt op|aan het eind|op het eind|aan het einde"),
    like_at=words("ad het"),
    with_letter=words("met"),
    without_letter=words("zonder geen"),
    single_letter=words("één enkele"),
    at_domain=words("bij"),
    number_words=words("nummer"),
    proposals=phrases("wat dacht u van|wat dacht je van|kan het|zou het kunnen|schikt|wat vindt u van"),
    signs=texts(
        """@: at, apenstaartje, apestaartje, apenstaart|.: punt, dot|_: underscore, laag streepje, liggend streepje|-:
        streepje, min, koppelteken|+: plus|/: slash, schuine streep"""
    ),
    repeats=counts("2: dubbel, dubbele, twee keer, twee keer de, twee maal|3: driedubbel, drie keer, drie keer de"),
    restart=phrases(
        """opnieuw|even opnieuw|ik begin opnieuw|vanaf het begin|van voren af aan|begin opnieuw|vergeet dat|wis dat|nog
        een keer van voren af aan"""
    ),
    repair=phrases(
        """nee|nee sorry|sorry|pardon|ik bedoel|ik bedoelde|of nee|nee wacht|wacht|beter gezegd|of liever|fout|foutje|eh
        nee|correctie"""
    ),
    no=words("nee neen fout niet"),
    not_=phrases("niet|en niet|in plaats van|geen"),
    but=words("maar"),
    first=words("eerste"),
    last=words("laatste"),
    both=words("beide twee"),
    fillers=words("eh uh uhm euh hm mm nou dus"),
    polite=words("alstublieft alsjeblieft graag bedankt dank u wel"),
    yes=words("ja jawel oké okay ok nou hallo"),
    doubled=words("dubbele dubbel twee"),
    with_=words("met een de is het schrijf je en letters"),
    beside=words(
        """mijn het de is nummer telefoonnummer mobiel mobiele telefoon van en ja oké ok nou dus eh uh alstublieft
        graag bedankt nee niet
        adres mailadres email e-mail mail naam ik ben heet cijfer cijfers code kaart klantnummer bestelnummer postcode
        reservering om op in voor rond tegen aan geboren geboortedatum datum tijd dag wil zou willen betalen bedrag ongeveer
        totaal een één u kunt me bereiken zei bedoelde met alles kleine letters hoofdletter aan elkaar laatste eerste twee
        doe maar liever neem komt goed uit past dat was dan dat is per tot hier"""
    ),
    months=(
        "januari/jan",
        "februari/feb",
        "maart/mrt",
        "april/apr",
        "mei",
        "juni/jun",
        "juli/jul",
        "augustus/aug",
        "september/sep/sept",
        "oktober/okt",
        "november/nov",
        "december/dec",
    ),
    weekdays=("maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"),
    of=words("van"),
    articles=words("de het"),
    ordinal_suffixes=words("e de ste"),
    days=counts("0: vandaag, vanavond, vanmiddag|1: morgen|2: overmorgen|-1: gisteren"),
    next=phrases("volgende|aanstaande|komende|deze"),
    next_behind=phrases("aanstaande"),
    next_week=phrases("volgende week|komende week"),
    units=counts("1: dag, dagen|7: week, weken"),
    months_unit=words("maand maanden"),
    within=phrases("over|binnen"),
    clock=texts("12:00: twaalf uur 's middags, middaguur|00:00: middernacht"),
    halves=texts(
        """am: 's ochtends, s ochtends, 's morgens, s morgens, ochtend, in de ochtend|pm: 's middags, s middags, middag,
        in de middag, 's avonds, s avonds, avond, in de avond|night: 's nachts, s nachts"""
    ),
    before_hour=counts("-30: half|15: kwart over|-15: kwart voor"),
    minutes_from=counts("1: over, minuten over|-1: voor, minuten voor"),
    hour=words("uur"),
    at_time=words("om rond tegen"),
    currencies=texts("EUR: euro, euro's, eur|USD: dollar, dollars|GBP: pond|CHF: frank|cent: cent, eurocent"),
    half=phrases("en een half|en een halve"),
    decimal=words("komma"),
    introductions=phrases(
        """op naam van|staat op naam van|onder de naam|op de naam|mijn naam is|de naam is|ik heet|ik ben|u spreekt met
        |je spreekt met|met|dit is|het
        is|meneer|mevrouw|dokter|achternaam is
        |mijn achternaam is|achternaam|voornaam|ik woon op de|ik woon op|ik woon in|ik woon aan de|mijn adres is|het adres is"""
    ),
    names=words(
        """jan johannes peter hendrik willem pieter cornelis gerrit henk kees piet dirk hans anton frank erik mark
        marco paul rob
        tom tim bas bart sander jeroen dennis daan sem lucas levi maria anna johanna elisabeth cornelia margaretha wilhelmina
        petra monique ingrid marijke annemarie els ria yvonne sandra linda esther marieke sanne lisa emma julia sophie lotte
        eva fleur anne de jong jansen vries berg bakker dijk visser janssen smit meijer meyer mulder boer bos vos
        peters hendriks
        leeuwen dekker brouwer wit dijkstra smits graaf koster jacobs prins bosch linden willems hoekstra koning maas verhoeven
        wal schouten verbeek hermans bruin vermeulen kuipers kuiper groot martens jonge peeters postma kramer scholten wijk
        post huisman blom jonker ven veenstra"""
    ),
    particles=words("van de der den het te ter ten van't"),
    small=words(
        """de het een en of maar als is zijn was heb heeft hebben kan kunt wil zou ik jij hij zij wij u me mij mijn
        wat wie waar wanneer
        hoe waarom welke op in aan bij voor met van niet geen ja nee dank hallo goedemorgen moet nodig weet weten
        zeggen meer veel
        heel goed hier nu vandaag morgen iets niets vraag wacht herhalen open afspraak graag"""
    ),
    streets=("straat", "weg", "laan", "plein", "gracht", "kade", "singel", "dijk", "pad", "hof", "steeg"),
    agree=phrases("dat klopt|klopt|dat is juist|precies|inderdaad|helemaal goed|dat is goed|zeker weten|juist|ja hoor"),
    refuse=phrases("dat klopt niet|klopt niet|dat is fout|niet helemaal|helemaal niet|liever niet|dat is niet goed|nee hoor"),
    choose=words("optie nummer keuze"),
    dates="{weekday} {day} {month}",
    clocks="{hour}:{minute} uur",
    full_clocks="{hour} uur",
    spoken={
        "yes": "ja",
        "no": "nee",
        "@": "apenstaartje",
        ".": "punt",
        "_": "laag streepje",
        "-": "streepje",
        "+": "plus",
        "/": "slash",
    },
    hints={
        "phone": "Mijn nummer is 06 12 34 56 78. Nul zes, twaalf.",
        "email": "jan.devries@ziggo.nl. Jan punt de Vries apenstaartje gmail punt com.",
        "name": "Mijn naam is Anna Wijnstra. W-I-J.",
        "address": "Kerkstraat 12, 1017 GC Amsterdam.",
        "date": "Volgende week dinsdag. Drie mei. Overmorgen.",
        "time": "Om half vier. 15:30 uur. Kwart voor vijf.",
        "date_of_birth": "Vier juli 1985. 3-12-1990.",
        "digits": "4 8 1 5 1 6. Dubbel vijf, nul, zeven.",
        "money": "12,50 euro. Twintig euro.",
        "yes_no": "Ja. Nee.",
        "card": "4111 1111 1111 1111.",
    },
)
