"""Written forms of Italian."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_set
from voiceagent.text_normalization.written_language import WrittenLanguage, listed, money, names, said_for

ITALIAN = WrittenLanguage(
    code="it",
    spelling="it",
    comma="virgola",
    point="punto",
    minus="meno",
    between="a",
    per="al",
    conjunction="e",
    signs=said_for(
        """&: e|+: più|=: uguale a|× / *: per|÷: diviso|−: meno|<: minore di|>: maggiore di|≤: al massimo|≥: almeno|≈: circa
        |~: circa|±: più o meno|§: paragrafo|#: numero|@: chiocciola|%: per cento|€: euro"""
    ),
    spelled_signs=said_for(
        """@: chiocciola|.: punto|-: trattino|_: trattino basso|+: più|/: barra|#: cancelletto|&: e|=: uguale|%: per cento
        |:: due punti|*: asterisco"""
    ),
    months=listed("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
    short_months=listed("gen/genn feb/febb mar apr mag giu/giugn lug/lugl ago set/sett ott nov dic"),
    weekdays=listed("lunedì martedì mercoledì giovedì venerdì sabato domenica"),
    short_weekdays=listed("lun mar mer gio ven sab dom"),
    weekday_links={"-": "a", "a": "a", "al": "al", "/": "e", "e": "e", "&": "e"},
    hour=("", ""),
    minutes="e",
    units=names(
        """²: al quadrato|³: al cubo|%: per cento|‰: per mille|°C: grado Celsius, gradi Celsius
        |°F: grado Fahrenheit, gradi Fahrenheit|°: grado, gradi|km: chilometro, chilometri|m / mt: metro, metri
        |cm: centimetro, centimetri|mm: millimetro, millimetri|µm: micrometro, micrometri|mi: miglio, miglia
        |m² / m2 / mq: metro quadrato, metri quadrati|km²: chilometro quadrato, chilometri quadrati
        |cm²: centimetro quadrato, centimetri quadrati|ha: ettaro, ettari|m³ / m3 / mc: metro cubo, metri cubi
        |cm³: centimetro cubo, centimetri cubi|kg: chilogrammo, chilogrammi|hg: etto, etti|g / gr: grammo, grammi
        |mg: milligrammo, milligrammi|µg: microgrammo, microgrammi|t: tonnellata, tonnellate|lb: libbra, libbre
        |oz: oncia, once|l / L / lt: litro, litri|ml / mL: millilitro, millilitri|cl: centilitro, centilitri
        |dl: decilitro, decilitri|kWh: chilowattora|kW: chilowatt|MW: megawatt|W: watt|V: volt|A: ampere|mAh: milliamperora
        |CV: cavallo, cavalli|Hz: hertz|kHz: chilohertz|MHz: megahertz|GHz: gigahertz|dB: decibel|hPa: ettopascal|bar: bar
        |kcal: chilocaloria, chilocalorie|kJ: chilojoule|kB / KB: kilobyte|MB: megabyte|GB: gigabyte|TB: terabyte
        |Mbit: megabit|Gbit: gigabit|px: pixel|ms: millisecondo, millisecondi|s / sec / sec.: secondo, secondi
        |min / min.: minuto, minuti|h: ora, ore|gg / gg.: giorno, giorni|pers.: persona, persone|pz / pz.: pezzo, pezzi"""
    ),
    currencies=money(
        """€ EUR euro: euro; centesimo, centesimi|$ US$ USD dollaro dollari: dollaro, dollari; centesimo, centesimi
        |£ GBP: sterlina, sterline; penny, pence|CHF: franco svizzero, franchi svizzeri; centesimo, centesimi|¥ JPY: yen; sen
        |PLN zł: zloty; grosz|SEK NOK DKK: corona, corone; öre|CZK: corona, corone; heller|₺ TRY: lira, lire; kuruş
        |₹ INR: rupia, rupie; paisa|R$ BRL: real; centavo, centavos"""
    ),
    scales=names(
        """k: mila|mln / Mln / mln.: milione, milioni|mld / Mld / mrd / mld.: miliardo, miliardi
        |milione / milioni: milione, milioni|miliardo / miliardi: miliardo, miliardi|mila: mila"""
    ),
    fractions=(
        ("mezzo", "mezzi"),
        *((f"{part}o", f"{part}i") for part in listed("terz quart quint sest settim ottav non decim")),
    ),
    mixed_half="{} e mezzo",
    times=("{} volta", "{} volte"),
    size="per",
    out_of="su",
    over="su",
    short_words=said_for(
        """es. / ad es.: ad esempio|p. es. / p.es.: per esempio|sig.: signor|sig.ra: signora|sig.na: signorina|sigg.: signori
        |dott. / dr.: dottor|dott.ssa: dottoressa|prof.: professor|prof.ssa: professoressa|avv.: avvocato|ing.: ingegner
        |arch.: architetto|geom.: geometra|rag.: ragionier|ecc. / etc.: eccetera|ca. / c.a.: circa|tel.: telefono
        |p.zza / p.za: piazza|v.le: viale|c.so: corso|max.: massimo|min.: minimo|a.C. / a. C.: avanti Cristo
        |d.C. / d. C.: dopo Cristo|S.: San|ved.: vedi|sec.: secolo|cfr.: confronta|incl.: incluso|escl.: escluso|int.: interno
        |km/h: chilometri all'ora"""
    ),
    short_before_number=said_for(
        """n. / n° / nº / nr. / num.: numero|nn.: numeri|h. / h: ore|sec.: secolo|pag. / p.: pagina|pagg. / pp.: pagine
        |cap.: capitolo|art.: articolo|fig.: figura|vol.: volume|v.: via"""
    ),
    labels=word_set(
        """chiami chiamare chiama emergenze codice codici pin numero n tel telefono cellulare cell fax interno ordine
        prenotazione cliente conto carta fattura riferimento rif biglietto ticket tracciamento volo cap iban bic pratica
        password otp"""
    ),
    numbered=word_set(
        """secoli opzione camera tavolo pagina binario passo posto linea porta piano gruppo sala numero punto domanda
        capitolo tomo parte atto scena libro volume articolo allegato fase titolo sezione tipo livello canto guerra
        mondiale"""
    ),
    thousand="mila",
    century=re.compile(r"secolo|sec"),
    phones=r"(?:3\d{2}|8\d{2})[ .-]?\d{3}[ .-]?\d{3,4}(?!\d)|3\d{2} \d{2} \d{2} \d{3}(?!\d)",
    respelled=(
        (r"(milion[ei]|miliard[oi])(?: e|,) ", r"\1 "),
        (r"uno(?= mili)", "un"),
        (r"dicotto", "diciotto"),
        (r"dicottesimo", "diciottesimo"),
        (r"diecesimo", "decimo"),
    ),
    masculine=((r"^uno$", "un"),),
    feminine=((r"^uno$", "una"),),
    feminine_words=word_set(
        """suite reception notte parte chiave classe mano moto foto auto stazione nave carne gente legge rete stagione
        lezione canzone televisione carte"""
    ),
    feminine_endings=listed("a zione sione tà tù"),
    masculine_words=word_set(
        """problema sistema programma tema clima poema dramma diploma aroma pianeta cinema dentista turista artista pigiama"""
    ),
    not_nouns=word_set(
        """e o a di da in con per su è sono il la le lo i gli del della al alla ma fra tra era sia come più meno ed od fino
        sarà circa"""
    ),
    of_many=("di", "di"),
    first_day="primo",
    score="a",
    feminine_before=word_set("all"),
    roman_before_noun=True,
    hour_feminine=True,
    before_clock=word_set("all dall alle dalle ore delle le all'una per"),
    before_date=word_set("il dal al del lunedì martedì mercoledì giovedì venerdì sabato domenica"),
    cents="e",
    rank=r"(?P<f>ª|a)|[°º]|o",
    rank_feminine=(("o$", "a"),),
    joined=(
        (r"\buna (?=[aeiou])", "un'"),
        (r"\bun (?=z|y|s[^aeiou\W]|gn|ps)", "uno "),
        (r"\bal (?=person)", "a "),
        (r"\bal (?=[aeiou])", "all'"),
        (r"\bal (?=\w+a$|notte)", "alla "),
    ),
    range_prefix=("da", word_set("da dal dalle dalla dai dall"), word_set("tra fra in di e per con")),
    one_of=r"\s+(?:di|su)\s+\d+\s+",
    copulas=word_set("al lo è il la suo mio"),
    label_links=word_set("di del"),
    half_before=((r"ore|giornate|.+a", "mezza"), (r".+o", "mezzo")),
)
