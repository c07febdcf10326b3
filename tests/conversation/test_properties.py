"""The turn engine in any order of events: what may never happen, and what always must."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.history import Chunk, Message
from voiceagent.conversation.rules import Degradation, Limits, MemoryRules, Phrases, Rules, StepRule, ToolRule, TransitionRule
from voiceagent.conversation.state import Phase
from voiceagent.conversation.steps import GO_TO, NOTE
from voiceagent.conversation.tools import LATE
from voiceagent.turn_taking.endpointing import Prosody
from voiceagent.turn_taking.languages.en import ENGLISH
from voiceagent.turn_taking.overlap import MANNERS

TEXTS = ("Mm-hm.", "Hello there.", "One, two, three. Four five", " and six!", "", "Yes", " no. Maybe so, I think.")

MOVES: dict[str, Callable[[World, str], object]] = {
    "speech": lambda world, text: world.speech(),
    "pause": lambda world, text: world.pause(load=len(text) / 20),
    "pause_with": lambda world, text: world.pause_with(text),
    "resume": lambda world, text: world.resume(),
    "silence": lambda world, text: world.silence(),
    "endpoint": lambda world, text: world.endpoint(),
    "final": lambda world, text: world.final(text),
    "words": lambda world, text: world.pause_with(text),
    "hung": lambda world, text: world.hang(),
    "late": lambda world, text: world.fire("final"),
    "partial": lambda world, text: world.feed(ev.Transcript(world.now_ms, world.utterance, text, "")),
    "text": lambda world, text: world.text(text),
    "generated": lambda world, text: world.generated(),
    "failed": lambda world, text: world.fail(),
    "tool": lambda world, text: world.call_tool("book", f'{{"day": "{text}"}}'),
    "pay": lambda world, text: world.call_tool("pay", f'{{"day": "{text}"}}'),
    "yes": lambda world, text: world.say("Yes, please."),
    "stop": lambda world, text: world.say("Stop."),
    "filler": lambda world, text: world.fire("filler"),
    "find": lambda world, text: world.call_tool("find", f'{{"what": "{text}"}}'),
    "predict": lambda world, text: world.predict("find", f'{{"what": "{text}"}}'),
    "predict_effect": lambda world, text: world.predict("book", f'{{"day": "{text}"}}'),
    "two": lambda world, text: wait_for_one_of_two(world, text),
    "speculative_tool_finished": lambda world, text: world.look_up_done(),
    "tool_done": lambda world, text: world.finish_tool(),
    "synthesise": lambda world, text: world.synthesise(),
    "frames": lambda world, text: world.frames(7),
    "overlap": lambda world, text: world.overlap(50.0 * len(text)),
    "goes_on": lambda world, text: world.fire("go_on"),
    "settle": lambda world, text: world.settle(),
    "timer": lambda world, text: world.fire(min(world.timers, default="")),
    "typed": lambda world, text: world.feed(ev.TextReceived(world.now_ms, text)),
    "request": lambda world, text: world.feed(ev.ReplyRequested(world.now_ms)),
    "cancel": lambda world, text: world.feed(ev.ReplyCancelled(world.now_ms)),
    "clause_failed": lambda world, text: world.fail_clause(),
    "clause_breaks": lambda world, text: world.break_clause(),
    "context": lambda world, text: world.feed(ev.ContextFound(world.now_ms, world.utterance, chunks(text))),
    "instructions": lambda world, text: world.feed(ev.InstructionsChanged(world.now_ms, text)),
    "degraded": lambda world, text: world.feed(ev.DegradationChanged(world.now_ms, tuple(Degradation)[len(text) % 5 :])),
    "blocked": lambda world, text: world.block(text),
    "summarised": lambda world, text: world.feed(ev.Summarised(world.now_ms, text)),
    "lost": lambda world, text: world.feed(ev.ConnectionLost(world.now_ms)),
    "resumed": lambda world, text: world.feed(ev.ConnectionResumed(world.now_ms)),
    "turn": lambda world, text: whole_turn(world, text),
    "interrupted_booking": lambda world, text: interrupted_booking(world, text),
    "interrupted_lookup": lambda world, text: interrupted_lookup(world, text),
    "find_and_end": lambda world, text: find_and_end(world, text),
    "summary_comes": lambda world, text: summary_comes(world),
}


def find_and_end(world: World, text: str) -> None:
    """The caller asks, and a lookup for them ends."""
    world.say(f"Find it {text}")
    world.call_tool("find", f'{{"what": "{text}"}}')
    world.generated()
    world.finish_tool()
    world.look_up_done()


def summary_comes(world: World) -> None:
    asked = [action for action in world.actions if isinstance(action, act.Summarise)]
    if asked:
        world.feed(ev.Summarised(world.now_ms, "They asked.", asked[-1].handoff))


def chunks(text: str) -> tuple[Chunk, ...]:
    return (Chunk("a", text), Chunk("b", text)) if text else ()


def whole_turn(world: World, text: str) -> None:
    world.say(text)
    world.answer("So it is.")
    world.play_all()


def interrupted_booking(world: World, text: str) -> None:
    """A tool with effects runs on after its reply."""
    world.say("Book it.")
    world.call_tool("book", f'{{"day": "{text}"}}')
    world.generated()
    world.say(f"And {text}")
    world.settle()


def interrupted_lookup(world: World, text: str) -> None:
    """A tool without effect runs on after its reply."""
    world.say("Find it.")
    world.call_tool("find", f'{{"what": "{text}"}}')
    world.generated()
    world.fire("filler")
    world.play_all()
    world.say("Okay, I will wait.")
    world.settle()


def wait_for_one_of_two(world: World, text: str) -> None:
    """The model asks for two tools; one ends, and the wait for the other is long enough to be heard."""
    world.call_tool("find", f'{{"what": "{text}"}}')
    world.call_tool("book", f'{{"day": "{text}"}}')
    world.generated()
    world.finish_tool()
    world.fire("filler")


END = "end_call"
WALKING = (NOTE, GO_TO)
OUTPUTS = ("{}", "null", '{"noted": {"a": 1}}', '{"noted": 5}', '{"step": "last"}', '{"step": "first"}', '{"step": []}')
GRAPH = {
    "first": StepRule("One.", ("a",), (TransitionRule("last", {"a": 1}), TransitionRule("first", after="find"))),
    "last": StepRule("Two.", (), (TransitionRule("first", after="book"), TransitionRule("away", after="find"))),
    "away": StepRule(handoff="other"),
}
OTHER_GRAPH = {"ask": StepRule("Three.", (), (TransitionRule("back", after="find"),)), "back": StepRule(handoff="own")}
TOOLS = {"find": ToolRule("none"), "book": ToolRule("external"), "pay": ToolRule("external", ("Hold on.",), "Shall I pay {day}?")}
"""`TEXTS` are their arguments too, so that the same is asked for twice."""

NAMES = (*TOOLS, END, *WALKING)
FILLERS = ("Let me see.", "One moment.")

NO_LIMIT = MemoryRules()
SHORT = (MemoryRules(long_history_tokens=15), MemoryRules(long_history_tokens=15, summarise=True))
"""A history of two or three turns is too long."""

scripts = st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.sampled_from(TEXTS)), max_size=60)
callers_moves = st.sampled_from(["speech", "words", "partial", "endpoint", "hung", "late", "text", "generated"])
callers_scripts = st.lists(st.tuples(callers_moves, st.sampled_from(TEXTS)), min_size=20, max_size=40)
long_moves = st.sampled_from(["turn", "interrupted_booking", "tool_done", "tool", "pay", "yes", "summarised", "speech", "settle"])
long_scripts = st.lists(st.tuples(long_moves, st.sampled_from(TEXTS)), max_size=30)
Opening = tuple[str, str, str | None]
"""A greeting, what the agent does while the caller speaks over it, and its answer to a caller who only tells it to stop."""
openings = st.tuples(
    st.sampled_from(["", "Hello, how can I help you?"]), st.sampled_from(sorted(MANNERS)), st.sampled_from([None, ""])
)


def run(opening: Opening, script: list[tuple[str, str]], kind: type[World] = World, memory: MemoryRules = NO_LIMIT) -> World:
    """Let a call happen in the given order. The world itself fails when a frame, a synthesis or a tool of a dropped reply
    appears."""
    greeting, manners, stopped = opening
    world = kind(
        Rules(
            language="en",
            phrases=Phrases(greeting=greeting, apology="Sorry.", stopped=stopped, fillers=FILLERS),
            manners=MANNERS[manners],
            limits=Limits(silence_timeout_ms=1000, max_tool_rounds=2),
            tools=TOOLS,
            memory=memory,
        )
    )
    world.begin()
    for move, text in script:
        MOVES[move](world, text)
    return world


def hung_up(world: World) -> World:
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    while world.drops:
        world.settle()
    return world


@given(openings, scripts)
@settings(max_examples=400, deadline=None)
def test_history_equals_what_was_heard(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = hung_up(run(opening, script))
    heard = " ".join(word for reply_id in sorted(world.played) for word in world.played[reply_id])
    assert " ".join(world.assistant_texts()) == heard


@given(openings, scripts)
@settings(max_examples=300, deadline=None)
def test_every_reply_ends_exactly_once(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = hung_up(run(opening, script))
    started = [notice.reply_id for notice in world.beginnings()]
    assert started == [notice.reply_id for notice in world.endings()]
    assert len(set(started)) == len(started)


@given(openings, scripts)
@settings(max_examples=300, deadline=None)
def test_no_timer_is_left_over(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = run(opening, script)
    assert set(world.timers) == world.state.timers
    assert not hung_up(world).timers


@given(openings, scripts)
@settings(max_examples=400, deadline=None)
def test_no_effect_comes_of_an_uncommitted_reply_nor_twice_of_one(opening: Opening, script: list[tuple[str, str]]) -> None:
    """The world itself fails when a speculative or a cancelled reply runs a tool with effects, or a reply runs one twice."""
    world = hung_up(run(opening, script))
    committed = world.announced()
    assert {reply_id for reply_id, _, _ in world.effects} <= committed
    payments = [action for action in world.actions if isinstance(action, act.RunTool) and action.name == "pay"]
    assert all(action.call_id.endswith("_confirmed") for action in payments)
    assert not world.speculative_calls
    assert not world.state.tools.speculative


class Asked(World):
    """Fails when a tool with an effect runs though the caller's last words were a command to stop."""

    def asked(self, action: act.AnyAction) -> None:
        super().asked(action)
        if isinstance(action, act.RunTool) and action.name != "find":
            assert not self.user_texts()[-1:] or not self.user_texts()[-1].endswith("Stop.")


