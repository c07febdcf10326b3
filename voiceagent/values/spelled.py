"""Values that are spelled: `email`, `name`, `address`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

from voiceagent.values.dictation import Dictation, folded, words
from voiceagent.values.explained import changed_by, explained
from voiceagent.values.kind import UNCLEAR, Frame, HeardValue
from voiceagent.values.languages import dictation
from voiceagent.values.repairs import alike, contrast, corrected, opened, put_in
from voiceagent.values.spoken import NEAR_SPELLED, Item, Token, items_of, questions, starts, tokens_of

_EMAIL = re.compile(r"[a-z0-9](?:[a-z0-9._+-]{0,62}[a-z0-9])?@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
_WRITTEN = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
DOMAINS = words(
    """gmail.com googlemail.com yahoo.com yahoo.co.uk yahoo.fr yahoo.es yahoo.it yahoo.com.br hotmail.com hotmail.co.uk
    hotmail.fr hotmail.es hotmail.it outlook.com outlook.de outlook.fr outlook.es outlook.it outlook.pt icloud.com
    me.com aol.com live.com live.nl msn.com proton.me protonmail.com gmx.de gmx.net gmx.at gmx.ch web.de t-online.de
    freenet.de posteo.de mailbox.org orange.fr wanadoo.fr free.fr laposte.net sfr.fr libero.it alice.it virgilio.it
    tiscali.it ziggo.nl kpnmail.nl planet.nl xs4all.nl telfort.nl sapo.pt uol.com.br bol.com.br terra.com.br
    example.com example.org btinternet.com comcast.net"""
)
_GLUED = re.compile(r"(.+)(?:at|it)(gmail|googlemail|yahoo|hotmail|outlook|icloud|gmx|web)")
TOP_LEVEL = words(
    """com org net de fr es it nl pt br uk eu co info io me ch at be edu gov us ca au dev app cloud online shop biz cat lu
    ie mx ar cl pl se dk no fi"""
)
NEAR_DOMAIN = 0.85
NEAR_WORD, NEAR_LOCAL = 0.5, 0.5
SPELLED = 3
"""Letters in a row, at least."""
MOST_NAME_WORDS = 5
SHORTEST_POSTCODE, LONGEST_NUMBER, MOST_POSTCODE = 4, 5, 8
LONGEST = 120
_HYPHENED = re.compile(r"(?<![\w-])[^\W\d_](?:-[^\W\d_]){2,}(?![\w-])")


@dataclass(frozen=True, slots=True)
class Email:
    """An e-mail address, in small letters."""

    name: str = "email"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The address that was said, or a part of it."""
        own = dictation(frame.language)
        if written := _WRITTEN.findall(said.casefold()):
            return _address(_plain(written[-1]), sure=True)
        speech = opened(tokens_of(said), own)
        before = "" if speech.restarts else so_far

        def read(tokens: Sequence[Token]) -> str:
            return _joined(_without_ends(items_of(tokens, frame.language, letters=True), tokens, own))

        whole = _EMAIL.fullmatch(before) is not None
        local, sign, domain = before.partition("@")
        if before and "@" not in said and (changed := changed_by(local, speech.tokens, own)):
            return _address(changed + sign + domain)
        if before and (changed := corrected(before, speech.tokens, own, read) or _doubled(before, speech.tokens, own)):
            return _address(changed) if whole else HeardValue(partial=changed, about_it=True)
        tokens = _with_sign(explained(_behind_repair(speech.tokens, own), own), own)
        items = _without_ends(items_of(tokens, frame.language, letters=True), tokens, own)
        if before and (changed := _named_part(local, items, tokens, own)):
            return _address(changed + sign + domain)
        text = _joined(items)
        if not text or not _is_address(items, tokens, said, frame, so_far=bool(before)):
            return HeardValue(about_it=speech.restarts)
        if before and "@" not in before and text in DOMAINS:
            return _address(f"{before}@{text}")
        if before and "@" in text and not text.startswith("@"):
            return _address(text)
        if whole:
            return _put_into(before, text)
        if before and speech.negated and "@" not in text:
            changed = put_in(before, text)
            return HeardValue(partial=changed or text, about_it=True)
        return _address(before + text)

    def confirm(self, value: str, frame: Frame) -> str:
        """Names as words, other parts letter by letter, well-known domains as words."""
        own = dictation(frame.language)
        local, _, domain = value.partition("@")
        said = [*_spelled_parts(local, own), own.spoken.get("@", "at")]
        said += _spelled_parts(domain, own, known=domain in DOMAINS)
        return ", ".join(said).replace(f", {own.spoken.get('.', 'dot')}, ", f" {own.spoken.get('.', 'dot')} ")

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """An e-mail address."""
        return {"type": "string", "format": "email", "maxLength": 254}


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9@._+/-]", "", folded(text))


