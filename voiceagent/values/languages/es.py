"""Spanish."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

SPANISH = Dictation(
    code="es",
    region="ES",
    numbers=counts("1: un, una, uno|21: veintiún, veintiuna|100: cien, ciento"),
    joiner="y",
    at_end=phrases("al final|por último"),
    scales=counts("1000: mil|1000000: millón, millones"),
    like_digits=texts("1: uno|6: seis, séis|2: dos|7: siete|8: hocho"),
    like_letters=texts(
        """b: be, be larga, be alta|c: ce|d: de|e: e|f: efe|g: ge|h: hache|j: jota|k: ka|l: ele|m: eme|n: ene|ñ:
        eñe|p: pe|q: cu|r: erre, ere
        |s: ese|t: te|v: uve, ve, ve corta, ve baja|w: uve doble, doble ve, doble uve, doble u|x: equis|y: i griega,
        ye|z: zeta|i: i latina"""
    ),
    alphabet=words(
        """antonio barcelona burgos carmen dolores enrique francia gerona granada historia inés italia josé jaén kilo
        lorenzo lérida madrid navarra
        oviedo parís querido ramón roma sábado sevilla tarragona toledo ulises valencia washington xiquena yegua zaragoza alfa
        bravo charlie delta eco foxtrot golf hotel india julieta lima mike noviembre óscar papá quebec romeo sierra tango
        uniforme víctor whisky yanqui zulú"""
    ),
    as_in=phrases("de|como|como en|como de"),
    ends=phrases("acaba en|termina en|que acaba en|que termina en|al final|la terminación es"),
    like_at=words("a"),
    with_letter=words("con"),
    without_letter=words("sin"),
    single_letter=words("sola solo"),
    at_domain=words("en"),
    number_words=words("número num"),
    proposals=phrases("qué tal|qué le parece|puede ser|podría ser|le va bien|le viene bien|y si"),
    signs=texts(
        """@: arroba|.: punto|_: guión bajo, guion bajo, subrayado, barra baja|-: guión, guion, menos, guión medio|+: más
        |/: barra"""
    ),
    repeats=counts("2: doble, dos veces, dos veces el, dos|3: triple, tres veces, tres veces el"),
    restart=phrases(
        """empiezo de nuevo|empezamos de nuevo|desde el principio|de nuevo desde el principio|borre eso|borra eso|olvide
        eso|olvídelo|vuelvo a empezar|empiezo otra vez"""
    ),
    repair=phrases(
        """no|no perdón|perdón|no perdone|perdone|quiero decir|quería decir|digo|mejor dicho|o mejor|no espere|espere|me
        equivoqué|disculpe|corrijo|perdona"""
    ),
    no=words("no nop falso mal"),
    not_=phrases("no|y no|en vez de|en lugar de"),
    but=words("sino pero"),
    first=words("primer primero primera primeros primeras"),
    last=words("último última últimos últimas"),
    both=words("dos ambos"),
    ordinals=counts(
        """1: primera, primer|2: segunda|3: tercera, tercer|4: cuarta|5: quinta|6: sexta|7: séptima|8: octava|9: novena
        |10: décima"""
    ),
    ordinal_endings=("", "s"),
    fillers=words("eh em este mm hm pues ah"),
    polite=words("por favor gracias"),
    yes=words("sí si vale ok okay bueno hola pues claro"),
    doubled=words("doble dos"),
    with_=words("con una un la el es se escribe lleva y letras"),
    beside=words(
        """mi el la los las es son número teléfono móvil celular fijo de del sí si vale ok bueno pues eh por favor gracias y no
        dirección correo electrónico email mail nombre me llamo soy cifra cifras dígito dígitos código tarjeta cliente pedido
        postal reserva para a al a las en sobre hacia nacido nací nacimiento fecha hora día quiero quisiera querría pagar
        importe unos total sería un una uno puede llamarme dije he dicho con todo minúsculas mayúscula junto perdón
        último últimos última últimas primero primeros primera está bien mejor vengo podría ser el a eso es aquí anote apunte
        tomo prefiero"""
    ),
    months=(
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre/setiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ),
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    of=words("de del"),
    articles=words("el la los las"),
    ordinal_suffixes=words("º ª"),
    days=counts("0: hoy, esta tarde, esta noche|1: mañana|2: pasado mañana|-1: ayer"),
    next=phrases("este|próximo|el próximo|próxima"),
    next_behind=phrases("que viene|próximo"),
    next_week=phrases("próxima semana|la semana que viene|semana que viene"),
    after_next=phrases("en ocho días"),
    units=counts("1: día, días|7: semana, semanas"),
    months_unit=words("mes meses"),
    within=phrases("en|dentro de|de aquí a"),
    clock=texts("12:00: mediodía, al mediodía|00:00: medianoche"),
    halves=texts("am: de la mañana, por la mañana, de la madrugada|pm: de la tarde, por la tarde, de la noche, por la noche"),
    after_hour=counts("15: y cuarto|30: y media|-15: menos cuarto"),
    minutes_after=counts("-1: menos|1: y, con"),
    before_hour=counts("-15: cuarto para las, un cuarto para las"),
    minutes_from=counts("-1: para las"),
    hour=words("horas hora h"),
    at_time=words("las la"),
    currencies=texts(
        """EUR: euro, euros, eur|USD: dólar, dólares|MXN: peso, pesos|GBP: libra, libras|CHF: franco, francos|cent:
        céntimo, céntimos, centavo, centavos"""
    ),
    half=phrases("y medio|y media"),
    decimal=words("coma con"),
    introductions=phrases(
        """está a nombre de|bajo el nombre de|a nombre de|mi nombre es|me llamo|soy|habla|le habla|señor|señora|don
        |doña|doctor|doctora|a nombre de|es|mi apellido es|apellido
        |vivo en|vivo en la|mi dirección es|la dirección es|estamos en"""
    ),
    names=words(
        """antonio josé manuel francisco juan david javier daniel carlos jesús alejandro miguel rafael pedro pablo ángel sergio
        fernando jorge luis alberto álvaro adrián diego raúl iván rubén enrique óscar ramón andrés vicente joaquín
        santiago eduardo
        víctor mario roberto jaime marcos hugo maría carmen ana isabel laura cristina marta dolores lucía pilar elena
        sara raquel
        paula mercedes rosa julia beatriz silvia irene teresa patricia andrea rocío mónica alba inés sofía claudia eva
        garcía rodríguez gonzález fernández lópez martínez sánchez pérez gómez martín jiménez ruiz hernández díaz moreno muñoz
        álvarez romero alonso gutiérrez navarro torres domínguez vázquez ramos gil ramírez serrano blanco molina morales suárez
        ortega delgado castro ortiz rubio marín sanz núñez iglesias medina garrido cortés castillo santos lozano guerrero cano
        prieto méndez cruz flores herrera peña león márquez cabrera gallego calvo vidal campos vega reyes"""
    ),
    particles=words("de del la las los y"),
    small=words(
        """el la los las un una y o pero si es son está están soy he ha hay tengo tiene quiero puedo puede yo tú él
        ella nosotros usted me
        mi que qué quién cuándo dónde cómo por para cuál cuánto a en de con no sí gracias hola buenos días necesito sé
        saber decir
        más muy bien aquí ahora hoy mañana nada algo pregunta espere repita abierto abren cita"""
    ),
    streets=("calle", "avenida", "plaza", "paseo", "camino", "carretera", "ronda", "travesía", "c", "avda"),
    agree=phrases("eso es|así es|es correcto|correcto|exacto|está bien|exactamente|por supuesto|ya está"),
    refuse=phrases("no es correcto|eso no es|está mal|para nada|no exactamente|qué va|no gracias"),
    choose=words("opción número"),
    dates="{weekday} {day} de {month}",
    with_year="{date} de {year}",
    births="{day} de {month} de {year}",
    spoken={
        "yes": "sí",
        "no": "no",
        "@": "arroba",
        ".": "punto",
        "_": "guion bajo",
        "-": "guion",
        "+": "más",
        "/": "barra",
    },
    hints={
        "phone": "Es el 612 34 56 78. Seiscientos doce, treinta y cuatro.",
        "email": "maria.garcia@gmail.com. María punto García arroba gmail punto com.",
        "name": "Me llamo Ana Etxebarria. E-T-X-E.",
        "address": "Calle Mayor 12, 28013 Madrid.",
        "date": "El martes que viene. El tres de mayo. Pasado mañana.",
        "time": "A las tres y media. A las 15:30. Las cinco menos cuarto.",
        "date_of_birth": "El cuatro de julio de 1985. 3/12/1990.",
        "digits": "4 8 1 5 1 6. Doble cinco, cero, siete.",
        "money": "12,50 euros. Veinte euros.",
        "yes_no": "Sí. No.",
        "card": "4111 1111 1111 1111.",
    },
)
