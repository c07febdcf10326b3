"""Written forms of Dutch."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_set
from voiceagent.text_normalization.written_language import WrittenLanguage, listed, money, names, said_for

DUTCH = WrittenLanguage(
    code="nl",
    spelling="nl",
    comma="komma",
    point="punt",
    minus="min",
    between="tot",
    per="per",
    conjunction="en",
    signs=said_for(
        """&: en|+: plus|=: is|× / *: keer|÷: gedeeld door|−: min|<: kleiner dan|>: groter dan|≤: hoogstens|≥: minstens
        |≈: ongeveer|~: ongeveer|±: plus of min|§: paragraaf|#: nummer|@: apenstaartje|%: procent|€: euro"""
    ),
    spelled_signs=said_for(
        """@: apenstaartje|.: punt|-: streepje|_: underscore|+: plus|/: slash|#: hekje|&: en|=: is|%: procent|:: dubbele punt
        |*: sterretje"""
    ),
    months=listed("januari februari maart april mei juni juli augustus september oktober november december"),
    short_months=listed("jan feb mrt apr - jun jul aug sep/sept okt nov dec"),
    weekdays=listed("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
    short_weekdays=listed("ma/maa di/din wo/woe do/don vr/vrij za/zat zo/zon"),
    weekday_links={"-": "tot", "t/m": "tot en met", "tot": "tot", "/": "en", "en": "en", "&": "en"},
    hour=("uur", "uur"),
    minutes="uur",
    units=names(
        """²: kwadraat|³: tot de derde|%: procent|‰: promille|°C: graad Celsius, graden Celsius
        |°F: graad Fahrenheit, graden Fahrenheit|°: graad, graden|km: kilometer|m: meter|cm: centimeter|mm: millimeter
        |µm: micrometer|mi: mijl|m² / m2: vierkante meter|km²: vierkante kilometer|cm²: vierkante centimeter|ha: hectare
        |m³ / m3: kubieke meter|cm³: kubieke centimeter|kg: kilogram|g / gr: gram|mg: milligram|µg: microgram|l / L: liter
        |ml / mL: milliliter|cl: centiliter|dl: deciliter|kWh: kilowattuur|kW: kilowatt|MW: megawatt|W: watt|V: volt|A: ampère
        |mAh: milliampère-uur|pk: paardenkracht|Hz: hertz|kHz: kilohertz|MHz: megahertz|GHz: gigahertz|dB: decibel
        |hPa: hectopascal|bar: bar|kcal: kilocalorie, kilocalorieën|kJ: kilojoule|kB / KB: kilobyte|MB: megabyte|GB: gigabyte
        |TB: terabyte|Mbit: megabit|Gbit: gigabit|px: pixel+s|ms: milliseconde+n|s / sec / sec.: seconde+n
        |min / min.: minuut, minuten|u / u. / h: uur|d: dag+en|pers.: persoon, personen|st.: stuk+s"""
    ),
    currencies=money(
        """€ EUR euro: euro; cent|$ US$ USD dollar: dollar; cent|£ GBP: pond; penny, pence|CHF: Zwitserse frank; rappen
        |¥ JPY: yen; sen|PLN zł: zloty; grosz|SEK NOK DKK: kroon, kronen; öre|CZK: kroon, kronen; heller|₺ TRY: lira; kuruş
        |₹ INR: roepie, roepies; paisa|R$ BRL: real; centavo, centavos"""
    ),
    scales=names("""k: duizend|mln. / mln / mio.: miljoen|mld. / mld: miljard|miljoen: miljoen|miljard: miljard"""),
    fractions=(
        ("half", "halve"),
        ("derde", "derde"),
        ("kwart", "kwart"),
        *((part, part) for part in listed("vijfde zesde zevende achtste negende tiende")),
    ),
    mixed_half="{} en een half",
    times=("{} keer", "{} keer"),
    size="bij",
    out_of="op",
    over="over",
    short_words=said_for(
        """p.p.: per persoon|p.p.p.n.: per persoon per nacht|bijv. / bv.: bijvoorbeeld|d.w.z. / dwz: dat wil zeggen|dhr.: de heer
        |mevr. / mw.: mevrouw|dr.: doctor|drs.: doctorandus|ir.: ingenieur|prof.: professor|enz.: enzovoort|etc.: et cetera
        |a.u.b. / aub: alstublieft|s.v.p.: s'il vous plaît|i.v.m.: in verband met|m.b.t.: met betrekking tot
        |o.a.: onder andere|i.p.v.: in plaats van|t.a.v.: ter attentie van|incl.: inclusief|excl.: exclusief|ca. / c.a.: circa
        |max.: maximaal|min.: minimaal|tel.: telefoon|jl.: jongstleden|a.s.: aanstaande|t/m: tot en met|evt.: eventueel
        |m.u.v.: met uitzondering van|n.a.v.: naar aanleiding van|v.Chr. / v. Chr.: voor Christus
        |n.Chr. / n. Chr.: na Christus|vs.: versus|km/u / km/h: kilometer per uur"""
    ),
    short_before_number=said_for(
        """nr. / no. / nrs.: nummer|blz. / p. / pag.: bladzijde|hfst.: hoofdstuk|art.: artikel|afb. / fig.: afbeelding
        |kam.: kamer|jrg.: jaargang"""
    ),
    labels=word_set(
        """bel alarmnummer code codes pin pincode nummer nr telefoon telefoonnummer tel mobiel fax toestel bestelling
        bestelnummer boeking boekingsnummer reservering klantnummer rekening rekeningnummer kaart factuur factuurnummer
        ticket vlucht postcode iban bic bsn wachtwoord ordernummer dossiernummer"""
    ),
    numbered=word_set(
        """optie kamer tafel pagina spoor stap plaats lijn deur verdieping groep zaal nummer punt vraag hoofdstuk deel akte
        scène boek artikel bijlage fase titel niveau type wereldoorlog klasse"""
    ),
    spelled_letters={"Y": "ypsilon"},
    century=re.compile(r"eeuw(?:en)?"),
    respelled=((r"duizend(?=[a-zé])", "duizend "),),
    hundreds="honderd",
    count_in_hundreds=True,
    before_clock=word_set("om van tot tussen vanaf vóór na rond"),
    before_date=word_set("op van tot vanaf maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
    rank=r"e|ste|de",
    ruler_articles=("de", "de"),
    not_nouns=word_set("en of tot"),
    copulas=word_set("is luidt het de uw mijn"),
    label_links=word_set("van"),
    postcodes=r"\d{4} ?[A-Z]{2}",
    label_endings=listed("code nummer nr"),
    half_before=((r"uur|jaar|kilo|pond|glas|brood|.*je|van|en|of|.{0,2}", "een half"), (r"[^\W\d_]+", "een halve")),
    one_and_half="anderhalf",
    endings={"str.": "straat", "nr.": "nummer"},
)