def _respelled(items: Sequence[Item], tokens: Sequence[Token], own: Dictation) -> list[Item]:
    """The items without a word that is spelled behind it: "Schultz, that's S C H U L T Z"."""
    kept: list[Item] = []
    row = 0
    for one in items:
        row = row + 1 if one.kind == "letter" else 0
        kept.append(one)
        if row < SPELLED:
            continue
        at = len(kept) - row - 1
        while at > 0 and kept[at].kind == "word" and _beside(kept[at], tokens, own):
            at -= 1
        spelled = "".join(letter.text for letter in kept[-row:])
        if at >= 0 and kept[at].kind == "word" and _spells(_plain(kept[at].text), spelled):
            del kept[at:-row]
    return kept


def _spells(word: str, spelled: str) -> bool:
    """True if the letters spell the word, or nearly."""
    return SequenceMatcher(None, word, spelled).ratio() >= NEAR_SPELLED


def _joined(items: Sequence[Item]) -> str:
    return _plain("".join(one.text for one in items))


def _address(text: str, *, sure: bool = False) -> HeardValue:
    """The whole address, or a part of one."""
    local, sign, domain = text.strip(".-_").rpartition("@")
    if not sign:
        return HeardValue(partial=text[:LONGEST], about_it=True)
    near = _known_domain(domain)
    whole = f"{local.replace('@', '')}@{near}"
    if _EMAIL.fullmatch(whole):
        return HeardValue(whole, about_it=True, doubtful=not sure or near != domain)
    return HeardValue(partial=text[:LONGEST], about_it=True)


def _known_domain(domain: str) -> str:
    """A domain that is nearly a well-known one is that one: "gmale.com"."""
    if domain in DOMAINS or len(domain) < len("abcd.com"):
        return domain
    ends = domain[domain.find(".") :]
    same = [one for one in DOMAINS if one[one.find(".") :] == ends]
    best = max(same, key=lambda one: SequenceMatcher(None, one, domain).ratio(), default=domain)
    return best if SequenceMatcher(None, best, domain).ratio() >= NEAR_DOMAIN else domain


def _without_ends(items: list[Item], tokens: Sequence[Token], own: Dictation) -> list[Item]:
    """The items of an address: without the words before it and behind it, and hesitations in it."""
    kept = list(items)
    start = 0
    while start < len(kept) and kept[start].kind == "word" and _beside(kept[start], tokens, own):
        start += 1
    kept = kept[start:]
    domain_from = next((index for index, one in enumerate(kept) if one.text == "@"), -1)
    if domain_from < 0:
        while kept and kept[-1].kind == "word" and _beside(kept[-1], tokens, own):
            kept.pop()
    label, dots = "", 0
    for index in range(domain_from + 1, len(kept)) if domain_from >= 0 else ():
        one = kept[index]
        if dots and label in TOP_LEVEL and one.text != ".":
            kept = kept[:index]
            break
        if one.text == ".":
            label, dots = "", dots + 1
        else:
            label += _plain(one.text)
    fill = own.fillers
    return [one for one in _respelled(kept, tokens, own) if one.kind != "word" or tokens[one.at].word not in fill]


def _with_sign(tokens: list[Token], own: Dictation) -> list[Token]:
    """The words, with the sign for "bei" before a domain, and for "it" before a well-known one, if the address has no sign."""
    signs = [own.signs.get((one.word,), one.text) for one in tokens]
    if "@" in signs:
        return tokens
    for at, one in enumerate(tokens):
        is_domain = "." in signs[at + 2 : at + 4] and tokens[-1].word in TOP_LEVEL
        is_known = any("".join(signs[at + 1 : end]).casefold() in DOMAINS for end in range(at + 4, len(signs) + 1))
        if (is_domain and one.word in own.at_domain) or (is_known and one.word in own.like_at):
            return [*tokens[:at], Token("@", "", False, one.broken), *tokens[at + 1 :]]
        if "." in signs[at + 1 : at + 2] and (glued := _GLUED.fullmatch(one.word)):  # "jonesatgmail.com"
            local, domain = (Token(part, part, True, False) for part in glued.groups())
            return [*tokens[:at], local, Token("@", "", True, False), domain, *tokens[at + 1 :]]
    return tokens


