"""Written forms of French."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_set
from voiceagent.text_normalization.written_language import WrittenLanguage, listed, money, names, said_for

FRENCH = WrittenLanguage(
    code="fr",
    spelling="fr",
    comma="virgule",
    point="point",
    minus="moins",
    between="à",
    per="par",
    conjunction="et",
    signs=said_for(
        """&: et|+: plus|=: égale|× / *: fois|÷: divisé par|−: moins|<: inférieur à|>: supérieur à|≤: au plus|≥: au moins
        |≈: environ|~: environ|±: plus ou moins|§: paragraphe|#: numéro|@: arobase|%: pour cent|€: euros"""
    ),
    spelled_signs=said_for(
        """@: arobase|.: point|-: tiret|_: tiret bas|+: plus|/: barre oblique|#: dièse|&: et|=: égale|%: pour cent|:: deux-points
        |*: étoile"""
    ),
    months=listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    short_months=listed("janv/jan févr/fév/fevr - avr - - juil - sept oct nov déc/dec"),
    weekdays=listed("lundi mardi mercredi jeudi vendredi samedi dimanche"),
    short_weekdays=listed("lun mar mer jeu ven sam dim"),
    weekday_links={"-": "à", "à": "à", "au": "au", "/": "et", "&": "et", "et": "et"},
    hour=("heure", "heures"),
    minutes="heures",
    units=names(
        """²: au carré|³: au cube|%: pour cent|‰: pour mille|°C: degré Celsius, degrés Celsius
        |°F: degré Fahrenheit, degrés Fahrenheit|°: degré+s|km: kilomètre+s|m: mètre+s|cm: centimètre+s|mm: millimètre+s
        |µm: micromètre+s|mi: mile+s|m² / m2: mètre carré, mètres carrés|km²: kilomètre carré, kilomètres carrés
        |cm²: centimètre carré, centimètres carrés|ha: hectare+s|m³ / m3: mètre cube, mètres cubes
        |cm³: centimètre cube, centimètres cubes|kg: kilogramme+s|g: gramme+s|mg: milligramme+s|µg: microgramme+s|t: tonne+s
        |lb: livre+s|oz: once+s|l / L: litre+s|ml / mL: millilitre+s|cl / cL: centilitre+s|dl / dL: décilitre+s
        |kWh: kilowattheure+s|kW: kilowatt+s|MW: mégawatt+s|W: watt+s|V: volt+s|A: ampère+s
        |mAh: milliampère-heure, milliampères-heure|ch: cheval, chevaux|Hz: hertz|kHz: kilohertz|MHz: mégahertz|GHz: gigahertz
        |dB: décibel+s|hPa: hectopascal+s|bar: bar+s|kcal: kilocalorie+s|kJ: kilojoule+s|ko / Ko / kB: kilooctet+s
        |Mo: mégaoctet+s|Go: gigaoctet+s|To / TB: téraoctet+s|MB: mégaoctet+s|GB: gigaoctet+s|Mbit: mégabit+s|Gbit: gigabit+s
        |px: pixel+s|ms: milliseconde+s|s / sec / sec.: seconde+s|min / mn / min.: minute+s|h: heure+s|j: jour+s
        |pers.: personne+s|pce: pièce+s"""
    ),
    currencies=money(
        """€ EUR euro euros: euro+s; centime+s|$ US$ USD dollar dollars: dollar+s; cent+s|£ GBP: livre+s; penny, pence
        |CHF: franc suisse, francs suisses; centime+s|CAD $CA: dollar canadien, dollars canadiens; cent+s|¥ JPY: yen+s; sen
        |PLN zł: zloty+s; grosz|SEK NOK DKK: couronne+s; öre|CZK: couronne+s; heller+s
        |₺ TRY: livre turque, livres turques; kuruş|₹ INR: roupie+s; paisa+s|R$ BRL: réal, réaux; centavo+s
        |MAD: dirham+s; centime+s|XOF XAF FCFA: franc C F A, francs C F A; centime+s"""
    ),
    scales=names("""k: mille|M: million+s|Md / Mds: milliard+s|million / millions: million+s|milliard / milliards: milliard+s"""),
    fractions=(
        ("demi", "demis"),
        ("tiers", "tiers"),
        ("quart", "quarts"),
        *((part, f"{part}s") for part in listed("cinquième sixième septième huitième neuvième dixième")),
    ),
    mixed_half="{} et demi",
    times=("{} fois", "{} fois"),
    size="sur",
    out_of="sur",
    over="sur",
    short_words=said_for(
        """M.: Monsieur|MM.: Messieurs|Mme: Madame|Mmes: Mesdames|Mlle: Mademoiselle|Dr: Docteur|Dr.: Docteur|Pr: Professeur
        |Me: Maître|p. ex. / p.ex.: par exemple|c.-à-d. / c-à-d: c'est-à-dire|etc.: et cetera|arr.: arrondissement
        |appt. / apt.: appartement|ét.: étage|réf.: référence|env.: environ|av.: avenue|bd / bd. / boul.: boulevard
        |max.: maximum|min.: minimum|tél.: téléphone|St: Saint|Ste: Sainte|av. J.-C.: avant Jésus-Christ
        |apr. J.-C.: après Jésus-Christ|TTC: toutes taxes comprises|s.v.p. / SVP: s'il vous plaît|N.B.: nota bene
        |qqn: quelqu'un|km/h: kilomètres par heure"""
    ),
    short_before_number=said_for(
        """n° / nº / no / N° / n o: numéro|nos: numéros|p.: page|pp.: pages|chap.: chapitre|art.: article|fig.: figure
        |vol.: volume|ch.: chambre|éd.: édition|§: paragraphe"""
    ),
    labels=word_set(
        """code codes pin numéro n° no nº téléphone tél portable mobile fax poste dossier commande réservation client
        compte carte facture référence réf ticket billet suivi vol digicode mot iban bic siret siren matricule"""
    ),
    numbered=word_set(
        """option chambre table page voie étape place ligne porte étage groupe salle quai choix numéro point question
        chapitre tome partie acte scène livre volume article annexe phase titre section classe type niveau"""
    ),
    century=re.compile(r"siècles?|s\."),
    phones=r"0\d(?:[ .]?\d{2}){4}(?!\d)|(?:0 ?800|3\d{3})(?: \d{2,3}){2,3}(?!\d)",
    pairs=True,
    spelled_letters={"Y": "i grec"},
    respelled=((r"(vingt|cent)sième", r"\1ième"),),
    feminine=((r"\bun$", "une"),),
    feminine_words=word_set(
        """heure minute seconde milliseconde semaine journée nuit fois personne chambre table place page livre once calorie
        couronne roupie voiture femme fille porte rue ligne ville carte facture commande adresse bouteille tranche part
        note demande offre chose réponse lettre étoile salle pizza salade soupe clé clef main fin boîte banque langue
        terrasse vue quiche crêpe tarte robe chemise veste paire douzaine dose gélule pilule capsule ampoule recharge
        prise licence borne cabine suite piscine plage gare école église usine tomate orange pomme poire banane fraise
        frite cartouche étape équipe école pause gorgée brique feuille caisse bouche dent jambe marche mort mer tour
        visite course leçon façon maison saison raison boisson livraison"""
    ),
    feminine_endings=listed(
        """tion sion té ée ette ance ence ure esse ie elle ise ine ière èce asse onne onde uche oute aine ouche ouille
        aille eille tions sions tés ées ettes ances ences ures esses ies elles ises ines ières èces asses onnes aines"""
    ),
    masculine_words=word_set(
        """été côté comité traité musée lycée trophée silence magazine cimetière génie incendie mètre litre verre étés
        côtés comités musées lycées magazines domaine domaines capitaine pâté thé café tee murmure"""
    ),
    not_nouns=word_set("""et ou à de du des en le la les un une sur par pour est sont mais puis avec dans plus moins entre"""),
    of_many=("de", "d'"),
    first_day="premier",
    hour_feminine=True,
    before_clock=word_set("à vers dès jusqu'à"),
    before_date=word_set("le les du au lundi mardi mercredi jeudi vendredi samedi dimanche"),
    rank=r"(?P<short>(?=n?de?(?!\w)))?(?:(?P<f>re|ère|n?de)s?|er|ers|ème|ième|e|es|èmes|nd|d)",
    rank_short=((r"deuxième$", "second"),),
    rank_feminine=(("premier$", "première"), ("second$", "seconde")),
    last_ordinal_ruler=1,
    singular_below_two=True,
    score="à",
    feminine_before=word_set("la"),
    one_of=r"\s+(?:de|sur)\s+\d+\s+",
    copulas=word_set("est le la les de du votre mon ma c'est"),
    label_links=word_set("de du"),
    half_before=((r"heure|journée|douzaine|bouteille|portion|page|livre|tonne", "une demi"),),
)
