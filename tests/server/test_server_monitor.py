"""The operator's view of a server: who may see it, what stands in it, and that it stays bounded."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes import MakeService
from tests.loopback import on_loopback
from tests.reports.measured import turns
from tests.store.calls import keep_call
from voiceagent.agent_service import shown_caller
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import LegKind, Stage
from voiceagent.resources import default_budgets_file
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls.monitors import CallFeeds, CallStatus
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.server_monitor import MAX_LIVE, Monitored, ServerMonitorPart
from voiceagent.server.monitoring.active_alerts import ActiveAlerts
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.recent_turns import MAX_MEASURED, RecentTurns
from voiceagent.settings.agent import AgentConfig, RecordSettings
from voiceagent.store.call_events import CallEvent
from voiceagent.store.database import StoreAddress, local_store
from voiceagent.store.personal_data import PersonalKind
from voiceagent.tools.call_context import CallOrigin

BUDGETS = load_budgets(default_budgets_file())
PATH = "/v1/voiceagent/monitor"


@asynccontextmanager
async def serving(
    make_service: MakeService, feeds: CallFeeds, store: StoreAddress | None = None, **keys: Any
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    metrics = Metrics()
    monitored = Monitored(lambda: "Demo", "embedded", lambda leg: BUDGETS.of("embedded", leg), feeds, metrics, store)
    app = make_app(make_service(**keys, metrics=metrics, parts=(ServerMonitorPart(monitored),)))
    async with on_loopback(app) as url, aiohttp.ClientSession() as session:
        await app[READINESS].wait()
        yield session, f"{url}{PATH}"


async def found(session: aiohttp.ClientSession, url: str, key: str = "any") -> dict[str, Any]:
    async with session.get(url, headers={"Authorization": f"Bearer {key}"}) as response:
        assert response.status == 200, await response.text()
        return dict(await response.json())


async def test_an_operator_and_a_monitor_see_it_and_a_client_does_not(make_service: MakeService) -> None:
    keys = KeyRing(("client-key-1",), ("operator-key-1",), monitor_keys=("monitor-key-1",))
    async with serving(make_service, CallFeeds(lambda queue: None), keys=keys) as (session, url):
        assert (await found(session, url, "monitor-key-1"))["may_read"] is True
        assert (await found(session, url, "operator-key-1"))["may_read"] is False, "an operator may not read what is said"
        for key, status, code in (("client-key-1", 403, "monitor_only"), ("no-key-1", 401, "invalid_api_key")):
            async with session.get(url, headers={"Authorization": f"Bearer {key}"}) as response:
                assert (response.status, (await response.json())["error"]["code"]) == (status, code)


async def test_it_lists_the_newest_calls_and_says_how_many_there_are(make_service: MakeService, tmp_path: Path) -> None:
    keep_call(local_store(tmp_path), "rtc_kept")
    feeds = CallFeeds(lambda queue: None)
    for number in range(MAX_LIVE + 5):
        feeds.begin(f"rtc_{number}", CallStatus("+49 30 1", "de")).publish(
            [CallEvent(1, "call.started", 0.0, {"leg": "telephone", "agent": "Desk", "profile": "embedded", "started": 1000.0})]
        )
    async with serving(make_service, feeds, local_store(tmp_path)) as (session, url):
        seen = await found(session, url)
    assert (seen["running"], len(seen["calls"])) == (MAX_LIVE + 5, MAX_LIVE)
    first = seen["calls"][0]
    assert (first["id"], first["caller"], first["language"]) == (f"rtc_{MAX_LIVE + 4}", "+49 30 1", "de")
    assert (first["state"], first["may_end"]) == ("listening", False)
    assert [call["id"] for call in seen["ended"]] == ["rtc_kept"]


async def test_a_stream_sends_it_again_when_a_call_has_begun(make_service: MakeService) -> None:
    feeds = CallFeeds(lambda queue: None)
    async with serving(make_service, feeds) as (session, url):
        headers = {"Accept": "text/event-stream", "Authorization": "Bearer any"}
        async with session.get(url, headers=headers) as response:
            first = json.loads((await response.content.readuntil(b"\n\n")).removeprefix(b"data: "))
            feeds.begin("rtc_1")
            while True:
                later = json.loads((await response.content.readuntil(b"\n\n")).removeprefix(b"data: "))
                if later.get("calls"):
                    break
        assert (first["calls"], first["ended"]) == ([], None)
        assert [call["id"] for call in later["calls"]] == ["rtc_1"]


async def test_the_command_of_the_page_prints_it(make_service: MakeService) -> None:
    page = (Path(__file__).parents[2] / "docs" / "monitor.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"```sh\n(curl .*?)```", page, re.DOTALL)
    async with serving(make_service, CallFeeds(lambda queue: None), keys=KeyRing(("client-key-1",))) as (_, url):
        run = await asyncio.create_subprocess_shell(
            command.replace("http://127.0.0.1:8080", url.removesuffix(PATH)),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "KEY": "client-key-1"},
        )
        out, _ = await run.communicate()
    assert (run.returncode, json.loads(out)["may_read"]) == (0, True), "the only key has every right"


def test_the_state_of_a_call_follows_its_events() -> None:
    status, seen = CallStatus(), []
    events: tuple[tuple[str, dict[str, Any]], ...] = (
        ("call.started", {"leg": "webrtc", "agent": "Demo", "profile": "cpu", "started": 5.0}),
        ("agent.started", {"reply": 1, "turn": 0}),
        ("agent.speaking", {"reply": 1}),
        ("caller.started", {"utterance": 1}),
        ("caller.stopped", {"utterance": 1}),
        ("agent.said", {"reply": 1}),
        ("agent.started", {"reply": 2, "turn": 1}),
        ("step.changed", {"step": "slot"}),
        ("connection.lost", {}),
        ("connection.resumed", {}),
        ("turn.measured", {"voice_to_voice_ms": 412.0}),
        ("agent.said", {"reply": 2}),
        ("handoff", {"agent": "Billing"}),
    )
    for number, (name, given) in enumerate(events, start=1):
        status.take(CallEvent(number, name, 100.0 * number, given))
        seen.append(status.state)
    assert seen[:6] == ["listening", "thinking", "speaking", "hearing", "speaking", "listening"]
    assert seen[6:] == ["thinking", "thinking", "lost", "thinking", "thinking", "listening", "listening"]
    assert (status.turns, status.voice_to_voice_ms, status.changed_ms) == (1, 412.0, 1200.0)
    assert (status.agent, status.step) == ("Billing", "")


@pytest.mark.parametrize(("redact", "shown"), [((), "+49 30 1234567"), (("phone",), "[phone]"), (("email",), "+49 30 1234567")])
def test_a_caller_is_shown_as_the_operator_keeps_numbers(redact: tuple[PersonalKind, ...], shown: str) -> None:
    agent = AgentConfig(records=RecordSettings(keep="transcripts", redact=redact))
    assert shown_caller(CallOrigin("+49 30 1234567", "+49 30 7654321"), agent) == shown
    assert shown_caller(CallOrigin(), agent) == "", "a browser has no number"


def test_shares_over_budget_are_counted_in_windows() -> None:
    now_s = 0.0
    recent = RecentTurns(lambda: now_s)
    for place, report in enumerate(turns(3 * MAX_MEASURED, 1)):
        now_s = 10.0 * place
        recent.add(report, [Stage.TOOL] if place % 4 == 0 else [])
    five_minutes, hour, all_of_them = recent.shares()
    assert (five_minutes.turns, hour.turns, all_of_them.turns) == (30, 360, 3 * MAX_MEASURED)
    assert (hour.over, all_of_them.over) == (90, 375)
    now_s += 3600.0
    assert [share.turns for share in recent.shares()] == [0, 0, 3 * MAX_MEASURED]


def test_the_percentiles_are_those_of_the_newest_turns_of_each_leg() -> None:
    recent = RecentTurns()
    for report in (*turns(2 * MAX_MEASURED, 1), *turns(9, 2, leg=LegKind.TELEPHONE)):
        recent.add(report, [])
    found = recent.stages(lambda leg: BUDGETS.of("embedded", leg))
    whole = {leg: next(one for one in stages if one.stage is Stage.VOICE_TO_VOICE) for leg, stages in found.items()}
    assert {leg: one.measured.count for leg, one in whole.items() if one.measured} == {"webrtc": MAX_MEASURED, "telephone": 9}


def test_alerts_come_with_what_they_tell_of_and_the_grave_ones_first() -> None:
    metrics = Metrics()
    alerts = ActiveAlerts(metrics)
    assert alerts.now() == []
    metrics.queue_dropped("monitors")
    for _ in range(4):
        metrics.calls_refused.add("server_full")
        metrics.guard_checks.add("input screen: late")
        metrics.guard_checks.add("input screen: answered")
    metrics.call_started()
    metrics.call_ended("failed")
    metrics.health.down["llm"] = "too_late"
    assert [alert.name for alert in alerts.now()] == [
        *("EngineDown", "CallsFail", "CallersRefused", "GuardsFail", "QueuesOverflow")
    ]
    assert ActiveAlerts(metrics).now()[0].name == "EngineDown"
    assert len(ActiveAlerts(metrics).now()) == 1, "what was before it looked is over"