def _named_part(value: str, items: Sequence[Item], tokens: Sequence[Token], own: Dictation) -> str | None:
    """The address with the right letters of a word in it: "woo is W U"."""
    row = list(takewhile(lambda one: one.kind == "letter", reversed(items)))[::-1]
    words = [_plain(one.text) for one in items[: len(items) - len(row)] if not _beside(one, tokens, own)]
    if len(words) != 1 or len(words[0]) < 2 or not row or value.count(words[0]) != 1:
        return None
    return value.replace(words[0], "".join(one.text for one in row))


def _beside(item: Item, tokens: Sequence[Token], own: Dictation) -> bool:
    word = tokens[item.at].word
    return word in own.beside or word in own.no or not item.text


def _behind_repair(tokens: Sequence[Token], own: Dictation) -> Sequence[Token]:
    """The words behind the last repair, if they are an address by themselves."""
    for at in range(len(tokens) - 1, 0, -1):
        end = starts(tokens, at, own.repair)
        if end and tokens[at].broken and any(own.signs.get((one.word,)) == "@" or one.text == "@" for one in tokens[end:]):
            before = [own.signs.get((one.word,)) == "@" or one.text == "@" for one in tokens[:at]]
            if any(before):
                return tokens[end:]
    return tokens


def _is_address(items: Sequence[Item], tokens: Sequence[Token], said: str, frame: Frame, *, so_far: bool) -> bool:
    signs = {one.text for one in items if one.kind == "sign"}
    spelled = [one for one in items if one.kind in ("letter", "digit")]
    others = [one for one in items if one.kind == "word"]
    if "@" in signs and "." in signs:
        return True
    if questions(said, frame.language):
        return False
    ordinary = [one for one in others if tokens[one.at].word in dictation(frame.language).small]
    if len(spelled) >= 2 and len(others) <= 2 and not ordinary:
        return True
    return (bool(signs) and not ordinary and len(others) <= 4) or (so_far and not ordinary and len(others) <= 2)


def _put_into(value: str, text: str) -> HeardValue:
    """A part of an address that was read back is said again."""
    local, _, domain = value.partition("@")
    if re.fullmatch(r"(\.[a-z]+)+", text):
        return _address(f"{local}@{domain[: domain.find('.')]}{text}")
    if text.startswith("@") and len(text) > 2:
        return _address(f"{local}{text}" if "." in text else f"{local}{text}{domain[domain.find('.') :]}")
    if len(text) <= 3 and (changed := put_in(local, text)):
        return _address(f"{changed}@{domain}")
    if SequenceMatcher(None, local, text).ratio() >= NEAR_LOCAL:
        return _address(f"{text}@{domain}")
    near = _known_domain(text)
    return _address(f"{local}@{near}") if near in DOMAINS else UNCLEAR


def _doubled(value: str, tokens: Sequence[Token], own: Dictation) -> str | None:
    """ "With a double n": the letter that stands there once."""
    for at, token in enumerate(tokens):
        if (token.word,) not in own.repeats and token.word not in own.doubled:
            continue
        letter = next((one.word for one in tokens[at + 1 : at + 3] if len(one.word) == 1 and one.word.isalpha()), "")
        rest = {one.word for one in tokens[:at]} - own.beside - own.with_
        places = [found.start() for found in re.finditer(letter, value)] if letter and not rest else []
        single = [at for at in places if value[at - 1 : at] != letter and value[at + 1 : at + 2] != letter]
        if len(single) == 1:
            return value[: single[0]] + letter + value[single[0] :]
    return None


def _spelled_parts(text: str, own: Dictation, *, known: bool = False) -> list[str]:
    parts: list[str] = []
    for part in re.findall(r"[a-z]+|\d+|[._+/-]", text):
        if part in own.spoken:
            parts.append(own.spoken[part])
        elif known or part in own.names or part in TOP_LEVEL:
            parts.append(part)
        else:
            parts.append(" ".join(part.upper()))
    return parts


