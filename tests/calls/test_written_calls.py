"""A server whose model writes its tool calls into the text as well, in a whole call over real WebRTC."""

from __future__ import annotations

from pathlib import Path

from tests.calls.test_slow_models import answered, call, type_text
from tests.llm.scripted_server import Delta, Script

STRUCTURED: Delta = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "save_answer", "arguments": '{"q": 1}'}}]}
WRITTEN = 'saveAnswer({"q": 1})'
SCRIPTS: dict[str, Script] = {
    "beside": [{"content": f"Let me see. {WRITTEN}", **STRUCTURED}],
    "before": [*({"content": sign} for sign in f"Let me see. {WRITTEN}"), STRUCTURED],
    "alone": [*({"content": sign} for sign in f"Let me see. functions.{WRITTEN}")],
    "fenced": [{"content": 'Let me see.\n```json\n{"q": 1}\n```'}, STRUCTURED],
}


async def test_a_tool_call_written_as_text_is_never_heard_seen_or_remembered_and_runs_once(tmp_path: Path) -> None:
    def answer(messages: list[Delta]) -> Script:
        last = messages[-1]
        return [{"content": "I will save (again) what you say."}] if last["role"] == "tool" else SCRIPTS[last["content"]]

    async with call(tmp_path, answer, "reply_filler_after_ms: 0") as (model, dialogue):
        for name in SCRIPTS:
            since = type_text(dialogue, name)
            assert await answered(dialogue, since) == "Let me see. I will save (again) what you say.", name
            events = dialogue.events_since(since)
            runs = [event.data for event in events if event.type == "voiceagent.tool" and event.data["status"] == "completed"]
            assert [run["name"] for run in runs] == ["save_answer"], name
            assert not any("saveAnswer" in str(event.data) or "json" in str(event.data) for event in events), name
        assert "saveAnswer" not in str(model.requests[-1]["messages"])
