"""Written forms of Portuguese, with the number words of Brazil, as turn-taking's words are."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_set
from voiceagent.text_normalization.written_language import WrittenLanguage, listed, money, names, said_for

PORTUGUESE = WrittenLanguage(
    code="pt",
    spelling="pt_BR",
    comma="vírgula",
    point="ponto",
    minus="menos",
    between="a",
    per="por",
    conjunction="e",
    signs=said_for(
        """&: e|+: mais|=: igual a|× / *: vezes|÷: dividido por|−: menos|<: menor que|>: maior que|≤: no máximo|≥: no mínimo
        |≈: cerca de|~: cerca de|±: mais ou menos|§: parágrafo|#: número|@: arroba|%: por cento|€: euros"""
    ),
    spelled_signs=said_for(
        """@: arroba|.: ponto|-: hífen|_: sublinhado|+: mais|/: barra|#: cerquilha|&: e|=: igual|%: por cento|:: dois pontos
        |*: asterisco"""
    ),
    months=listed("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
    short_months=listed("jan fev mar abr mai jun jul ago set out nov dez"),
    weekdays=listed("segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo"),
    short_weekdays=listed("seg/2ª ter/3ª qua/4ª qui/5ª sex/6ª sáb/sab dom"),
    weekday_links={"-": "a", "a": "a", "à": "a", "/": "e", "e": "e", "&": "e"},
    hour=("hora", "horas"),
    minutes="e",
    units=names(
        """²: ao quadrado|³: ao cubo|%: por cento|‰: por mil|°C / ºC: grau Celsius, graus Celsius
        |°F / ºF: grau Fahrenheit, graus Fahrenheit|°: grau+s|km: quilômetro+s|m: metro+s|cm: centímetro+s|mm: milímetro+s
        |µm: micrômetro+s|mi: milha+s|m² / m2: metro quadrado, metros quadrados
        |km²: quilômetro quadrado, quilômetros quadrados|cm²: centímetro quadrado, centímetros quadrados|ha: hectare+s
        |m³ / m3: metro cúbico, metros cúbicos|cm³: centímetro cúbico, centímetros cúbicos|kg: quilograma+s|g: grama+s
        |mg: miligrama+s|µg: micrograma+s|t: tonelada+s|lb: libra+s|oz: onça+s|l / L: litro+s|ml / mL: mililitro+s
        |cl: centilitro+s|dl: decilitro+s|kWh: quilowatt-hora, quilowatts-hora|kW: quilowatt+s|MW: megawatt+s|W: watt+s
        |V: volt+s|A: ampere+s|mAh: miliampere-hora, miliamperes-hora|cv: cavalo+s|Hz: hertz|kHz: quilohertz|MHz: megahertz
        |GHz: gigahertz|dB: decibel, decibéis|hPa: hectopascal, hectopascais|bar: bar+es|kcal: quilocaloria+s|kJ: quilojoule+s
        |kB / KB: kilobyte+s|MB: megabyte+s|GB: gigabyte+s|TB: terabyte+s|Mbit: megabit+s|Gbit: gigabit+s|px: pixel, pixels
        |ms: milissegundo+s|s / seg / seg.: segundo+s|min / min.: minuto+s|h / hs: hora+s|un. / und.: unidade+s
        |pess.: pessoa+s"""
    ),
    currencies=money(
        """€ EUR euro euros: euro+s; cêntimo+s|R$ BRL real reais: real, reais; centavo+s
        |$ US$ USD dólar dólares: dólar+es; centavo+s|£ GBP: libra+s; penny, pence
        |CHF: franco suíço, francos suíços; cêntimo+s|¥ JPY: iene+s; sen|PLN zł: zloty+s; grosz|SEK NOK DKK: coroa+s; öre
        |CZK: coroa+s; heller|₺ TRY: lira+s; kuruş|₹ INR: rupia+s; paisa+s|AOA Kz: kwanza+s; cêntimo+s"""
    ),
    scales=names(
        """k: mil|mi: milhão, milhões|bi: bilhão, bilhões|M: milhão, milhões|milhão / milhões: milhão, milhões
        |bilhão / bilhões: bilhão, bilhões|mil: mil"""
    ),
    fractions=(
        ("meio", "meios"),
        ("terço", "terços"),
        *((part, f"{part}s") for part in listed("quarto quinto sexto sétimo oitavo nono décimo")),
    ),
    mixed_half="{} e meio",
    times=("{} vez", "{} vezes"),
    size="por",
    out_of="de",
    over="por",
    short_words=said_for(
        """p. ex. / p.ex. / ex.: por exemplo|Sr.: senhor|Sta.: Santa|Sto.: Santo|Sra.: senhora|Srta.: senhorita|Srs.: senhores
        |Dr.: doutor|Dra.: doutora|D.: dom|Prof.: professor|Profa. / Prof.ª: professora|Eng.: engenheiro|etc.: et cetera
        |aprox.: aproximadamente|Av.: avenida|R.: rua|Pça. / Pç.: praça|tel.: telefone|máx.: máximo|mín.: mínimo
        |EUA: Estados Unidos|a.C. / a. C.: antes de Cristo|d.C. / d. C.: depois de Cristo|Cia.: companhia|Ltda.: limitada
        |dpto. / depto.: departamento|V. Exa.: Vossa Excelência|km/h: quilômetros por hora"""
    ),
    short_before_number=said_for(
        """n.º / n.° / nº / n° / núm. / N.º / Nº: número|pág. / p.: página|págs. / pp.: páginas|cap.: capítulo|art.: artigo
        |fig.: figura|vol.: volume|apto. / ap.: apartamento|séc.: século"""
    ),
    labels=word_set(
        """ligue disque emergência emergências código códigos pin senha número nº n.º telefone tel celular telemóvel fax
        ramal extensão pedido reserva cliente conta cartão fatura referência ref bilhete ticket rastreio rastreamento
        voo cep postal iban bic nif cpf cnpj rg protocolo processo"""
    ),
    numbered=word_set(
        """opção quarto mesa página via passo lugar linha porta andar grupo sala número ponto pergunta capítulo tomo parte
        ato cena livro volume artigo anexo fase título seção secção tipo nível guerra mundial"""
    ),
    spelled_letters={"E": "é", "O": "ó"},
    thousand="mil",
    century=re.compile(r"séculos?|séc"),
    phones=(
        r"(?:\(\d{2}\) ?9?\d{4}[ -]?\d{4}|(?:9\d|[2-5])\d{3}-\d{4}|[29]\d{2} \d{3} \d{3}|\d{2} 9?\d{4}[ -]?\d{4}"
        r"|2\d \d{3} (?:\d{2} \d{2}|\d{4})|9\d \d{3} \d{2} \d{2})(?!\d)"
    ),
    respelled=(
        (r",", ""),
        (r"quadrigent", "quadringent"),
        (r"seiscentés", "sexcentés"),
        (r"nongent", "noningent"),
        (r"\bsegundo milésimo", "dois milésimo"),
    ),
    feminine=(
        (r"\bum$", "uma"),
        (r"\bum(?= mil\b)", "uma"),
        (r"\bdois$", "duas"),
        (r"\bdois(?= mil\b)", "duas"),
        (r"entos\b", "entas"),
    ),
    feminine_words=word_set(
        """vez vezes noite noites tarde tardes chave chaves parte partes mão mãos foto fotos moto motos torre torres carne
        gente rede luz flor cor dor lei manhã maçã irmã rua pele ponte sessão sessões televisão questão questões opção"""
    ),
    feminine_endings=listed("a as ção ções ssão ssões são sões dade dades gem gens ã ãs ez tude"),
    masculine_words=word_set(
        """dia dias mapa mapas idioma idiomas problema problemas tema temas sistema sistemas programa programas clima
        climas esquema esquemas planeta planetas poema drama diploma diplomas aroma aromas grama gramas quilograma
        quilogramas miligrama miligramas micrograma microgramas sofá dálmata dálmatas turista turistas dentista
        dentistas artista artistas dez mês gás mas"""
    ),
    not_nouns=word_set(
        """e ou a o de do da em com por para que é são as os um uma como mais menos ao até entre era seja à às na no das
        dos está sua minha fica cada já"""
    ),
    of_many=("de", "de"),
    year_of="de",
    hour_feminine=True,
    halves_of_day=("da manhã", "da tarde"),
    before_clock=word_set("às as das à"),
    before_date=word_set(
        """dia em no do ao segunda terça quarta quinta sexta segunda-feira terça-feira quarta-feira quinta-feira
        sexta-feira sábado domingo"""
    ),
    cents="e",
    rank=r"(?P<f>\.?ª|\.?a)|\.?[º°]|\.?o",
    rank_feminine=(("o$", "a"), ("o ", "a ")),
    last_ordinal_ruler=10,
    score="a",
    roman_before_noun=True,
    singular_below_two=True,
    one_of=r"\s+(?:de|em)(?:\s+cada)?\s+\d+\s+",
    copulas=word_set("para é o a seu sua meu"),
    feminine_before=word_set("as às à"),
    label_links=word_set("de do da"),
    half_before=((r".*gramas?", "meio"), (r".+as?", "meia"), (r".+o", "meio")),
)
