"""What a call on a telephone has besides: the agent knows who calls, has the tools of a telephone, and a caller may be put
through to a person."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import partial

import msgspec

from voiceagent.call import Call
from voiceagent.call.observer import CallObserver
from voiceagent.call.scope import AgentParts
from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import HumanSettings
from voiceagent.telephone.features.briefing import AgentHandover
from voiceagent.telephone.features.call_results import CallResults, ResultOf
from voiceagent.telephone.features.collect_digits import CollectDigits
from voiceagent.telephone.features.person_transfer import PuttingThrough
from voiceagent.telephone.features.press_keys import Press, PressKeys
from voiceagent.telephone.features.recording import Recording
from voiceagent.telephone.features.recording_folder import Recordings
from voiceagent.telephone.features.screening import Screening
from voiceagent.telephone.features.stop_recording import StopRecording
from voiceagent.telephone.features.transfer import Transfer
from voiceagent.telephone.handover import CALLER_HUNG_UP, TRANSFERRED
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.sip.sip_leg import GatewayLeg
from voiceagent.telephone.sip.sip_transfers import longest_transfer_s
from voiceagent.telephone.streams.json_stream import MAX_TEXT
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.tools.tool import Tool, ToolError
from voiceagent.turn_taking.language import Language
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.phone_words import PhoneWords

PhoneLeg = StreamLeg | GatewayLeg
"""By vendors' streams and Asterisk, or by SIP."""
UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")
"""Unicode's categories of signs that control, or that are none."""


def screening_of(agent: AgentConfig, leg: Leg, recording: Recording | None = None) -> Screening | None:
    """What finds out whether a machine has answered, where we called and the agent's settings want to know."""
    if not isinstance(leg, PhoneLeg) or not leg.facts.outbound or agent.telephony.voicemail.action == "none":
        return None
    return Screening(recording or leg, agent)


def result_of(results: CallResults, call_id: str, leg: Leg, recording: Recording | None = None) -> list[CallObserver]:
    """Who tells how a telephone call went, where somebody is to be told."""
    if not isinstance(leg, PhoneLeg) or not results.settings.url:
        return []
    result = ResultOf(results, call_id, leg.facts, recording)
    if isinstance(leg, GatewayLeg):
        result.transfer = lambda: CALLER_HUNG_UP if leg.has_hung_up_waiting else ""
    return [result]


def hand_over_by(call: Call, parts: AgentParts, leg: Leg) -> None:
    """Have the leg's caller handed over, where that can be, by the call's agent."""
    if isinstance(leg, GatewayLeg):
        leg.handover = AgentHandover(call, parts)


def recording_of(recordings: Recordings, agent: AgentConfig, leg: Leg) -> Recording | None:
    """What records a telephone call, where calls are recorded and the caller has not refused that."""
    if not isinstance(leg, PhoneLeg) or leg.facts.refuses_recording:
        return None
    recording = recordings.of(leg, agent, _language(agent).sayings.recording_deleted)
    settings = agent.telephony.recording
    if recording is not None and settings.may_refuse:
        leg.client.keys.commands[settings.refuse_key] = recording.refuse
        recording.on_refused = partial(_remember_refusal, leg)
    return recording


def _remember_refusal(leg: PhoneLeg) -> None:
    leg.facts = replace(leg.facts, refuses_recording=True)


def putting_through_of(agent: AgentConfig, leg: Leg) -> PuttingThrough | None:
    """What puts the caller through to somebody, where the leg can."""
    if not isinstance(leg, PhoneLeg) or leg.put_through is None:
        return None
    human = HumanSettings() if leg.facts.outbound else agent.telephony.human
    putting_through = PuttingThrough(leg.put_through, human.transfer)
    if human.transfer and human.key:
        leg.client.keys.commands[human.key] = putting_through.request
    return putting_through


def phone_tools(
    agent: AgentConfig, leg: Leg, putting_through: PuttingThrough | None = None, recording: Recording | None = None
) -> tuple[Tool, ...]:
    """The tools that a leg brings, as far as the agent is to have them."""
    tools: list[Tool] = []
    if isinstance(leg, PhoneLeg) and agent.telephony.collect_digits:
        tools.append(CollectDigits(leg.client.keys.collect, _words(agent)))
    if isinstance(leg, StreamLeg) and putting_through is not None:
        tools.append(_transfer_of_stream(agent, putting_through))
    if isinstance(leg, GatewayLeg) and (tool := _transfer_of_line(agent, leg)) is not None:
        tools.append(tool)
    if isinstance(leg, PhoneLeg) and (press := _press_of(agent, leg)) is not None:
        tools.append(PressKeys(press, _words(agent).press_keys))
    if recording is not None and agent.telephony.recording.may_refuse:
        deleted = _language(agent).sayings.recording_deleted
        tools.append(StopRecording(partial(recording.refuse, says=False), _words(agent).stop_recording, deleted))
    return tuple(tools)