@dataclass(frozen=True, slots=True)
class Name:
    """A person's name; rare ones are spelled when they are read back."""

    name: str = "name"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The name, as it was spelled if it was."""
        own = dictation(frame.language)
        speech = opened(tokens_of(said), own)
        before = "" if speech.restarts else so_far
        if before and (changed := self._corrected(before, speech.tokens, own, frame)):
            return self._heard(changed, own, spelled=True)
        if before and (changed := changed_by(before, speech.tokens, own)) and not _row_in(speech.tokens, frame):
            return self._heard(changed, own, spelled=True)
        tokens, introduced = _introduced(speech.tokens, own)
        tokens = _first_clauses(explained(tokens, own), own, frame)
        items = items_of(tokens, frame.language, letters=True)
        spelled, words = _letters(items), _names(tokens, items, own)
        if len(words) > 2 and folded(words[0]) == folded(words[-1]):  # "Bond, James Bond"
            words = words[1:]
        if joined := _HYPHENED.findall(said):
            spelled = joined[-1].replace("-", "").casefold()
        if len(spelled) == 1 and (not before or words):  # "I"
            spelled = ""
        small = [word for word in words if folded(word) in own.small]
        if not spelled and (not words or questions(said, frame.language)):
            return HeardValue(about_it=speech.restarts)
        if not spelled and (len(words) > MOST_NAME_WORDS or (small and (not introduced or len(small) * 2 >= len(words)))):
            return HeardValue(about_it=speech.restarts)
        if not spelled:
            return self._heard(" ".join(_capital(word, own) for word in words), own)
        words = [word for word in words if folded(word) not in own.small and (word[0].isupper() or said.islower())]
        if len(spelled) <= 2 and before:
            changed = _letter_put_in(before, spelled)
            return UNCLEAR if changed is None else self._heard(changed, own, spelled=True)
        if all(_spells(folded(word), folded(spelled)) for word in words):
            words = before.split() or words
        return self._heard(_with_spelled([_capital(word, own) for word in words], spelled), own, spelled=True)

    def _heard(self, value: str, own: Dictation, *, spelled: bool = False) -> HeardValue:
        if len(value) < 2:
            return UNCLEAR
        return HeardValue(value[:LONGEST], about_it=True, doubtful=not spelled and not _is_common(value, own))

    def _corrected(self, before: str, tokens: Sequence[Token], own: Dictation, frame: Frame) -> str | None:
        pair = contrast(tokens, own)
        if pair:
            right, wrong = (_letters(items_of(one, frame.language, letters=True)) or _words(one, own) for one in pair)
            at = folded(before).rfind(folded(wrong)) if wrong else -1
            if at >= 0 and right and len(folded(before)) == len(before):
                changed = before[:at] + (right if len(right) > 1 else right.lower()) + before[at + len(wrong) :]
                return " ".join(_capital(word, own) for word in changed.split())
        doubled = _doubled(before.casefold(), tokens, own)
        return " ".join(_capital(word, own) for word in doubled.split()) if doubled else None

    def confirm(self, value: str, frame: Frame) -> str:
        """The name, and its rare words letter by letter."""
        own = dictation(frame.language)
        rare = [word for word in value.split() if not _is_common(word, own)]
        return ", ".join([value, *(" ".join(word.upper()) for word in rare)])

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """A name."""
        return {"type": "string", "minLength": 2, "maxLength": LONGEST}


def _introduced(tokens: Sequence[Token], own: Dictation) -> tuple[Sequence[Token], bool]:
    """The words behind the last introduction, and True if there is one."""
    best = 0
    for at in range(len(tokens)):
        if (end := starts(tokens, at, own.introductions)) and end < len(tokens):
            best = max(best, end)
        elif (repair := starts(tokens, at, own.repair)) and tokens[at].broken and at and repair < len(tokens):
            best = max(best, repair)
    return tokens[best:], best > 0


def _row_in(tokens: Sequence[Token], frame: Frame) -> bool:
    """True if a name is spelled in the words."""
    return len(_letters(items_of(tokens, frame.language, letters=True))) >= SPELLED


def _first_clauses(tokens: Sequence[Token], own: Dictation, frame: Frame) -> Sequence[Token]:
    """The words without a clause behind the name that is about something else: ", I called yesterday"."""
    for at in range(1, len(tokens)):
        behind = [one.word for one in tokens[at:] if one.word]
        is_other = tokens[at].broken and tokens[at].word in own.small and (tokens[at].word,) not in own.not_
        if is_other and any(one.word and one.word not in own.small for one in tokens[:at]):
            items = items_of(tokens[at:], frame.language, letters=True)
            letters = sum(one.kind == "letter" for one in items)
            if letters < 2 and len(behind) > 1:
                return tokens[:at]
    return tokens


def _letters(items: Sequence[Item]) -> str:
    """The longest row of letters that were spelled, joined by hyphens if one is; hyphens and blanks are no part of it."""
    rows = [""]
    for one in items:
        if one.kind == "letter":
            rows[-1] += one.text
        elif one.text == "0":  # "oh"
            rows[-1] += "o"
        elif one.kind == "word":
            rows.append("")
    return max(rows, key=len)


def _names(tokens: Sequence[Token], items: Sequence[Item], own: Dictation) -> list[str]:
    """The words that may be names, hyphens within them kept."""
    found: list[str] = []
    skip = own.fillers | own.no | own.yes | own.polite
    for one in items:
        token = tokens[one.at]
        if one.kind != "word" or token.word in skip or not token.text[0].isalpha():
            continue
        at = one.at
        joins = found and at >= 2 and tokens[at - 1].text == "-" and token.glued and tokens[at - 1].glued
        if joins:
            found[-1] += f"-{token.text}"
        elif one.text or token.word not in own.beside:
            found.append(token.text)
    return found


def _words(tokens: Sequence[Token], own: Dictation) -> str:
    return " ".join(one.text for one in tokens if one.word and one.word not in own.beside and one.word not in own.fillers)


def _capital(word: str, own: Dictation) -> str:
    """The word as names are written: Whisper does so itself, but for spelled ones."""
    if folded(word) in own.particles and not word[0].isupper():
        return word
    return "-".join(
        part[:1].upper() + (part[1:].lower() if part.isupper() and len(part) > 1 else part[1:]) for part in word.split("-")
    )


def _with_spelled(words: Sequence[str], spelled: str) -> str:
    """The words with the spelled one in place of that which it spells, else behind them."""
    name = spelled.capitalize()
    shares = [SequenceMatcher(None, folded(word), folded(name)).ratio() for word in words]
    if not words or max(shares) < NEAR_WORD:
        return " ".join([*words, name])
    at = max(range(len(words)), key=lambda index: (shares[index], index))
    return " ".join([*words[:at], name, *words[at + 1 :]])


def _letter_put_in(before: str, letter: str) -> str | None:
    changed = put_in(folded(before), letter)
    return " ".join(word.capitalize() for word in changed.split()) if changed else None


def _is_common(value: str, own: Dictation) -> bool:
    return all(folded(part) in own.names or folded(part) in own.particles for part in re.split(r"[\s-]+", value))


@dataclass(frozen=True, slots=True)
class PostalAddress:
    """A postal address in one line."""

    name: str = "address"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The address; another part of it is put behind the first."""
        own = dictation(frame.language)
        speech = opened(tokens_of(said), own)
        before = "" if speech.restarts else so_far
        if before and (pair := contrast(speech.tokens, own)):
            right, wrong = (_line(one, own, frame) for one in pair)
            at = folded(before).rfind(folded(wrong)) if wrong else -1
            if at >= 0 and right and len(folded(before)) == len(before):
                return self._heard(before[:at] + right + before[at + len(wrong) :])
        tokens, introduced = _introduced(speech.tokens, own)
        line = _line(tokens, own, frame)
        words = [one.word for one in tokens if one.word]
        has_street = any(_is_street(word, own) for word in words)
        has_number = any(char.isdigit() for char in line)
        small = [word for word in words if word in own.small]
        is_about = introduced or has_street or has_number or (bool(before) and len(small) * 3 < len(words))
        if not line or questions(said, frame.language) or not is_about or len(small) * 2 > len(words):
            return HeardValue(about_it=speech.restarts)
        if before and (changed := _number_put_in(before, line)) and (speech.negated or len(line) < SHORTEST_POSTCODE):
            return self._heard(changed)
        if before and not (speech.negated and has_number and has_street):
            line = f"{before}, {line}"
        return self._heard(line)

    def _heard(self, line: str) -> HeardValue:
        words = len(line.split())
        if any(char.isdigit() for char in line) and words >= 2:
            return HeardValue(line[:LONGEST], about_it=True, doubtful=True)
        return HeardValue(partial=line[:LONGEST], about_it=True)

    def confirm(self, value: str, frame: Frame) -> str:
        """As it is written."""
        return value

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """One line."""
        return {"type": "string", "minLength": 5, "maxLength": LONGEST}


