"""English outside the assistant's domain: plain sentences, small talk and word salad from a few hundred common words.
The voice trains on it so that any reply is intelligible, not only the domain's; Whisper trains on it so
that it hears what was said and does not turn every sound into the nearest command.

A `random.Random` comes in, a text comes out; nothing else is read.
"""

from __future__ import annotations

import random


def _listed(text: str, separator: str | None = None) -> list[str]:
    return text.split(separator)


NOUNS = _listed(
    "answer apple apartment arm artist aunt baby bag ball bank basket bath beach bear bed bell bench bird birthday "
    "blanket boat body bone book border box boy branch bread breath bridge brother brush building bus bush butter "
    "cabin cake candle car card castle cat cellar chair chance cheese cherry child choice church circle citizen "
    "cloth cloud coat coin colour corner cotton country cousin cow crowd cup curtain dance daughter desert dinner "
    "dish doctor dog door dream dress driver drum ear earth edge egg engine evening example eye face factory farm "
    "father feather field finger fire fish flag floor flower fly food foot forest fork friend fruit future game "
    "garage garden gate gift girl glass glove goat gold grass ground guest guitar hair hall hammer hand harbour hat "
    "heart hill history holiday home honey horse hospital hotel hour house ice idea island jar jewel job joke "
    "journey judge juice juke jungle key king kitchen knee knife lake language law leaf leather lesson letter "
    "library light lion list lunch machine market match meal measure meat message metal middle milk mind minute "
    "mirror money month moon morning mother mountain mouth museum music nail name neck needle nephew nest news "
    "night noise nose number nurse ocean office oil onion orange oven owner page paint pair paper parent park party "
    "path peace pencil people person picture pie pig pillow plane plant plate play pleasure pocket poem point "
    "police pond potato price prize problem queen question rabbit radio rain reason record rice ring river road "
    "rock roof room root rope rose rule salt sand school science sea season seat secret shadow shape sheep ship "
    "shirt shoe shop shoulder side silver sister skin sky smile smoke snow soap son song soul sound spoon sport "
    "spring square stage star station stone storm story street sugar suit summer sun surprise table tail teacher "
    "team thing thought thumb tiger tooth tour towel tower town toy train treasure tree trip truth uncle valley "
    "village vision visitor voice wall watch water wave weather wheel wife wind window wine wing winter wire "
    "woman wood word work world yard year youth zoo"
)
ADJECTIVES = _listed(
    "able afraid ancient angry bad beautiful big bitter black blue brave bright brown busy calm careful cheap clean "
    "clear clever close cold cool curious dangerous dark dear deep different difficult dry early easy empty every "
    "fair familiar famous fast fine first foreign free fresh full funny gentle good great green happy hard heavy "
    "high hot huge hungry idle important kind large last lazy light little long loud low lucky narrow new nice "
    "noisy old open perfect plain poor pretty proud pure purple quick quiet ready real red rich right rough round "
    "sad safe second serious sharp short shy silent simple slow small smooth soft sour special strange strong sure "
    "sweet tall thick thin third tiny tired true ugly useful usual warm weak wet white whole wide wild wise wrong "
    "yellow young"
)
VERBS = _listed(
    "ask answer bake bring build buy carry catch change choose clean close cook count cover cross cut draw drink "
    "drive eat enjoy fill find finish fix follow forget get give hear help hide hold join judge keep know learn "
    "leave like love make measure meet miss move need open paint pass pay pick play pull push put reach read "
    "remember rub see sell send share show sing start study take teach throw touch try turn use visit want wash "
    "watch wear write"
)
PLACES = _listed(
    "in the garden, near the river, at home, over there, behind the house, under the bridge, across the street, in the "
    "kitchen, by the sea, on the roof, at school, outside, inside, upstairs, next to the station, between the trees, "
    "through the forest, around the corner, above the clouds, against the wall",
    ", ",
)
TIMES = _listed(
    "today, tomorrow, yesterday, every day, last night, this year, next month, after lunch, before dinner, "
    "all morning, again, at once, sometimes, usually, in the beginning, at midnight, twice a week, once more",
    ", ",
)
SUBJECTS = _listed("I, you, we, they, my brother, your teacher, the old man, both of them, most people, the children", ", ")
LITTLE_WORDS = _listed(
    "the of and to in is you that it he was for on are as with his they at be this have from or had by but what some "
    "we can out other were all there when up use how said an each she which do their if will way about many then them "
    "would so these her him two has look more could go come did than who may down been now any part over where just "
    "through form much before too same tell does three also well even here must such why went off again still "
    "should between never let while along might seem together next both those often until enough almost above "
    "without during whether either neither because though perhaps rather very only once thank please sorry yes no "
    "okay hello goodbye maybe exactly absolutely certainly unfortunately anything everything somebody nobody"
)
SMALL_TALK = _listed(
    "Hello, this is your assistant.|Hello! How can I help you today?|Good morning, what can I do for you?"
    "|I'm sorry, I did not understand that.|Could you say that again, please?|Sure, one moment.|Of course.|You're welcome."
    "|Have a nice day!|Goodbye, and thank you for calling.|I'm just a small program, but I'm doing fine."
    "|That's a good question.|I can't help with that, but I can tell you the time or the weather."
    "|Is there anything else I can do for you?|Would you like me to repeat that?|Okay, never mind.|All right, I'll wait."
    "|Why did the computer go to the doctor? Because it had a virus!|Let me check that for you.|Just a second, please."
    "|Great, that is all set.|No problem at all.|Yes, that's right.|No, I'm afraid not.|Which day would you like?"
    "|For how many people?|What name should I use?|At what time?|What is your order number?|Thanks for waiting."
    "|I found it.|It's already on its way.|It was delivered yesterday.|It will arrive the day after tomorrow."
    "|Sorry, that table is taken.|We are open from nine to five, Monday to Friday.|Your appointment is confirmed."
    "|The sum is two hundred and fifty six.|It's sunny, with a light wind.|Expect heavy rain and thunder this evening."
    "|It's ten degrees below zero.|The timer is set for a quarter of an hour.|Your timer has finished."
    "|I have cancelled your booking.|I moved your reservation to eight o'clock.|Can you hear me?|Are you still there?",
    "|",
)


