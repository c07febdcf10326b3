"""The wait for the language model while a reply is generated. Thoughts are signs of life. A long wait is bridged with fillers. A
sentence that has ended is said without the text behind it."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import events as ev
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.reply_lifecycle import (
    BRIDGE,
    FLOOR_IS_THE_AGENTS,
    RELEASE,
    REPLY,
    THINKING,
    speak,
)
from voiceagent.conversation.step import Step

AGAIN_MS = 8000.0
"""The wait from the first filler to the second. Each further one takes twice as long."""
LOOK_AGAIN_MS = 1000.0
"""When a filler was due while somebody spoke."""


def thought_generated(step: Step, event: ev.ThoughtGenerated) -> None:
    """The language model thinks. It is given up only after the time for thoughts, or when no more of them come."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.put(reply=replace(reply, tokens=reply.tokens + event.tokens))
    if reply.assumed_text:
        return
    step.set_timer(REPLY, step.state.rules.limits.reply_timeout_ms)
    if THINKING not in step.state.timers:
        step.set_timer(THINKING, step.state.rules.limits.thinking_timeout_ms)


def tool_call_begun(step: Step, event: ev.ToolCallBegun) -> None:
    """The language model writes a tool call, which may take long. The text before it is said meanwhile."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY, THINKING, RELEASE])
    reply, pieces = reply.with_text("", step.language, final=True)
    step.put(reply=reply)
    speak(step, reply, pieces)


def release(step: Step) -> None:
    """The text behind a sentence's end does not come. Say the sentence."""
    reply = step.state.reply
    if reply is not None and reply.generating:
        reply, pieces = reply.released(step.language)
        step.put(reply=reply)
        speak(step, reply, pieces)


def bridge_is_due(step: Step) -> None:
    """The caller has waited long for text. Say a filler, unless somebody speaks, and look again later."""
    reply = step.spoken()
    if reply is None or not (reply.generating or reply.tools_pending):
        return
    after_ms = step.state.rules.limits.reply_filler_after_ms
    if reply.text_ms and (left_ms := reply.text_ms + after_ms - step.at_ms) > 0:
        step.set_timer(BRIDGE, left_ms)
    elif step.state.phase not in FLOOR_IS_THE_AGENTS or not all(clause.over for clause in reply.clauses):
        step.set_timer(BRIDGE, LOOK_AGAIN_MS)
    elif say_filler(step, reply, step.sayings.fillers):
        step.set_timer(BRIDGE, AGAIN_MS * 2**reply.fillers)


def say_filler(step: Step, reply: Reply, lines: tuple[str, ...]) -> bool:
    """Say the next of the lines. Returns False if there is none."""
    if not lines:
        return False
    text = lines[step.state.replies.fillers_said % len(lines)]
    reply = reply.with_filler(text)
    step.put(reply=reply)
    step.put_replies(fillers_said=step.state.replies.fillers_said + 1)
    speak(step, reply, (text,))
    return True
