"""Commands to stop, to wait and to be silent in every language: whatever the language model writes on them, no tool with an
effect runs. No phrase answers them here."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.conversation.world import World
from tests.turn_taking.test_request import CAN_BE_AGREED_TO, HALTS, STATEMENT, pairs
from voiceagent.conversation.rules import Phrases, Rules, ToolRule
from voiceagent.turn_taking.overlap import MANNERS

TOOLS = {
    "look": ToolRule("none"),
    "set": ToolRule("idempotent"),
    "book": ToolRule("external"),
    "pay": ToolRule("external", confirm="Shall I pay?"),
    "end_call": ToolRule("external", ends_call=True),
}
BY_MODEL = Phrases(stopped="")


def hear(world: World, words: str, *, paused: bool, speculated: bool) -> None:
    """The caller says this, and the model calls every tool: in the pause where a reply is begun in it, and after the turn."""
    world.speech()
    if paused:
        world.partial(words)
        world.pause_with(words)
        if speculated:
            world.silence()
            call_all(world)
    world.endpoint()
    world.final(words)
    world.settle()


def call_all(world: World) -> None:
    for name in TOOLS:
        world.call_tool(name)
    world.generated()


def exhaust(world: World) -> None:
    """The model calls every tool as often as it is asked."""
    for _ in range(8):
        call_all(world)
        for _ in range(len(world.tools)):
            world.finish_tool()
        world.play_all()
        for name in ("go_on", "overlap", "rest"):
            world.fire(name)
        world.settle()


@given(
    halt=st.sampled_from(pairs(HALTS)),
    when=st.sampled_from(["alone", "early", "in the middle", "at the end", "after"]),
    question=st.booleans(),
    paused=st.booleans(),
    speculated=st.booleans(),
    manners=st.sampled_from(sorted(MANNERS)),
    times=st.integers(1, 3),
)
def test_no_tool_with_an_effect_runs_on_a_command_to_halt(
    halt: tuple[str, str], when: str, question: bool, paused: bool, speculated: bool, manners: str, times: int
) -> None:
    code, words = halt
    world = World(Rules(language=code, tools=TOOLS, phrases=BY_MODEL, manners=MANNERS[manners]))
    world.begin()
    if when != "alone":
        world.say("Hello?")
        world.answer(CAN_BE_AGREED_TO[code][0] if question else STATEMENT)
        world.synthesise_all()
        world.frames({"early": 2, "in the middle": 25, "at the end": 60}.get(when, 0))
        if when == "after":
            world.play_all()
    for _ in range(times):
        hear(world, words, paused=paused, speculated=speculated)
        exhaust(world)
    assert {name for _, name, _ in world.effects} <= {"look"}
    assert world.ended == ""


@given(halt=st.sampled_from(pairs(HALTS)), heard=st.integers(0, 40))
def test_a_command_to_halt_confirms_nothing(halt: tuple[str, str], heard: int) -> None:
    code, words = halt
    world = World(Rules(language=code, tools=TOOLS, phrases=BY_MODEL))
    world.begin()
    world.say("Hello?")
    world.call_tool("pay")
    world.generated()
    world.synthesise_all()
    world.frames(heard)
    hear(world, words, paused=False, speculated=False)
    exhaust(world)
    assert "pay" not in {name for _, name, _ in world.effects}