def _noun_phrase(rng: random.Random) -> str:
    noun = rng.choice(NOUNS)
    adjective = rng.choice(ADJECTIVES) if rng.random() < 0.5 else ""
    first = adjective or noun
    determiner = rng.choice(("the", "the", "a", "my", "your", "this", "that", "his", "her", "our", "their", "no"))
    if determiner == "a" and first[0] in "aeiou":
        determiner = "an"
    return " ".join(part for part in (determiner, adjective, noun) if part)


def plain_sentence(rng: random.Random) -> str:
    """One capitalised English sentence of 3–14 words with its final mark, such as `Can you see the blue boat today?`."""
    subject, verb, thing = rng.choice(SUBJECTS), rng.choice(VERBS), _noun_phrase(rng)
    place = " " + rng.choice(PLACES) if rng.random() < 0.4 else ""
    time = " " + rng.choice(TIMES) if rng.random() < 0.3 else ""
    forms = (
        f"{subject} {rng.choice(('will', 'can', 'must', 'should', 'could', 'did not', 'would'))} {verb} {thing}{place}{time}.",
        f"can {subject} {verb} {thing}{place}{time}?",
        f"did {subject} {verb} {thing}{time}?",
        f"{_noun_phrase(rng)} is {rng.choice(('not ', 'very ', 'too ', ''))}{rng.choice(ADJECTIVES)}{time}.",
        f"{_noun_phrase(rng)} and {_noun_phrase(rng)} are {rng.choice(ADJECTIVES)}.",
        f"where is {_noun_phrase(rng)}{time}?",
        f"please {verb} {thing}{place}.",
        f"{rng.choice(('well', 'yes', 'no', 'sorry', 'okay', 'oh', 'then'))}, {subject} {verb} {thing}{place}.",
        f"if {subject} {verb} {thing}, {subject} can {rng.choice(VERBS)} {_noun_phrase(rng)}{time}.",
        f"what {rng.choice(('a', 'a very'))} {rng.choice(('nice', 'strange', 'big', 'happy'))} {rng.choice(NOUNS)}!",
        f"there are {rng.randint(2, 99)} {rng.choice(NOUNS)}s{place}.",
    )
    text = rng.choice(forms)
    return text[0].upper() + text[1:]


def word_salad(rng: random.Random, *, fewest: int = 1, most: int = 7) -> str:
    """Unrelated lower-case words without marks: nothing but the sound tells which word comes next."""
    pools = (NOUNS, ADJECTIVES, VERBS, LITTLE_WORDS)
    return " ".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(fewest, most)))


def general_text(rng: random.Random) -> str:
    """A text for the voice to learn from: small talk, a plain sentence, or word salad with marks and comma pauses."""
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(SMALL_TALK)
    if kind < 0.65:
        return plain_sentence(rng)
    words = word_salad(rng, fewest=2, most=9).split()
    if len(words) > 4 and rng.random() < 0.4:
        words[len(words) // 2] += ","
    return " ".join(words) + rng.choice(".....??!")