def _transfer_of_stream(agent: AgentConfig, putting_through: PuttingThrough) -> Transfer:
    """The stream ends with a transfer, so the agent says first that it comes. The vendor says later how it went."""
    words = _words(agent)

    async def after_reply(name: str) -> str:
        putting_through.after_reply(name)
        return words.transferring

    return Transfer(list(agent.telephony.transfers), words.transfer, after_reply)


def _transfer_of_line(agent: AgentConfig, leg: GatewayLeg) -> Transfer | None:
    """A SIP line tells how a transfer goes, and the caller stays with the agent until somebody has taken the call."""
    sip, put_through = agent.telephony.sip_line, leg.put_through
    if sip is None or put_through is None:
        return None

    async def wait(name: str) -> str:
        if why := await put_through(name):
            raise ToolError(f"The transfer to {name} failed: {why.rstrip('.')}. The caller is still with you.")
        return TRANSFERRED

    connecting = _language(agent).handover.connecting
    return Transfer(list(sip.transfers), _words(agent).transfer, wait, connecting, longest_transfer_s(sip))


def _press_of(agent: AgentConfig, leg: PhoneLeg) -> Press | None:
    """What presses keys, where the agent may."""
    if isinstance(leg, StreamLeg):
        return leg.press if agent.telephony.send_keys and leg.presses_keys else None
    sip = agent.telephony.sip_line

    async def press(keys: str) -> None:
        leg.press(keys)

    return press if sip is not None and sip.send_keys else None


def on_telephone(agent: AgentConfig, leg: Leg) -> AgentConfig:
    """The agent as it takes a leg's call: with who calls behind its instructions, and without what this leg cannot do."""
    if not isinstance(leg, PhoneLeg):
        return _without_person(agent)
    agent = _with_caller(agent, leg.facts)
    if leg.facts.comes_back:
        failed = agent.phrases.transfer_failed
        greeting = _language(agent).sayings.transfer_failed if failed is None else failed
        agent = msgspec.structs.replace(agent, phrases=msgspec.structs.replace(agent.phrases, greeting=greeting))
    if agent.telephony.recording.folder and not leg.facts.refuses_recording:
        greeting = f"{agent.telephony.recording.announcement} {agent.phrases.greeting}".strip()
        agent = msgspec.structs.replace(agent, phrases=msgspec.structs.replace(agent.phrases, greeting=greeting))
    return agent if leg.put_through is not None and not leg.facts.outbound else _without_person(agent)


def _with_caller(agent: AgentConfig, facts: CallFacts) -> AgentConfig:
    """With who calls, and what the operator had the vendor pass on, behind the instructions: as data that gives no orders."""
    who = {"caller": facts.caller, "called": facts.called}
    told = {**who, **facts.parameters, **who}  # a parameter may come from the caller's own SIP headers
    known = {_harmless(name): _harmless(value) for name, value in told.items() if value}
    if not known:
        return agent
    data = msgspec.json.encode(known).decode().replace("<", "\\u003c").replace(">", "\\u003e")
    instructions = f"{agent.instructions}\n\n{_words(agent).call_facts}\n{data}"
    return msgspec.structs.replace(agent, instructions=instructions)


def _harmless(value: str) -> str:
    """In one line, without signs that are not seen and short: a caller chooses the name that their telephone shows."""
    shown = "".join(sign for sign in " ".join(value.split()) if unicodedata.category(sign) not in UNSEEN)
    return shown[:MAX_TEXT]


def _without_person(agent: AgentConfig) -> AgentConfig:
    telephony = msgspec.structs.replace(agent.telephony, human=HumanSettings())
    return msgspec.structs.replace(agent, telephony=telephony)


def _words(agent: AgentConfig) -> PhoneWords:
    return _language(agent).phone


def _language(agent: AgentConfig) -> Language:
    return language(agent.spoken_languages[0])
