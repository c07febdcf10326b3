"""Written forms of Spanish."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_set
from voiceagent.text_normalization.written_language import WrittenLanguage, listed, money, names, said_for

SPANISH = WrittenLanguage(
    code="es",
    spelling="es",
    comma="coma",
    point="punto",
    minus="menos",
    between="a",
    per="por",
    conjunction="y",
    signs=said_for(
        """&: y|+: más|=: igual a|× / *: por|÷: entre|−: menos|<: menor que|>: mayor que|≤: como máximo|≥: al menos
        |≈: aproximadamente|~: aproximadamente|±: más menos|§: sección|#: número|@: arroba|%: por ciento|€: euros"""
    ),
    spelled_signs=said_for(
        """@: arroba|.: punto|-: guion|_: guion bajo|+: más|/: barra|#: almohadilla|&: y|=: igual|%: por ciento|:: dos puntos
        |*: asterisco"""
    ),
    months=listed("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
    short_months=listed("ene feb mar abr may jun jul ago sep/sept/set oct nov dic"),
    weekdays=listed("lunes martes miércoles jueves viernes sábado domingo"),
    short_weekdays=listed("lun/lu mar/ma mié/mie/mi jue/ju vie/vi sáb/sab/sá dom/do"),
    weekday_links={"-": "a", "a": "a", "al": "al", "/": "y", "y": "y", "&": "y"},
    hour=("", ""),
    minutes="",
    units=names(
        """²: al cuadrado|³: al cubo|%: por ciento|‰: por mil|°C / ºC: grado Celsius, grados Celsius
        |°F / ºF: grado Fahrenheit, grados Fahrenheit|°: grado+s|km: kilómetro+s|m: metro+s|cm: centímetro+s|mm: milímetro+s
        |µm: micrómetro+s|mi: milla+s|m² / m2: metro cuadrado, metros cuadrados|km²: kilómetro cuadrado, kilómetros cuadrados
        |cm²: centímetro cuadrado, centímetros cuadrados|ha: hectárea+s|m³ / m3: metro cúbico, metros cúbicos
        |cm³: centímetro cúbico, centímetros cúbicos|kg: kilogramo+s|g / gr: gramo+s|mg: miligramo+s|µg: microgramo+s
        |t: tonelada+s|lb: libra+s|oz: onza+s|l / L: litro+s|ml / mL: mililitro+s|cl: centilitro+s|dl: decilitro+s
        |kWh: kilovatio hora, kilovatios hora|kW: kilovatio+s|MW: megavatio+s|W: vatio+s|V: voltio+s|A: amperio+s
        |mAh: miliamperio hora, miliamperios hora|CV: caballo, caballos|Hz: hercio+s|kHz: kilohercio+s|MHz: megahercio+s
        |GHz: gigahercio+s|dB: decibelio+s|hPa: hectopascal+es|bar: bar+es|kcal: kilocaloría+s|kJ: kilojulio+s
        |kB / KB: kilobyte+s|MB: megabyte+s|GB: gigabyte+s|TB: terabyte+s|Mbit: megabit+s|Gbit: gigabit+s|px: píxel+es
        |ms: milisegundo+s|s / seg / seg.: segundo+s|min / min.: minuto+s|h / h. / hs / hrs / hrs.: hora+s
        |uds. / ud.: unidad+es|pers.: persona+s"""
    ),
    currencies=money(
        """€ EUR euro euros: euro+s; céntimo+s|$ US$ USD dólar dólares: dólar+es; centavo+s|£ GBP: libra+s; penique+s
        |MXN MX$ peso pesos: peso+s; centavo+s|COP ARS CLP: peso+s; centavo+s|S/ S/. PEN: sol+es; céntimo+s
        |CHF: franco suizo, francos suizos; céntimo+s|¥ JPY: yen+es; sen|PLN zł: esloti+s; grosz|SEK NOK DKK: corona+s; öre
        |CZK: corona+s; heller+s|₺ TRY: lira+s; kuruş|₹ INR: rupia+s; paisa+s|R$ BRL: real+es; centavo+s"""
    ),
    scales=names("""k: mil|M: millón, millones|mill.: millón, millones|millón / millones: millón, millones|mil: mil"""),
    fractions=(
        ("medio", "medios"),
        ("tercio", "tercios"),
        *((part, f"{part}s") for part in listed("cuarto quinto sexto séptimo octavo noveno décimo")),
    ),
    mixed_half="{} y medio",
    times=("{} vez", "{} veces"),
    size="por",
    out_of="sobre",
    over="sobre",
    short_words=said_for(
        """ref.: referencia|p. ej. / p.ej. / ej.: por ejemplo|Sr.: señor|Sta.: Santa|Sto.: Santo|Sra.: señora|Srta.: señorita
        |Sres.: señores|Dr.: doctor|Dra.: doctora|D.: don|Dña.: doña|Ud. / Vd.: usted|Uds. / Vds.: ustedes|etc.: etcétera
        |aprox.: aproximadamente|Avda. / Av. / Avd.: avenida|C/: calle|c/: calle|Pza. / Plza. / Pl.: plaza|Prof.: profesor
        |Ing.: ingeniero|Lic.: licenciado|máx.: máximo|mín.: mínimo|tel. / tfno. / teléf.: teléfono|izq. / izda.: izquierda
        |dcha. / dcho.: derecha|EE. UU. / EE.UU. / EEUU: Estados Unidos|a. C. / a.C.: antes de Cristo
        |d. C. / d.C.: después de Cristo|Cía.: compañía|dpto. / depto.: departamento|km/h: kilómetros por hora"""
    ),
    short_before_number=said_for(
        """n.º / n.° / nº / n° / núm. / num. / No. / N.º / Nº: número|pág. / p.: página|págs. / pp.: páginas|cap.: capítulo
        |art.: artículo|fig.: figura|vol.: volumen|s.: siglo|hab.: habitación|C.P. / CP: código postal|apdo.: apartado"""
    ),
    labels=word_set(
        """emergencias llame llamar llama marque marcar código códigos pin número n.º nº núm teléfono tel móvil celular fax
        extensión pedido reserva cliente cuenta tarjeta factura referencia ref billete ticket seguimiento vuelo postal
        cp iban bic dni nif nie expediente contraseña clave"""
    ),
    numbered=word_set(
        """opción habitación mesa página vía paso plaza línea puerta planta grupo sala andén número punto pregunta capítulo
        tomo parte acto escena libro volumen artículo anexo fase título sección tipo nivel guerra mundial"""
    ),
    spelled_letters={"Y": "i griega"},
    thousand="mil",
    century=re.compile(r"siglos?|s"),
    phones=r"(?:[6-9]\d{2}[ .-]?(?:\d{3}[ .-]?\d{3}|\d{2} \d{2} \d{2})|9\d \d{3} \d{2} \d{2}|\d{2} \d{4} \d{4})(?!\d)",
    respelled=(
        (r"veintiuno(?= mil)", "veintiún"),
        (r"\buno(?= mil)", "un"),
        (r"décimoprimero", "undécimo"),
        (r"décimosegundo", "duodécimo"),
        (r"quadr", "cuadr"),
    ),
    masculine=((r"veintiuno$", "veintiún"), (r"\buno$", "un")),
    feminine=(
        (r"ún(?= mil)", "una"),
        (r"\bun(?= mil\b)", "una"),
        (r"uno$", "una"),
        (r"ientos", "ientas"),
        ("quinientos", "quinientas"),
    ),
    feminine_words=word_set(
        """vez veces noche noches clase clases llave llaves parte partes tarde tardes calle calles mano manos foto fotos
        moto motos torre torres carne leche nube gente fuente red luz flor sal piel miel señal catedral"""
    ),
    feminine_endings=listed("a as ción ciones sión siones dad dades tud tudes eza ezas"),
    masculine_words=word_set(
        """día días mapa mapas idioma idiomas problema problemas tema temas sistema sistemas programa programas clima
        climas esquema esquemas planeta planetas poema poemas drama dramas diploma diplomas aroma aromas cometa dálmata
        dálmatas turista turistas taxista taxistas artista artistas dentista dentistas sofá gas gases más"""
    ),
    not_nouns=word_set(
        """y o u a de del en con por para que es son la las los el una como más menos al hasta entre era sea sale está
        estará esta será cada ya"""
    ),
    of_many=("de", "de"),
    year_of="de",
    hour_feminine=True,
    many_hours="horas",
    few_minutes="y",
    halves_of_day=("de la mañana", "de la tarde"),
    before_clock=word_set("las la"),
    before_date=word_set("el del al día lunes martes miércoles jueves viernes sábado domingo"),
    cents="con",
    rank=r"(?P<short>\.?(?:er|ᵉʳ))|(?P<f>\.?ª|\.?a)|\.?[º°]|\.º|\.?o",
    rank_feminine=(("o$", "a"), ("o ", "a ")),
    rank_short=(("(?<=primer)o$", ""), ("(?<=tercer)o$", "")),
    last_ordinal_ruler=10,
    score="a",
    short_rank_before_noun=True,
    roman_before_noun=True,
    one_of=r"\s+de(?:\s+cada)?\s+\d+\s+",
    copulas=word_set("al es el la su mi"),
    feminine_before=word_set("la las"),
    label_links=word_set("de del"),
    half_before=((r".+as?", "media"), (r".+o|kilo", "medio")),
)