def _is_street(word: str, own: Dictation) -> bool:
    return any(word == one or (len(one) > 3 and word.endswith(one)) for one in own.streets)


def _number_put_in(before: str, line: str) -> str | None:
    """The address with another number: the one that it is most like, else the only one that is as long."""
    if not line.isdecimal():
        return None
    numbers = [one for one in re.finditer(r"\d+", before) if len(one[0]) == len(line) and one[0] != line]
    near = [one for one in numbers if alike(one[0], line) or sorted(one[0]) == sorted(line)]
    chosen = near or numbers
    return before[: chosen[0].start()] + line + before[chosen[0].end() :] if len(chosen) == 1 else None


def _line(tokens: Sequence[Token], own: Dictation, frame: Frame) -> str:
    """The words with their commas, and numbers in digits: "six two seven oh four" is 62704, "L S one, two T W" LS1 2TW."""
    parts: list[str] = []
    previous: Item | None = None
    items = items_of(tokens, frame.language)
    edge = len(items)
    while edge and items[edge - 1].kind == "word" and tokens[items[edge - 1].at].word in own.polite:
        edge -= 1
    for index, one in enumerate(items[:edge]):
        token, ahead = tokens[one.at], items[index + 1] if index + 1 < edge else None
        word = one.text or token.text
        if one.kind == "word" and (
            token.word in own.fillers or (token.word in own.number_words and ahead is not None and ahead.kind == "digit")
        ):
            continue
        is_next = previous is not None and not token.broken and not tokens[previous.at].glued
        if previous is not None and is_next and previous.kind == one.kind == "digit" and _continues(parts, one, tokens):
            parts[-1] += one.text
        elif previous is not None and is_next and _is_code(one, previous, tokens, own, ends=ahead is None):
            parts[-1] = f"{parts[-1]}{word}".upper() if previous.kind == "word" else parts[-1] + word
        elif parts and token.glued and tokens[one.at - 1].word:  # YO1
            parts[-1] += word
        elif parts and tokens[one.at - 1].text in "-'’" and token.glued and one.at and tokens[one.at - 2].word.isalpha():
            parts[-1] += tokens[one.at - 1].text + word
        else:
            parts.append((", " if token.broken and parts and tokens[one.at - 1].text == "," else " ") + word)
        previous = one
    return "".join(parts).strip(" ,")


