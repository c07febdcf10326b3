"""Portuguese."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

PORTUGUESE = Dictation(
    code="pt",
    region="BR",
    numbers=counts(
        """1: um, uma|2: duas, dois|6: meia|14: catorze, quatorze|16: dezesseis, dezasseis|17: dezessete, dezassete|19:
        dezenove, dezanove"""
    ),
    joiner="e",
    at_end=phrases("no final|no fim|por último"),
    scales=counts("1000: mil|1000000: milhão, milhões"),
    like_digits=texts("6: seis, sei|1: um|3: tres"),
    like_letters=texts(
        """b: bê, be|c: cê, ce|d: dê|e: é|f: efe, éfe|g: gê|h: agá|j: jota|k: cá, capa|l: ele, éle|m: eme|n: ene|p:
        pê|q: quê, cu|r: erre, érre|s: esse, ésse
        |t: tê|v: vê|w: dáblio, dábliu, duplo vê|x: xis|y: ípsilon, ipsilon|z: zê"""
    ),
    alphabet=words(
        """ana antônio beatriz bola casa carlos dado davi elefante eduardo faca francisco gato gomes homem helena
        isabel ilha josé joão
        kilo laranja lúcia maria maçã navio nicolau ovo oscar pato paulo queijo rato roberto sapato sérgio tatu tiago uva ursula
        vaca vitor waldemar wilson xadrez xavier yolanda zebra zeca alfa bravo charlie delta eco foxtrot golf hotel índia
        julieta lima mike novembro papa quebec romeu sierra tango uniforme victor whisky yankee zulu"""
    ),
    as_in=phrases("de|como|como em|como de"),
    ends=phrases("termina em|termina com|acaba em|acaba com|no final|no fim"),
    like_at=words("a"),
    with_letter=words("com"),
    without_letter=words("sem"),
    single_letter=words("só apenas"),
    at_domain=words("em no"),
    number_words=words("número"),
    proposals=phrases("que tal|pode ser|poderia ser|e se|o que acha de"),
    signs=texts(
        "@: arroba|.: ponto|_: underline, underscore, sublinhado, traço baixo|-: traço, hífen, menos, tracinho|+: mais|/: barra"
    ),
    repeats=counts("2: duplo, duas vezes, duas vezes o, dobrado, dois|3: triplo, três vezes, três vezes o"),
    restart=phrases(
        """começar de novo|vou começar de novo|do começo|do início|desde o início|apaga isso|apague isso|esqueça isso
        |esquece isso|recomeçando|de novo do começo"""
    ),
    repair=phrases(
        """não|não desculpe|desculpe|não desculpa|desculpa|quero dizer|quer dizer|quis dizer|aliás|ou melhor|melhor
        dizendo|não espera|espera|espere|errei|perdão|corrigindo|digo"""
    ),
    no=words("não nao errado"),
    not_=phrases("não|e não|em vez de|no lugar de|ao invés de"),
    but=words("mas sim"),
    first=words("primeiro primeira primeiros primeiras"),
    last=words("último última últimos últimas"),
    both=words("dois duas"),
    ordinals=counts("1: primeira|2: segunda|3: terceira|4: quarta|5: quinta|6: sexta|7: sétima|8: oitava|9: nona|10: décima"),
    fillers=words("hã hum hm eh é ah bom tipo então né"),
    polite=words("por favor obrigado obrigada"),
    yes=words("sim ok okay tá certo então bom olá oi"),
    doubled=words("dois duplo dobrado"),
    with_=words("com um uma o é se escreve tem e letras"),
    beside=words(
        """meu minha o a os as é são número telefone celular fixo de do da sim ok tá então bom por favor obrigado obrigada e não
        endereço email e-mail mail correio nome me chamo sou eu dígito dígitos código cartão cliente pedido postal reserva cep
        às à as ao para em no na umas por volta nasci nascido nascimento data hora dia quero queria gostaria pagar valor
        uns cerca total seria um uma pode me ligar disse falei com tudo minúsculo maiúscula junto último última últimos
        primeiro primeira primeiros fica bom melhor prefiro vou aqui anota dois"""
    ),
    months=(
        "janeiro",
        "fevereiro",
        "março",
        "abril",
        "maio",
        "junho",
        "julho",
        "agosto",
        "setembro",
        "outubro",
        "novembro",
        "dezembro",
    ),
    weekdays=(
        "segunda-feira/segunda",
        "terça-feira/terça",
        "quarta-feira/quarta",
        "quinta-feira/quinta",
        "sexta-feira/sexta",
        "sábado",
        "domingo",
    ),
    of=words("de do"),
    articles=words("o a os as"),
    ordinal_suffixes=words("º o"),
    days=counts("0: hoje, hoje à tarde, hoje à noite|1: amanhã|2: depois de amanhã|-1: ontem"),
    next=phrases("próxima|próximo|nesta|neste|esta|este"),
    next_behind=phrases("que vem|próxima|próximo"),
    next_week=phrases("semana que vem|próxima semana|na semana que vem"),
    units=counts("1: dia, dias|7: semana, semanas"),
    months_unit=words("mês meses"),
    within=phrases("em|daqui a|dentro de"),
    clock=texts("12:00: meio dia|00:00: meia noite"),
    halves=texts(
        """am: da manhã, de manhã, pela manhã, da madrugada|pm: da tarde, à tarde, de tarde, da noite, à noite, de noite"""
    ),
    after_hour=counts("30: e meia|15: e um quarto|-15: menos um quarto"),
    before_hour=counts("-15: quinze para as, quinze para a, um quarto para as"),
    minutes_after=counts("1: e|-1: menos"),
    minutes_from=counts("-1: para as, para a, minutos para as, pras"),
    hour=words("horas hora h"),
    at_time=words("às as à"),
    currencies=texts(
        """BRL: real, reais|EUR: euro, euros, eur|USD: dólar, dólares|GBP: libra, libras|CHF: franco, francos|cent:
        centavo, centavos, cêntimo, cêntimos"""
    ),
    half=phrases("e meio|e meia"),
    decimal=words("vírgula"),
    introductions=phrases(
        """está no nome de|no nome de|em nome de|sob o nome de|meu nome é|o meu nome é|me chamo|chamo me|eu sou|sou
        |eu sou o|eu sou a|sou o|sou a|aqui
        é|fala|senhor|senhora|doutor|doutora|em nome de|sobrenome
        |meu sobrenome é|moro na|moro no|moro em|meu endereço é|o endereço é|eu moro na"""
    ),
    names=words(
        """maria josé ana joão antônio francisco carlos paulo pedro lucas luiz marcos luis gabriel rafael daniel marcelo bruno
        eduardo felipe rodrigo manoel mateus andré fernando fábio leonardo gustavo guilherme leandro tiago anderson ricardo
        márcio jorge sebastião alexandre roberto edson diego vitor sérgio cláudio miguel tiago rui nuno hugo adriana juliana
        márcia fernanda patrícia aline sandra camila amanda bruna jéssica letícia júlia luciana vanessa mariana gabriela vera
        larissa cláudia beatriz rita sônia renata eliane teresa catarina inês sofia marta helena
        silva santos oliveira souza sousa rodrigues ferreira alves pereira lima gomes costa ribeiro martins carvalho almeida
        lopes soares fernandes vieira barbosa rocha dias nascimento andrade moreira nunes marques machado mendes freitas cardoso
        ramos gonçalves santana teixeira araújo pinto correia moura melo castro campos batista monteiro miranda duarte borges"""
    ),
    particles=words("de da do dos das e"),
    small=words(
        """o a os as um uma e ou mas se é são está estão sou tenho tem há quero posso pode eu você ele ela nós me meu
        minha que quem quando onde
        como por para qual quanto em de com no na não sim obrigado olá bom dia preciso sei saber dizer mais muito bem aqui agora
        hoje amanhã nada algo pergunta espera repete aberto consulta vocês"""
    ),
    streets=("rua", "avenida", "praça", "travessa", "alameda", "estrada", "rodovia", "largo", "av"),
    agree=phrases("isso|isso mesmo|é isso|está certo|tá certo|correto|exato|exatamente|com certeza|perfeito|está correto"),
    refuse=phrases("não é isso|está errado|tá errado|errado|de jeito nenhum|não exatamente|não obrigado|nada disso"),
    choose=words("opção número"),
    dates="{weekday}, {day} de {month}",
    with_year="{date} de {year}",
    births="{day} de {month} de {year}",
    spoken={
        "yes": "sim",
        "no": "não",
        "@": "arroba",
        ".": "ponto",
        "_": "underline",
        "-": "traço",
        "+": "mais",
        "/": "barra",
    },
    hints={
        "phone": "É o 11 91234 5678. Onze, nove, um dois três quatro.",
        "email": "maria.silva@uol.com.br. Maria ponto Silva arroba gmail ponto com.",
        "name": "Meu nome é Ana Kowalski. K-O-W.",
        "address": "Rua das Flores, 12, São Paulo, 01310-100.",
        "date": "Terça que vem. Três de maio. Depois de amanhã.",
        "time": "Às três e meia. Às 15h30. Quinze para as cinco.",
        "date_of_birth": "Quatro de julho de 1985. 3/12/1990.",
        "digits": "4 8 1 5 1 6. Cinco cinco, zero, sete.",
        "money": "12,50 reais. Vinte reais.",
        "yes_no": "Sim. Não.",
        "card": "4111 1111 1111 1111.",
    },
)
