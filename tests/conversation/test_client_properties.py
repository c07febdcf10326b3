"""The turn engine in any order of events and of a client's wishes, edits and rules."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conversation.test_properties import FILLERS, MOVES, TEXTS, TOOLS, come_to_rest, hung_up
from tests.conversation.world import World
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import EndpointingRules, Limits, MemoryRules, Phrases, ReplyRules, ReplyWish, Rules, TurnRules
from voiceagent.conversation.state import Phase

TEXT_ONLY = ReplyRules(text_only=True)


def wish(world: World, text: str, *, rules: ReplyRules | None = None, detached: bool = False, given: bool = False) -> None:
    messages = (Message("user", text or "Hello."),) if given else None
    world.feed(ev.ReplyRequested(world.now_ms, ReplyWish(f"w{world.now_ms}", text or None, rules, detached, messages)))


def commit(world: World) -> None:
    world.utterance += 1
    world.feed(ev.UtteranceCommitted(world.now_ms, world.utterance, world.now_ms - 500.0))


def change(world: World, text: str) -> None:
    turns = TurnRules(answers=len(text) % 2 == 0, interruptible=len(text) % 3 == 0, idle_ms=float(len(text) * 50))
    world.feed(ev.SettingsChanged(world.now_ms, EndpointingRules(), turns, ReplyRules(), MemoryRules(long_history_tokens=15)))


def add(world: World, text: str, behind: str | None) -> None:
    message = Message("assistant", text) if len(text) % 2 else Message("user", text)
    world.feed(ev.HistoryAdded(world.now_ms, message, f"i{len(world.actions)}", behind))


CLIENTS: dict[str, Callable[[World, str], object]] = {
    "write": lambda world, text: world.feed(ev.TextReceived(world.now_ms, text, key=text)),
    "wish": lambda world, text: wish(world, text),
    "wish_text": lambda world, text: wish(world, text, rules=TEXT_ONLY),
    "wish_detached": lambda world, text: wish(world, text, rules=TEXT_ONLY, detached=True),
    "wish_spoken_detached": lambda world, text: wish(world, text, detached=True, given=True),
    "commit": lambda world, text: commit(world),
    "clear": lambda world, text: world.feed(ev.UtteranceCleared(world.now_ms)),
    "change": change,
    "text_only": lambda world, text: world.feed(ev.SettingsChanged(world.now_ms, replies=TEXT_ONLY)),
    "add": lambda world, text: add(world, text, None),
    "add_first": lambda world, text: add(world, text, ""),
    "add_behind": lambda world, text: add(world, text, f"reply {len(text) % 4}"),
    "remove": lambda world, text: world.feed(ev.HistoryRemoved(world.now_ms, f"utterance {len(text) % 4}", text)),
    "remove_reply": lambda world, text: world.feed(ev.HistoryRemoved(world.now_ms, f"reply {len(text) % 4}", text)),
    "remove_written": lambda world, text: world.feed(ev.HistoryRemoved(world.now_ms, text, text)),
    "truncate": lambda world, text: world.feed(ev.ReplyTruncated(world.now_ms, len(text) % 5, len(text) * 20.0)),
    "cut": lambda world, text: cut(world),
}


def cut(world: World) -> None:
    """The generation reaches its limit of tokens."""
    if world.generations:
        world.feed(ev.GenerationDone(world.now_ms, world.generations.pop().reply_id, cut_short=True))


ALL = {**MOVES, **CLIENTS}
moves = st.one_of(st.sampled_from(sorted(CLIENTS)), st.sampled_from(sorted(MOVES)))
scripts = st.lists(st.tuples(moves, st.sampled_from(TEXTS)), max_size=60)
beginnings = st.tuples(st.booleans(), st.booleans(), st.booleans())


def run(beginning: tuple[bool, bool, bool], script: list[tuple[str, str]]) -> World:
    answers, interruptible, text_only = beginning
    world = World(
        Rules(
            language="en",
            phrases=Phrases(greeting="Hello.", apology="Sorry.", fillers=FILLERS),
            limits=Limits(silence_timeout_ms=1000, max_tool_rounds=2),
            tools=TOOLS,
            turns=TurnRules(answers=answers, interruptible=interruptible),
            replies=ReplyRules(text_only=text_only),
        )
    )
    world.begin()
    for move, text in script:
        ALL[move](world, text)
        assert len(world.state.memory.keys) == len(world.state.memory.history)
    return world


@given(beginnings, scripts)
@settings(max_examples=400, deadline=None)
def test_every_reply_ends_exactly_once(beginning: tuple[bool, bool, bool], script: list[tuple[str, str]]) -> None:
    world = hung_up(run(beginning, script))
    started = [notice.reply_id for notice in world.beginnings()]
    assert started == [notice.reply_id for notice in world.endings()]
    assert len(set(started)) == len(started)


@given(beginnings, scripts)
@example((False, True, False), [(move, "Mm-hm.") for move in ("commit", "interrupted_booking", "speech", "clear")])
@settings(max_examples=300, deadline=None)
def test_a_call_always_comes_to_rest(beginning: tuple[bool, bool, bool], script: list[tuple[str, str]]) -> None:
    assert come_to_rest(run(beginning, script)).state.phase in (Phase.IDLE, Phase.ENDED)


@given(beginnings, scripts)
@settings(max_examples=300, deadline=None)
def test_no_timer_is_left_over(beginning: tuple[bool, bool, bool], script: list[tuple[str, str]]) -> None:
    world = run(beginning, script)
    assert set(world.timers) == world.state.timers
    assert not hung_up(world).timers


@given(beginnings, scripts)
@settings(max_examples=300, deadline=None)
def test_a_detached_reply_leaves_no_trace(beginning: tuple[bool, bool, bool], script: list[tuple[str, str]]) -> None:
    world = hung_up(run(beginning, script))
    detached = {f"reply {notice.reply_id}" for notice in world.beginnings() if notice.is_detached}
    assert not detached.intersection(key for keys in world.state.memory.keys for key in keys)
