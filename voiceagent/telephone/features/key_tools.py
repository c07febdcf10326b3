"""The tools of a telephone's keys: the agent asks for a number to be keyed in, and presses keys itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from voiceagent.call.observer import RunningCall
from voiceagent.conversation.actions import Action, ReplyStarted, ValueCollected
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.telephone.keys import MAX_KEYS, PAUSE_S, TERMINATOR, KeyRule
from voiceagent.telephone.phone_leg import PhoneLeg
from voiceagent.telephone.sip.sip_leg import SipLeg
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.tools.schemas import ArgumentSchema, SchemaTool
from voiceagent.tools.tool import RunScope, Tool, ToolError, ToolPolicy
from voiceagent.turn_taking.language import PhoneWords
from voiceagent.turn_taking.languages import language

COLLECT_DIGITS, PRESS_KEYS = "collect_digits", "press_keys"
PATTERN = "^[0-9*#w]{1,32}$"
SHORTEST_S, LONGEST_S = 0.5, 30.0
"""Limits of the pause that ends a number: nobody keys faster, and nobody waits longer."""
VALUE_PAUSE_S = 4.0
"""The pause that ends a value: cards are read off in groups."""
PARAMETERS = {
    "type": "object",
    "properties": {
        "max_digits": {"type": "integer", "minimum": 1, "maximum": MAX_KEYS},
        "terminator": {"type": "string", "enum": ["#", "*", ""]},
        "timeout_between_digits_s": {"type": "number", "minimum": SHORTEST_S, "maximum": LONGEST_S},
    },
}

Press = Callable[[str], Awaitable[None]]
"""Raises ValueError for what is no key, MediaError or ConnectionError where nothing goes out."""


class DigitsFeature(PhoneFeature):
    """Tells the call's clients of each key, and lets the agent ask for a number to be keyed in, where the settings do."""

    def __init__(self, leg: PhoneLeg, agent: AgentConfig) -> None:
        self._leg = leg
        self._agent = agent
        self._asked: KeyRule | None = None
        """The rule for the value that is being collected."""

    def tools(self) -> Sequence[Tool]:
        """The tool `collect_digits`."""
        words = language(self._agent.spoken_languages[0]).phone
        return (CollectDigits(self._leg.collect_keys, words),) if self._agent.telephony.collect_digits else ()

    def begin(self, call: RunningCall) -> None:
        """Tell of keys from now on."""
        self._leg.client.keys.on_press = call.tell_key
        self._leg.client.keys.hide = call.hide_card

    def carry_out(self, action: Action) -> None:
        """Each number that is asked for ends by a rule of its own while a value is collected that may be keyed in."""
        if isinstance(action, ValueCollected):
            is_asked = action.most_keys and action.stage in ("collecting", "heard")
            self._asked = KeyRule(max_keys=action.most_keys, pause_s=VALUE_PAUSE_S) if is_asked else None
        if isinstance(action, ValueCollected | ReplyStarted) and self._asked is not None:
            self._leg.collect_keys(self._asked)


class PressingFeature(PhoneFeature):
    """Lets the agent press keys, where the settings do and the leg can."""

    def __init__(self, leg: PhoneLeg, agent: AgentConfig) -> None:
        self._leg = leg
        self._agent = agent

    def tools(self) -> Sequence[Tool]:
        """The tool `press_keys`."""
        press, words = self._press_of(self._leg), language(self._agent.spoken_languages[0]).phone
        return (PressKeys(press, words.press_keys),) if press is not None else ()

    def _press_of(self, leg: PhoneLeg) -> Press | None:
        telephony = self._agent.telephony
        if isinstance(leg, StreamLeg):
            return leg.press if telephony.send_keys and leg.presses_keys else None
        if not isinstance(leg, SipLeg) or telephony.sip_line is None or not telephony.sip_line.send_keys:
            return None
        line = leg

        async def press(keys: str) -> None:
            line.press(keys)

        return press


class CollectDigits(SchemaTool):
    """The agent asks for a number to be keyed in and says how it ends. The number comes as the caller's next words, so the caller
    may also say it, or something else."""

    def __init__(self, collect: Callable[[KeyRule], None], words: PhoneWords) -> None:
        """`collect` sets the keypad's rule for the next number."""
        super().__init__(COLLECT_DIGITS, words.collect_digits, ToolPolicy("idempotent"), ArgumentSchema(PARAMETERS))
        self._collect = collect
        self._collecting = words.collecting

    async def run(self, given: JsonObject, scope: RunScope) -> object:
        """Set the keypad."""
        most = given.get("max_digits") or MAX_KEYS
        pause_s = given.get("timeout_between_digits_s") or PAUSE_S
        self._collect(KeyRule(given.get("terminator", TERMINATOR), most, pause_s))
        return {"status": self._collecting}


class PressKeys(SchemaTool):
    """The agent presses keys of the telephone, for a menu of somebody whom it called."""

    def __init__(self, press: Press, description: str) -> None:
        keys = {"type": "string", "pattern": PATTERN}
        arguments = ArgumentSchema({"type": "object", "properties": {"keys": keys}, "required": ["keys"]})
        super().__init__(PRESS_KEYS, description, ToolPolicy("external"), arguments)
        self._press = press

    async def run(self, given: JsonObject, scope: RunScope) -> object:
        """Press them."""
        try:
            await self._press(str(given["keys"]))
        except (ValueError, MediaError, ConnectionError, TimeoutError) as error:
            raise ToolError(f"The keys were not pressed: {error or 'the call is gone'}.") from error
        return {"status": "pressed"}