def _continues(parts: Sequence[str], one: Item, tokens: Sequence[Token]) -> bool:
    """True if a number is said in parts: "six two seven", "fourteen fifty", "two thirteen" at the beginning."""
    length = len(parts[-1].strip(" ,"))
    if len(one.text) == 1:
        return length < MOST_POSTCODE
    is_said = not tokens[one.at].word.isdecimal() and parts[-1].strip(" ,").isdecimal()
    return is_said and len(one.text) == 2 and (length >= 2 or len(parts) == 1) and length + 2 <= LONGEST_NUMBER


def _is_code(one: Item, previous: Item, tokens: Sequence[Token], own: Dictation, *, ends: bool) -> bool:
    """True if both are letters or a letter and a digit: "5 a", "L S 1"."""
    letters = [tokens[item.at] for item in (previous, one) if item.kind == "word" and len(tokens[item.at].word) == 1]
    digits = [item for item in (previous, one) if item.kind == "digit" and (len(item.text) == 1 or item is previous)]
    if previous.kind == "digit" and len(previous.text) == 1 and ends and len(tokens[one.at].word) == 2:  # "2 TW"
        return tokens[one.at].text.isupper()
    are_letters = bool(letters) and all(one.word not in own.small or one.text.isupper() for one in letters)
    return are_letters and len(letters) + len(digits) == 2
