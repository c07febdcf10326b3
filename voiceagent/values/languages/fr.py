"""French."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

FRENCH = Dictation(
    code="fr",
    region="FR",
    numbers=counts("1: une|70: septante|80: huitante, octante|90: nonante|81: quatre vingt et un"),
    joiner="et",
    at_end=phrases("à la fin|en dernier|pour finir"),
    scales=counts("1000: mille|1000000: million, millions"),
    like_digits=texts("0: zero|1: hein|2: de, deux|6: si, six|7: cette, sept|8: huître|5: saint|100: sans"),
    like_letters=texts(
        """a: ah|b: bé|c: cé, ces|d: dé|e: eux|f: effe|g: gé, j'ai|h: hache|i: y|j: ji|k: ka, cas|l: elle, aile|m:
        aime|n: haine, enne
        |o: eau, au|p: pé|q: ku|r: erre, air|s: esse, est ce|t: té, thé|v: vé|w: double vé, double v|x: ixe|y: i grec,
        igrec|z: zède, zed"""
    ),
    alphabet=words(
        """anatole berthe célestin désiré eugène françois gaston henri irma joseph kléber louis marcel nicolas oscar
        pierre quintal
        raoul suzanne thérèse ursule victor william xavier yvonne zoé alpha bravo charlie delta echo foxtrot golf hotel india
        juliette kilo lima mike novembre papa québec roméo sierra tango uniforme whisky yankee zoulou bernard daniel émile
        michel noémie paul robert simon thomas"""
    ),
    as_in=phrases("comme|comme dans|de"),
    ends=phrases("ça finit par|ça se termine par|se termine par|finit par|termine par|à la fin"),
    like_at=words("à et"),
    with_letter=words("avec"),
    without_letter=words("sans"),
    single_letter=words("seul seule"),
    at_domain=words("chez"),
    number_words=words("numéro"),
    proposals=phrases("et si|pourquoi pas|que diriez vous de|ça irait|est ce que le|est ce possible"),
    signs=texts(
        """@: arobase, at, arrobase, arobas, a commercial|.: point|_: tiret bas, underscore, souligné, tiret du bas|-:
        tiret, trait d'union, moins, tiret du six
        |+: plus|/: slash, barre oblique"""
    ),
    repeats=counts("2: double, deux fois, deux fois le, deux|3: triple, trois fois, trois fois le"),
    restart=phrases(
        """je recommence|on recommence|recommençons|depuis le début|on efface|effacez|annulez ça|oubliez ça|je reprends
        |on reprend depuis le début"""
    ),
    repair=phrases(
        """non|non pardon|pardon|non désolé|désolé|désolée|je veux dire|je voulais dire|enfin|ou plutôt|plutôt|euh non
        |non attendez|attendez|excusez moi|erreur|je me trompe|correction"""
    ),
    no=words("non nan faux pas"),
    not_=phrases("pas|et pas|et non|et non pas|non pas|au lieu de|au lieu du|plutôt que|à la place de"),
    but=words("mais"),
    first=words("premier première premiers premières"),
    last=words("dernier dernière derniers dernières"),
    both=words("deux"),
    ordinals=counts("1: première, premiers|2: second, seconde, deuxième"),
    ordinal_endings=("", "s"),
    fillers=words("euh heu hum hm ben bah alors donc"),
    polite=words("merci beaucoup s'il vous plaît voilà svp"),
    yes=words("oui ouais ok okay alors voilà bonjour d'accord"),
    doubled=words("double deux"),
    with_=words("avec un une le ça s'écrit il y a c'est prend et lettres"),
    beside=words(
        """mon ma le la les l c'est numéro téléphone portable mobile fixe de du est sont oui ok okay alors donc euh
        heu voilà s'il vous
        plaît merci et non pas c'est ce serait serait adresse mail e-mail email courriel nom prénom je suis m'appelle chiffre
        chiffres code carte client commande postal réservation pour à au aux vers en dans sur ans né née naissance date heure
        jour voudrais aimerais souhaite veux peux payer verser montant environ plutôt un une on peut dire prends prendre va
        être dit j'ai mes y avec tout minuscules majuscule attaché vous pouvez me joindre rendez-vous bien bon ça fait marche
        irait alors moi dernier derniers premier premiers deux voici il"""
    ),
    months=(
        "janvier/janv",
        "février/févr",
        "mars",
        "avril/avr",
        "mai",
        "juin",
        "juillet/juil",
        "août/aout",
        "septembre",
        "octobre/oct",
        "novembre/nov",
        "décembre/déc",
    ),
    weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    of=words("de du en d"),
    articles=words("le la l"),
    ordinal_suffixes=words("er e ème eme ère"),
    days=counts("0: aujourd'hui, ce soir, cet après midi|1: demain|2: après demain|-1: hier"),
    next=phrases("ce|prochain"),
    next_behind=phrases("prochain|prochaine|qui vient"),
    after_next=phrases("d'après|suivant"),
    next_week=phrases("semaine prochaine|la semaine prochaine"),
    units=counts("1: jour, jours|7: semaine, semaines"),
    months_unit=words("mois"),
    within=phrases("dans|d'ici"),
    clock=texts("12:00: midi|00:00: minuit"),
    halves=texts(
        """am: du matin, le matin, matin|pm: de l'après midi, l'après midi, après midi, du soir, le soir, soir|night: de
        la nuit, la nuit"""
    ),
    after_hour=counts("15: et quart, un quart|30: et demie, et demi|-15: moins le quart, moins quart, moins un quart"),
    minutes_after=counts("-1: moins|1: et"),
    hour=words("heure heures h"),
    at_time=words("à vers"),
    currencies=texts(
        """EUR: euro, euros, eur|USD: dollar, dollars|GBP: livre, livres, livres sterling|CHF: franc, francs, francs
        suisses|cent: centime, centimes, cent, cents"""
    ),
    half=phrases("et demi|et demie"),
    decimal=words("virgule"),
    introductions=phrases(
        """sous le nom de|sous le nom|c'est au nom de|au nom de|mon nom est|mon nom c'est|je m'appelle|je suis|c'est
        |ici|moi c'est|monsieur|madame|mademoiselle|docteur|au
        nom de|nom de famille
        |prénom|mon prénom est|mon nom de famille est|j'habite au|j'habite|j'habite à|mon adresse est|mon adresse
        c'est|l'adresse est|l'adresse c'est|au"""
    ),
    names=words(
        """marie jean pierre michel andré philippe rené louis alain jacques bernard marcel daniel roger robert paul
        claude christian
        henri georges nicolas françois patrick gérard christophe joseph julien maurice laurent frédéric éric david
        stéphane pascal
        sébastien alexandre thierry olivier antoine raymond guy dominique thomas vincent lucas hugo nathalie isabelle jeanne
        monique catherine sylvie françoise jacqueline anne nicole sophie martine valérie christine madeleine hélène marguerite
        suzanne sandrine céline julie camille claire émilie laura léa chloé emma manon alice louise
        martin bernard thomas petit robert richard durand dubois moreau laurent simon michel lefebvre leroy roux david bertrand
        morel fournier girard bonnet dupont lambert fontaine rousseau vincent muller lefèvre faure andré mercier blanc guérin
        boyer garnier chevalier françois legrand gauthier garcia perrin robin clément morin nicolas henry roussel
        mathieu gautier
        masson marchand duval denis dumont marie lemaire noël meyer dufour meunier brun blanchard giraud joly rivière lucas"""
    ),
    particles=words("de du des la le d van von"),
    small=words(
        """le la les un une des et ou mais si est sont suis ai as avez avons ont je tu il elle on nous vous ils me moi
        mon ma que quoi qui
        quand où comment pourquoi quel quelle à au en de du sur pour avec dans pas ne non oui merci bonjour voudrais veux peux
        besoin sais savoir dire encore plus beaucoup aujourd'hui demain très bien ici là rien question attendez répéter ouvert
        c'est j'ai d'accord est-ce"""
    ),
    streets=("rue", "avenue", "boulevard", "place", "chemin", "impasse", "allée", "allee", "quai", "route", "cours", "square"),
    agree=phrases(
        "c'est ça|c'est bien ça|tout à fait|c'est exact|c'est correct|exactement|c'est juste|voilà|parfait|oui c'est ça"
    ),
    refuse=phrases(
        "c'est faux|ce n'est pas ça|c'est pas ça|pas du tout|pas exactement|pas vraiment|ce n'est pas exact|non merci"
    ),
    choose=words("option numéro choix"),
    dates="{weekday} {day} {month}",
    clocks="{hour} h {minute}",
    full_clocks="{hour} h",
    spoken={
        "yes": "oui",
        "no": "non",
        "@": "arobase",
        ".": "point",
        "_": "tiret bas",
        "-": "tiret",
        "+": "plus",
        "/": "slash",
    },
    hints={
        "phone": "C'est le 06 12 34 56 78. Zéro un, quarante-deux.",
        "email": "marie.dupont@orange.fr. Marie point Dupont arobase gmail point com.",
        "name": "Je m'appelle Jeanne Le Goff. L-E, G-O-F-F.",
        "address": "12 rue de la Paix, 75002 Paris.",
        "date": "Mardi prochain. Le trois mai. Après-demain. Le 5 décembre.",
        "time": "À trois heures et demie. 15 h 30. Cinq heures moins le quart.",
        "date_of_birth": "Le quatre juillet 1985. 3/12/1990.",
        "digits": "4 8 1 5 1 6. Quatre-vingt-dix, zéro, sept.",
        "money": "12,50 euros. Vingt euros.",
        "yes_no": "Oui. Non.",
        "card": "4111 1111 1111 1111.",
    },
)
