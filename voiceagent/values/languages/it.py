"""Italian."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

ITALIAN = Dictation(
    code="it",
    region="IT",
    numbers=counts("1: un, uno, una"),
    joiner="e",
    at_end=phrases("alla fine|in fondo"),
    scales=counts("1000: mille, mila|1000000: milione, milioni"),
    like_digits=texts("6: sei|8: otto|2: due"),
    like_letters=texts(
        """b: bi|c: ci|d: di|f: effe|g: gi|h: acca|j: i lunga, gei|k: cappa, kappa|l: elle|m: emme|n: enne|p: pi|q:
        cu, qu|r: erre|s: esse|t: ti
        |v: vu, vi|w: doppia vu, vu doppia|x: ics|y: ipsilon, i greca|z: zeta"""
    ),
    alphabet=words(
        """ancona bari bologna como domodossola empoli firenze genova hotel imola jolly kursaal livorno milano napoli
        otranto padova
        palermo quarto roma savona salerno torino taranto udine venezia verona washington xilofono yacht york zara alfa bravo
        charlie delta eco foxtrot golf india juliett kilo lima mike november oscar papa quebec romeo sierra tango uniform victor
        whisky yankee zulu"""
    ),
    as_in=phrases("come|di|come in|per"),
    ends=phrases("finisce con|finisce per|termina con|alla fine"),
    like_at=words("a at"),
    with_letter=words("con"),
    without_letter=words("senza"),
    single_letter=words("sola solo"),
    at_domain=words("su presso"),
    number_words=words("numero"),
    proposals=phrases("che ne dice di|che ne dice|va bene|andrebbe bene|può andare|magari"),
    signs=texts(
        """@: chiocciola, at, chiocciolina|.: punto|_: underscore, trattino basso, trattino in basso|-: trattino, meno,
        lineetta|+: più|/: barra, slash"""
    ),
    repeats=counts("2: doppio, doppia, due volte, due volte il, due|3: triplo, tripla, tre volte, tre volte il"),
    restart=phrases(
        "ricomincio|ricominciamo|da capo|dall'inizio|cancelli tutto|cancella tutto|lasci perdere|riparto da capo|rifacciamo"
    ),
    repair=phrases(
        """no|no scusi|scusi|no scusa|scusa|volevo dire|intendevo|cioè|anzi|no aspetti|aspetti|mi correggo|ho sbagliato
        |pardon|no anzi"""
    ),
    no=words("no sbagliato macché non"),
    not_=phrases("non|e non|invece di|al posto di|invece che"),
    but=words("ma bensì"),
    first=words("primo prima primi prime"),
    last=words("ultimo ultima ultimi ultime"),
    both=words("due"),
    ordinals=counts("1: prima|2: seconda|3: terza|4: quarta|5: quinta|6: sesta|7: settima|8: ottava|9: nona|10: decima"),
    fillers=words("ehm eh mm hm allora dunque beh"),
    polite=words("per favore grazie prego"),
    yes=words("sì si ok okay allora certo ciao buongiorno"),
    doubled=words("doppia doppio due"),
    with_=words("con una un la il è si scrive ha e lettere"),
    beside=words(
        """il lo la i le mio mia è e sono numero telefono cellulare fisso di del della sì si ok allora ecco dunque ehm
        eh per favore
        grazie no non indirizzo email mail posta nome mi chiamo cifra cifre codice carta cliente ordine postale prenotazione
        alle all' alla per a in nel il verso nato nata nascita data ora giorno vorrei voglio pagare importo circa totale sarebbe
        un una uno può chiamarmi ho detto con tutto minuscolo maiuscola attaccato ultimo ultima ultimi ultime primo
        prima primi va
        bene facciamo meglio prendo preferisco qui intorno verso al"""
    ),
    months=(
        "gennaio",
        "febbraio",
        "marzo",
        "aprile",
        "maggio",
        "giugno",
        "luglio",
        "agosto",
        "settembre",
        "ottobre",
        "novembre",
        "dicembre",
    ),
    weekdays=("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"),
    of=words("di del dell"),
    articles=words("il lo la l le"),
    days=counts("0: oggi, stasera|1: domani|2: dopodomani, dopo domani|-1: ieri"),
    next=phrases("questo|questa|prossimo|prossima|il prossimo"),
    next_behind=phrases("prossimo|prossima|che viene"),
    next_week=phrases("prossima settimana|la settimana prossima|settimana prossima"),
    units=counts("1: giorno, giorni|7: settimana, settimane"),
    months_unit=words("mese mesi"),
    within=phrases("tra|fra|entro"),
    clock=texts("12:00: mezzogiorno|00:00: mezzanotte"),
    halves=texts(
        """am: di mattina, del mattino, la mattina, di mattino|pm: di pomeriggio, del pomeriggio, il pomeriggio,
        pomeriggio, di sera, della sera, la sera|night: di notte"""
    ),
    after_hour=counts("15: e un quarto, e quarto|30: e mezza, e mezzo|45: e tre quarti|-15: meno un quarto"),
    minutes_after=counts("-1: meno|1: e"),
    hour=words("ore ora"),
    at_time=words("alle le ore"),
    currencies=texts(
        """EUR: euro, euri, eur|USD: dollaro, dollari|GBP: sterlina, sterline|CHF: franco, franchi|cent: centesimo,
        centesimi, cent"""
    ),
    half=phrases("e mezzo|e mezza"),
    decimal=words("virgola"),
    introductions=phrases(
        """è a nome di|sotto il nome di|sotto il nome|il mio nome è|mi chiamo|sono|qui è|parla|signor|signora|signore
        |dottor|dottoressa|a nome|a nome di|il
        cognome è|cognome
        |il mio cognome è|abito in|abito a|vivo in|il mio indirizzo è|l'indirizzo è|siamo in"""
    ),
    names=words(
        """giuseppe maria anna giovanni francesco antonio luigi mario angelo roberto stefano marco salvatore andrea
        paolo vincenzo
        alessandro domenico pietro bruno franco giorgio carlo sergio luca giulio massimo fabio claudio enrico davide
        simone matteo
        riccardo michele filippo lorenzo rosa angela giovanna teresa lucia carmela caterina francesca antonietta carla elena
        concetta rita paola laura sara giulia chiara silvia federica valentina alessandra elisa martina sofia alice marta
        rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti costa giordano mancini rizzo
        lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara galli martini leone longo gentile martinelli
        vitale lombardo serra coppola marchetti parisi villa conte ferraro fabbri bianco marini grasso valentini messina sala
        gatti pellegrini palumbo sanna farina rizzi monti cattaneo morelli amato silvestri mazza testa"""
    ),
    particles=words("di de del della lo la d"),
    small=words(
        """il lo la i gli le un una e o ma se è sono ho hai ha abbiamo vorrei voglio posso può io tu lui lei noi voi
        mi ti che cosa chi
        quando dove come perché quale quanto a in di da con su per non no sì grazie buongiorno ciao serve so sapere
        dire ancora più
        molto bene qui oggi domani niente qualcosa domanda aspetti ripeta aperto aperti appuntamento avete"""
    ),
    streets=("via", "viale", "piazza", "corso", "vicolo", "largo", "strada", "piazzale"),
    agree=phrases("esatto|è giusto|giusto|va bene|è corretto|corretto|proprio così|certo|perfetto|esattamente"),
    refuse=phrases("non è giusto|è sbagliato|sbagliato|non è così|per niente|non proprio|no grazie"),
    choose=words("opzione numero scelta"),
    dates="{weekday} {day} {month}",
    spoken={
        "yes": "sì",
        "no": "no",
        "@": "chiocciola",
        ".": "punto",
        "_": "trattino basso",
        "-": "trattino",
        "+": "più",
        "/": "barra",
    },
    hints={
        "phone": "È il 347 123 4567. Tre quattro sette, uno due tre.",
        "email": "mario.rossi@libero.it. Mario punto Rossi chiocciola gmail punto com.",
        "name": "Mi chiamo Anna Szymanski. S-Z-Y.",
        "address": "Via Roma 12, 20121 Milano.",
        "date": "Martedì prossimo. Il tre maggio. Dopodomani.",
        "time": "Alle tre e mezza. Alle 15:30. Le cinque meno un quarto.",
        "date_of_birth": "Il quattro luglio 1985. 3/12/1990.",
        "digits": "4 8 1 5 1 6. Doppio cinque, zero, sette.",
        "money": "12,50 euro. Venti euro.",
        "yes_no": "Sì. No.",
        "card": "4111 1111 1111 1111.",
    },
)