@given(openings, scripts)
@settings(max_examples=300, deadline=None)
def test_no_effect_comes_of_a_command_to_stop(opening: Opening, script: list[tuple[str, str]]) -> None:
    greeting, manners, _ = opening
    run((greeting, manners, ""), script, Asked)


@given(openings, scripts)
@settings(max_examples=300, deadline=None)
def test_a_call_always_comes_to_rest(opening: Opening, script: list[tuple[str, str]]) -> None:
    """Whatever happened before, once everybody does what is asked of them the caller has the floor or the call is over."""
    assert come_to_rest(run(opening, script)).state.phase in (Phase.IDLE, Phase.ENDED)


def come_to_rest(world: World) -> World:
    """Let everybody do what is asked of them, for a caller who is there."""
    world.feed(ev.ConnectionResumed(world.now_ms))
    for _ in range(50):
        if world.state.phase in (Phase.IDLE, Phase.ENDED):
            break
        world.settle()
        if world.state.phase is Phase.HEARING:
            world.endpoint()
        world.final("Okay.")
        world.generated()
        world.finish_tool()
        world.look_up_done()
        world.fire("go_on")
        world.play_all()
        if world.state.phase is Phase.FINALISING:
            world.fire("final")
    return world


class Kept(World):
    """Remembers the caller's words that must be answered: all but those over a reply of which something was heard."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.said: list[str] = []

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        reply = self.state.reply
        over_a_reply = reply is not None and not reply.assumed_text and reply.heard
        actions = super().feed(event)
        finals = [action.text for action in actions if isinstance(action, act.CallerFinal)]
        taken = any(isinstance(action, act.CancelReply) for action in actions)
        self.said += [word for text in finals if taken or not over_a_reply for word in text.split()]
        if isinstance(event, ev.TextReceived) and self.state.phase is not Phase.ENDED:
            self.said += event.text.split()
        return actions


@given(openings, scripts)
@settings(max_examples=400, deadline=None)
def test_every_word_of_the_caller_ends_in_history_or_in_the_next_request(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = run(opening, script, Kept)
    while world.drops:
        world.settle()
    assert isinstance(world, Kept)
    assert sorted(" ".join([*world.user_texts(), world.state.caller_turn.unanswered]).split()) == sorted(world.said)


@given(openings, callers_scripts)
@settings(max_examples=400, deadline=None)
def test_every_committed_text_gets_a_reply_or_a_failure(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = come_to_rest(run(opening, script))
    assert not world.state.caller_turn.unanswered
    asked = [action.messages for action in world.actions if isinstance(action, act.Generate)]
    prompted = [messages[-1].content for messages in asked if messages[-1].role == "user"]
    assert set(world.user_texts()) <= set(prompted)
    assert [notice.reply_id for notice in world.beginnings()] == [notice.reply_id for notice in world.endings()]


@given(openings, callers_scripts)
@settings(max_examples=400, deadline=None)
def test_no_decode_is_waited_for_without_a_time_out(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = run(opening, script)
    if world.state.phase is Phase.FINALISING:
        assert world.state.caller_turn.awaiting_final
        assert "final" in world.timers


@given(openings, scripts)
@settings(max_examples=300, deadline=None)
def test_tool_results_follow_their_calls_in_every_prompt(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = run(opening, script)
    for generate in [action for action in world.actions if isinstance(action, act.Generate)]:
        waiting: list[str] = []
        for message in generate.messages:
            if message.role == "tool":
                assert message.tool_call_id == waiting.pop(0)
            else:
                assert not waiting
                waiting = [call.call_id for call in message.tool_calls]
        assert not waiting


@given(openings, long_scripts, st.sampled_from(SHORT))
@settings(max_examples=400, deadline=None)
def test_a_history_that_is_shortened_loses_no_result(
    opening: Opening, script: list[tuple[str, str]], memory: MemoryRules
) -> None:
    world = run(opening, script, memory=memory)
    while world.drops:
        world.settle()
    while world.tools:
        world.finish_tool()
    ran = {action.call_id for action in world.actions if isinstance(action, act.RunTool) and action.name != "find"}
    told = [action.call_id for action in world.actions if isinstance(action, act.ToolEnded) and action.call_id in ran]
    assert world.state.phase is Phase.ENDED or sorted(told) == sorted(ran)
    for prompt in [action.messages for action in world.actions if isinstance(action, act.Generate)]:
        calls = [call.call_id for message in prompt for call in message.tool_calls]
        assert calls == [message.tool_call_id for message in prompt if message.role == "tool"]


class Telling(World):
    """Gives each result a word of its own, and has the model say just the results that its prompt ends with."""

    def finish_tool(self, output: str = "") -> None:
        if self.tools:
            super().finish_tool(f"result{len(self.actions)}")

    def answer(self, text: str) -> None:
        if self.generations:
            messages = self.generations[-1].messages
            last = next((at for at in range(len(messages), 0, -1) if messages[at - 1].role != "tool"), 0)
            results = " ".join(message.content for message in messages[last:])
            super().answer(f"{results} that is what has become of it by now" if results else text)


late_moves = st.sampled_from(
    [
        "interrupted_booking",
        "interrupted_lookup",
        "stop",
        "turn",
        "speech",
        "words",
        "endpoint",
        "tool_done",
        "settle",
        "frames",
        "synthesise",
        "goes_on",
    ]
)
late_scripts = st.lists(st.tuples(late_moves, st.sampled_from(TEXTS)), max_size=40)


@given(openings, late_scripts)
@settings(max_examples=400, deadline=None)
def test_each_late_result_is_told_once_the_floor_is_free(opening: Opening, script: list[tuple[str, str]]) -> None:
    world = told_all(run(opening, script, Telling))
    assert world.state.phase in (Phase.IDLE, Phase.ENDED)
    results = {action.output for action in world.actions if isinstance(action, act.ToolEnded)}
    whole = " ".join(ending.heard for ending in world.endings() if ending.status == "completed").split()
    cut = " ".join(ending.heard for ending in world.endings() if ending.status == "interrupted").split()
    assert not world.state.late.owed
    assert not world.state.late.running
    assert all(whole.count(result) <= 1 for result in results)
    assert all(result in whole + cut for result in results - lookups_of(world))


def told_all(world: World) -> World:
    """Let all tools end, and everything be said."""
    for _ in range(60):
        world.settle()
        if world.state.phase is Phase.HEARING:
            world.endpoint()
        world.final("What time is it?")
        world.finish_tool()
        world.answer("Noon.")
        world.fire("go_on")
        world.play_all()
        if world.state.phase is Phase.FINALISING:
            world.fire("final")
    return world


def lookups_of(world: World) -> set[str]:
    """The results of the tools without effect."""
    return {action.output for action in world.actions if isinstance(action, act.ToolEnded) and action.name == "find"}


@given(openings, st.one_of(scripts, late_scripts))
@settings(max_examples=400, deadline=None)
def test_no_lookup_is_told_once_the_caller_asked_for_another_tool(opening: Opening, script: list[tuple[str, str]]) -> None:
    """The calls whose results are told late carry a mark in their ids. A call that is withheld asks for nothing."""
    world = told_all(run(opening, script, Telling))
    withheld = {
        action.call_id
        for action in world.actions
        if isinstance(action, act.ToolEnded) and action.output == ENGLISH.prompts.tool_not_asked_for
    }
    asked: dict[str, int] = {}
    newest, turns = 0, dict[int, int]()
    for action in world.actions:
        match action:
            case act.ReplyStarted():
                turns[action.reply_id] = action.turn
            case act.ToolStarted() if turns[action.reply_id] and action.call_id not in withheld:
                asked[action.call_id] = action.reply_id
                newest = action.reply_id
            case act.Generate() if not turns.get(action.reply_id, 1) and action.messages:
                told = action.messages[-1].tool_call_id
                if told.endswith(LATE) and told in finds(action.messages):
                    assert asked.get(told.removesuffix(LATE), newest) == newest


def finds(messages: tuple[Message, ...]) -> set[str]:
    """The ids of the calls of the tool without effect."""
    return {call.call_id for message in messages for call in message.tool_calls if call.name == "find"}


@given(openings, scripts)
@settings(max_examples=300, deadline=None)
def test_a_reply_begins_at_most_once_with_what_is_known_while_a_tool_runs(
    opening: Opening, script: list[tuple[str, str]]
) -> None:
    world = hung_up(run(opening, script))
    waited_for: list[tuple[int, str]] = []
    for generate in [action for action in world.actions if isinstance(action, act.Generate)]:
        waiting = [message.tool_call_id for message in generate.messages if message.content == ENGLISH.prompts.tool_pending]
        if waiting:
            assert generate.reply_id in world.announced()
            assert any(
                message.role == "tool" and message.content != ENGLISH.prompts.tool_pending for message in generate.messages
            )
        waited_for += [(generate.reply_id, call_id) for call_id in waiting]
    assert len(set(waited_for)) == len(waited_for)


some_time = st.just(0.0)
some_id = st.integers(0, 4)
some_text = st.sampled_from(TEXTS)
any_event = st.one_of(
    st.builds(ev.CallStarted, some_time),
    st.builds(ev.SpeechStarted, some_time, some_id, some_time),
    st.builds(
        ev.SpeechPaused, some_time, some_id, some_id, some_time, some_time, st.just(Prosody()), st.sampled_from([0.0, 1.0])
    ),
    st.builds(ev.SpeechResumed, some_time, some_id),
    st.builds(ev.OverlapHeard, some_time, some_id, st.floats(0, 500), st.floats(0, 100)),
    st.builds(ev.SilenceReached, some_time, some_id, some_id),
    st.builds(ev.Endpoint, some_time, some_id, some_time),
    st.builds(ev.FinalTranscript, some_time, some_id, some_text, some_id, st.sampled_from([None, ev.Refusal("r", "No.")])),
    st.builds(ev.Transcript, some_time, some_id, some_text, some_text),
    st.builds(ev.ContextFound, some_time, some_id, some_text.map(chunks)),
    st.builds(ev.TextDelta, some_time, some_id, some_text),
    st.builds(
        ev.ToolCallRequested, some_time, some_id, st.sampled_from("ab"), st.sampled_from([*TOOLS, END, *MOVES]), st.just("{}")
    ),
    st.builds(ev.ToolPredicted, some_time, some_id, st.just("find"), st.sampled_from(["{}", "[", "null"])),
    st.builds(ev.SpeculativeToolFinished, some_time, some_id, st.just("{}"), st.booleans()),
    st.builds(ev.GenerationDone, some_time, some_id),
    st.builds(ev.GenerationFailed, some_time, some_id, st.just("broken")),
    st.builds(ev.OutputBlocked, some_time, some_id, st.just("cards"), st.just("No.")),
    st.builds(ev.ToolFinished, some_time, some_id, st.sampled_from("ab"), st.sampled_from(OUTPUTS), st.booleans()),
    st.builds(ev.ClauseAudio, some_time, some_id, st.integers(-1, 4), st.floats(0, 500), st.just(())),
    st.builds(ev.ClauseFailed, some_time, some_id, st.integers(-1, 4), st.just("broken")),
    st.builds(ev.Played, some_time, some_id, st.integers(-1, 4), st.floats(0, 500)),
    st.builds(ev.PlayoutStopped, some_time, some_id, st.integers(-1, 4), st.floats(0, 500)),
    st.builds(
        ev.TimerFired, some_time, st.sampled_from(["silence", "final", "reply", "overlap", "go_on", "filler", "call_limit", "?"])
    ),
    st.builds(ev.Summarised, some_time, some_text, st.integers(0, 2)),
    st.builds(ev.InstructionsChanged, some_time, some_text),
    st.builds(ev.TextReceived, some_time, some_text),
    st.builds(ev.ReplyRequested, some_time),
    st.builds(ev.ReplyCancelled, some_time),
    st.builds(ev.LastWords, some_time, st.just("Call back."), st.just("left")),
    st.builds(ev.Announce, some_time, st.just("It is recorded.")),
    st.builds(ev.PersonRequested, some_time),
    st.builds(ev.TransferFailed, some_time),
    st.builds(ev.TransferRequested, some_time, st.just("desk")),
    st.builds(ev.EndRequested, some_time, st.just("done")),
    st.builds(ev.ProgressMade, some_time, some_id, st.sampled_from("ab"), st.just("Still looking."), st.sampled_from([-1, 1])),
    st.builds(ev.CallStateKept, some_time, st.just("{}")),
    st.builds(ev.HangUp, some_time, st.just("hangup")),
)


def handoffs(script: list[tuple[str, str]]) -> World:
    """A call between two agents that hand it off to each other whenever a lookup ends."""
    steps = {"ask": StepRule("", (), (TransitionRule("away", after="find"),)), "away": StepRule(handoff="other")}
    own = Rules(language="en", instructions="One.", phrases=Phrases(handoff="One moment.", fillers=()), tools=TOOLS, steps=steps)
    other = replace(own, instructions="Two.", phrases=Phrases(fillers=()), steps=OTHER_GRAPH)
    world = World(replace(own, agents={"own": own, "other": other}))
    world.begin()
    for move, text in script:
        MOVES[move](world, text)
    return come_to_rest(world)


handoff_moves = st.sampled_from([*MOVES, *["find_and_end"] * 30, *["summary_comes"] * 10])


@given(st.lists(st.tuples(handoff_moves, st.sampled_from(TEXTS)), max_size=40))
@settings(max_examples=300, deadline=None)
def test_agents_that_hand_off_to_each_other_speak_one_after_the_other(script: list[tuple[str, str]]) -> None:
    world = handoffs(script)
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    while world.drops:
        world.settle()
    assert [notice.reply_id for notice in world.beginnings()] == [notice.reply_id for notice in world.endings()]
    now, live = "One.", 0
    for action in world.actions:
        if isinstance(action, act.AgentChanged):
            assert not live
            now = "Two." if action.agent == "other" else "One."
        elif isinstance(action, act.ReplyStarted):
            live = action.reply_id
        elif isinstance(action, act.ReplyEnded):
            live = 0
        elif isinstance(action, act.Generate) and "instructions" not in dict(script):
            assert action.messages[0].content.startswith(now)


def decisions(events: list[ev.Event], protected: tuple[str, ...]) -> list[tuple[act.Action, ...]]:
    own = Rules(
        language="en",
        phrases=Phrases(greeting="Hello.", handoff="One moment.", fillers=FILLERS, protected=protected),
        tools={**TOOLS, END: ToolRule(ends_call=True), **dict.fromkeys(WALKING, ToolRule("idempotent"))},
        steps=GRAPH,
        transfers=True,
        manners=MANNERS["duck"],
    )
    other = replace(own, language="de", steps=OTHER_GRAPH, phrases=Phrases())
    state = machine.start(replace(own, agents={"own": own, "other": other}))
    taken: list[tuple[act.Action, ...]] = []
    for event in [ev.CallStarted(0.0), *events]:
        state, actions = machine.step(state, event)
        assert state.reply is None or state.replies.cancelling is None
        assert state.reply is None or state.reply.voice == "full" or not state.reply.assumed_text
        assert state.reply is None or state.phase not in (Phase.NEW, Phase.IDLE, Phase.ENDED)
        assert state.reply is None or not state.reply.assumed_text or state.phase in (Phase.HEARING, Phase.FINALISING)
        taken.append(actions)
    return taken


@given(st.lists(any_event, max_size=80), st.sampled_from([(), ("greeting", "farewell", "transfer")]))
@settings(max_examples=500, deadline=None)
def test_no_order_of_events_breaks_the_engine_and_the_same_order_gives_the_same_decisions(
    events: list[ev.Event], protected: tuple[str, ...]
) -> None:
    assert decisions(events, protected) == decisions(events, protected)
