"""The numbers of cards: only tools get them."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.call.cards import CallCards
from voiceagent.conversation import machine
from voiceagent.conversation.history import ToolCall
from voiceagent.conversation.rules import CollectRule, Rules, ToolRule
from voiceagent.conversation.state import Collecting, State, ValueTask

CARD, MARK = "4242424242424242", "card ending 4242"
PAYS = Rules(language="en", tools={"pay": ToolRule(collect={"card": CollectRule("card")})})


def asking(so_far: str = "") -> State:
    call = ToolCall("c", "pay", "{}")
    return replace(machine.start(PAYS), collecting=Collecting(task=ValueTask("pay.card", so_far=so_far), call=call))


def test_a_card_that_is_said_in_parts_is_given_to_its_tool_alone() -> None:
    state = asking()
    cards = CallCards(lambda: state)
    part = cards.hide("four two four two four two four two")
    state = asking(part[1:-1])
    assert cards.hide("4242 4242") == f"[{MARK}]"
    assert cards.hide_partial("4242 and") == "• and"
    assert cards.reveal(f'{{"card": "{MARK}", "note": "a {MARK}"}}') == f'{{"card": "{CARD}", "note": "a {MARK}"}}'
    assert cards.hide_known(f'{{"paid with": "{CARD}"}}') == f'{{"paid with": "{MARK}"}}'


def test_a_card_that_nobody_asked_for_is_hidden_too() -> None:
    state = machine.start(PAYS)
    cards = CallCards(lambda: state)
    assert not cards.is_asked
    assert cards.hide(f"Take {CARD} please, for 2") == f"Take [{MARK}] please, for 2"


def test_an_agent_that_collects_no_card_reads_every_word() -> None:
    state = machine.start(Rules(language="en"))
    cards = CallCards(lambda: state)
    assert cards.hide(CARD) == CARD
    assert cards.hide_partial(CARD) == CARD
