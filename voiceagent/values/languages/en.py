"""English."""

from __future__ import annotations

from voiceagent.values.dictation import Dictation, counts, phrases, texts, words

ENGLISH = Dictation(
    code="en",
    region="US",
    numbers=counts("0: oh, o, nought, nil"),
    variants=((r"^one hundred", "a hundred"), (r"^one hundred", "hundred")),
    joiner="and",
    hundreds=counts("100: hundred"),
    at_end=phrases("at the end|in the end|last"),
    scales=counts("1000: thousand, grand|1000000: million"),
    like_digits=texts("2: to, too, tu|4: for, fore|8: ate|1: won|0: owe, o|6: sex|3: tree"),
    like_letters=texts(
        """a: ay|b: be, bee|c: see, sea|d: dee|e: ee|f: eff|g: gee|h: aitch, haitch|j: jay|k: kay, okay|l: el, ell|m: em
        |n: en|o: oh|p: pea, pee|q: queue, cue|r: are|s: ess|t: tea, tee|u: you|v: vee|w: double you, double u|x: ex
        |y: why|z: zed, zee"""
    ),
    alphabet=words(
        """alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa
        quebec romeo sierra tango uniform victor whiskey whisky xray yankee zulu apple boy cat david dog edward frank
        george henry ida john king lincoln mary nancy ocean peter queen robert sam sugar thomas tom union william young
        zebra nora adam baker easy fox roger able"""
    ),
    as_in=phrases("as in|is in|like|for|as|is for|like in"),
    ends=phrases("it ends in|it ends with|ends in|ends with|ending in|ending with|ending|the end is|it ends on"),
    like_at=words("it that had add ad and an et"),
    with_letter=words("with"),
    without_letter=words("without no"),
    single_letter=words("one single"),
    number_words=words("number no"),
    proposals=phrases(
        "how about|what about|could we do|could we say|can we do|can we say|shall we say|can i come|could i come|may i come"
    ),
    week_from=words("from on"),
    signs=texts("@: at, at sign|.: dot, point, period, full stop|_: underscore|-: dash, hyphen, minus|+: plus|/: slash"),
    repeats=counts("2: double, two times, twice, two|3: triple, three times, treble, three|4: quadruple"),
    restart=phrases(
        "scratch that|start over|start again|from the beginning|from the start|forget that|strike that|all over again"
        "|let me start again|begin again|delete that"
    ),
    repair=phrases(
        "no sorry|sorry no|no wait|i mean|i meant|correction|sorry|no|or rather|rather|make that|wait|actually|excuse me|oops"
    ),
    no=words("no nope nah not wrong incorrect"),
    not_=phrases("not|instead of|rather than|and not|isn't"),
    but=words("but"),
    fillers=words("uh um er erm hm hmm uhm mm"),
    polite=words("please thanks thank you ok okay"),
    yes=words("yes yeah yep sure ok okay well so hi hello"),
    doubled=words("double two"),
    with_=words("with a an its it's it is letters and spelled"),
    first=words("first"),
    last=words("last"),
    both=words("both"),
    beside=words(
        """my the number is it's its it that's that thats this phone telephone mobile cell home digit digits email e-mail
        mail address name code yes yeah yep ok okay sure please and so um uh er erm hm hmm well then the a i'm im i'd id
        i like would want on of said say should be actually no nope sorry not but was wrong right card account order
        reference booking zip pin you can reach me under try for at in to time date day born was birth birthday around
        about by let's lets make we could do take how think maybe perhaps i'll ill pay amount budget total up only just
        have got here goes area country here with one got spelled spelt letter letters all lower case lowercase capital
        followed thanks thank extension uh-huh last first ends ending starts begins are i've ive need prefer go going
        works work fine good there here's heres"""
    ),
    months=(
        "January/Jan",
        "February/Feb",
        "March/Mar",
        "April/Apr",
        "May",
        "June/Jun",
        "July/Jul",
        "August/Aug",
        "September/Sep/Sept",
        "October/Oct",
        "November/Nov",
        "December/Dec",
    ),
    weekdays=(
        "Monday/Mon",
        "Tuesday/Tue/Tues",
        "Wednesday/Wed",
        "Thursday/Thu/Thurs",
        "Friday/Fri",
        "Saturday/Sat",
        "Sunday/Sun",
    ),
    of=words("of in"),
    articles=words("the"),
    ordinal_suffixes=words("st nd rd th"),
    days=counts("0: today, tonight|1: tomorrow|2: the day after tomorrow, day after tomorrow|-1: yesterday"),
    next=phrases("next|coming|this coming|this"),
    after_next=phrases("after next"),
    next_week=phrases("next week|week after"),
    units=counts("1: day, days|7: week, weeks|14: fortnight"),
    months_unit=words("month months"),
    within=phrases("in|from now|from today|within"),
    clock=texts("12:00: noon, midday|00:00: midnight"),
    halves=texts(
        """am: am, a m, in the morning, morning, this morning|pm: pm, p m, in the afternoon, afternoon, in the evening,
        evening, this evening|night: at night, tonight"""
    ),
    before_hour=counts(
        """30: half past, half pass, half|15: quarter past, quarter pass, a quarter past, quarter after
        |-15: quarter to, a quarter to
        , quarter of"""
    ),
    minutes_from=counts("1: past, after, minutes past, minutes after|-1: to, before, till, minutes to, minutes before"),
    hour=words("o'clock oclock hours"),
    at_time=words("at by around about for"),
    currencies=texts(
        """USD: dollar, dollars, bucks, buck, usd|EUR: euro, euros, eur|GBP: pound, pounds, quid, gbp|CHF: franc, francs, chf
        |cent: cent, cents, penny, pence"""
    ),
    half=phrases("and a half"),
    decimal=words("point"),
    introductions=phrases(
        """under|under the name|under the name of|in the name of|is under|it's under|my name is|my name's|the name is
        |the name's|name is|this is|i am|i'm|it's|it is|that's|that is|call me|you
        can call me
        |i live at|i live in|we live at|my address is|the address is|i'm at|we're at|it's at|my surname is|my last name is
        |my first name is|surname|last name|first name|mister|mr|mrs|miss|ms|doctor|dr|deliver to|send it to|deliver it to"""
    ),
    names=words(
        """james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark
        donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary
        nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander patrick raymond
        jack dennis jerry tyler aaron jose henry adam peter mary patricia jennifer linda elizabeth barbara susan jessica
        sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda melissa deborah
        stephanie rebecca laura helen sharon cynthia amy anna angela ruth brenda pamela nicole katherine emma christine
        jane grace rachel maria heather diane julie joyce victoria kelly lauren joan olivia alice julia jo sam tom ben
        smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson anderson
        taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis robinson walker young allen
        king wright hill flores green adams nelson baker hall rivera campbell mitchell carter roberts turner phillips evans
        parker edwards collins stewart morris murphy cook rogers cooper peterson reed bailey bell kelly howard ward cox
        richardson wood watson brooks bennett gray hughes price myers long foster sanders ross morgan powell jenkins perry
        russell sullivan bell coleman butler henderson barnes fisher simpson jordan reynolds hamilton graham wallace west
        cole hayes bryant gibson ellis stevens marshall owens mcdonald kennedy wells webb hunter shaw mason"""
    ),
    particles=words("van von de der la le del da di dos st"),
    small=words(
        """the a an and or but if is are was were be do does did have has had will would can could should may might i you he
        she we they me him her us them my your his our their what when where who why how which there here to of in on at by
        for with from about it its this that these those not no yes okay please thanks thank hello hi hey good morning want
        need like know think tell ask much many more some any open closed today tomorrow now then so just very really
        something nothing idea sure maybe wait repeat again question don't dont"""
    ),
    streets=(
        "street",
        "road",
        "avenue",
        "lane",
        "drive",
        "boulevard",
        "court",
        "place",
        "square",
        "way",
        "close",
        "st",
        "rd",
        "ave",
    ),
    agree=phrases(
        "thats right|that is right|thats correct|that is correct|you got it|spot on|youve got it|mm hmm|mmhmm|uh huh|yup"
    ),
    refuse=phrases("thats wrong|that is wrong|thats not right|thats not it|not really|not quite|no way|i dont think so|i dont"),
    choose=words("one option choice number"),
    dates="{weekday}, {month} {day}",
    with_year="{date}, {year}",
    births="{month} {day}, {year}",
    clocks="{hour12}:{minute} {half}",
    full_clocks="{hour12} {half}",
    spoken={
        "yes": "yes",
        "no": "no",
        "@": "at",
        ".": "dot",
        "_": "underscore",
        "-": "dash",
        "+": "plus",
        "/": "slash",
    },
    money="{sign}{amount}",
    hints={
        "phone": "My number is 212 555 0147. 0 7 7 0 0, 9 0 0 1 2 3.",
        "email": "jo.smith@gmail.com. J-O dot smith at outlook dot com.",
        "name": "My name is Jane Nguyen. N-G-U-Y-E-N.",
        "address": "12 Main Street, Springfield, 62704.",
        "date": "On Tuesday, the third of May. Next Friday. December 5th.",
        "time": "At half past three. 10:15 AM. Quarter to five.",
        "date_of_birth": "The fourth of July, 1985. 3/12/1990.",
        "digits": "4 8 1 5 1 6. Double 5, 0, 7.",
        "money": "$12.50. Twenty euros.",
        "yes_no": "Yes. No.",
        "card": "4 1 1 1, 1 1 1 1, 1 1 1 1, 1 1 1 1.",
    },
)
