"""The demo's tools return exactly what the bundled language model was trained to speak about."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from models.train.vocabulary import CITIES
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.tools.toolset import ToolSet


@pytest.fixture
async def demo() -> AsyncIterator[ToolSet]:
    agent = load_agent(demo_agent_file())
    tools = ToolSet.from_config(agent.tools, agent.base_dir)
    yield tools
    for kind in ("table", "appointment"):
        await tools.run("cancel_booking", json.dumps({"kind": kind}), 5)
    await tools.run("cancel_timer", "{}", 5)
    await tools.close()


async def said(tools: ToolSet, tool: str, /, **arguments: Any) -> dict[str, Any]:
    outcome = await tools.run(tool, json.dumps(arguments), 5)
    result: dict[str, Any] = json.loads(outcome.output)
    assert outcome.ok == ("error" not in result)
    return result


def test_the_agent_offers_the_domain_in_order() -> None:
    agent = load_agent(demo_agent_file())
    assert ToolSet.from_config(agent.tools, agent.base_dir).names == (
        "get_time", "get_date", "get_weather", "book_table", "book_appointment", "change_booking", "cancel_booking",
        "order_status", "calculate", "set_timer", "cancel_timer",
    )  # fmt: skip


async def test_the_time_is_known_in_every_city_of_the_domain(demo: ToolSet) -> None:
    for city in CITIES:
        result = await said(demo, "get_time", city=city)
        assert list(result) == ["time", "city"]
        assert result["city"] == city
        assert re.fullmatch(r"1?\d:[0-5]\d [AP]M", result["time"])
    assert list(await said(demo, "get_time")) == ["time"]
    assert await said(demo, "get_time", city="Atlantis") == {"error": "I don't know the time in Atlantis."}


async def test_the_date_is_a_day_and_a_date(demo: ToolSet) -> None:
    assert list(await said(demo, "get_date")) == ["day", "date"]


async def test_the_weather_is_made_up_but_always_the_same(demo: ToolSet) -> None:
    result = await said(demo, "get_weather", city="Oslo", day="tomorrow")
    assert list(result) == ["city", "day", "weather", "temperature"]
    assert result == await said(demo, "get_weather", city="Oslo", day="tomorrow")
    assert (await said(demo, "get_weather"))["day"] == "today"
    for city in CITIES:
        weather = await said(demo, "get_weather", city=city)
        assert 0 <= weather["temperature"] <= 32
        assert weather["weather"] != "snowy" or weather["temperature"] < 3


async def test_a_table_is_booked_changed_and_cancelled(demo: ToolSet) -> None:
    booked = {"booked": "table", "people": 4, "day": "Friday", "time": "7:30 PM", "name": "Anna"}
    assert await said(demo, "book_table", people=4, day="Friday", time="7:30 PM", name="Anna") == booked
    changed = {"changed": "table", "people": 5, "day": "Friday", "time": "8 PM", "name": "Anna"}
    assert await said(demo, "change_booking", kind="table", people=5, time="8 PM") == changed
    assert await said(demo, "cancel_booking", kind="table") == {"cancelled": "table", "day": "Friday", "time": "8 PM"}
    assert await said(demo, "cancel_booking", kind="table") == {"error": "There is no table booking."}
    assert await said(demo, "book_table", people=21, day="Friday", time="noon") == {"error": "Tables are for 1 to 20 people."}


async def test_an_appointment_is_called_by_its_service(demo: ToolSet) -> None:
    assert await said(demo, "change_booking", kind="appointment", day="Monday") == {"error": "There is no appointment."}
    booked = {"booked": "haircut", "day": "May third", "time": "noon"}
    assert await said(demo, "book_appointment", service="haircut", day="May third", time="noon") == booked
    assert await said(demo, "change_booking", kind="appointment") == {"error": "Please say what to change."}
    changed = {"changed": "haircut", "day": "Monday", "time": "noon"}
    assert await said(demo, "change_booking", kind="appointment", day="Monday") == changed
    assert await said(demo, "cancel_booking", kind="appointment") == {"cancelled": "haircut", "day": "Monday", "time": "noon"}


async def test_orders_are_told_digit_by_digit(demo: ToolSet) -> None:
    seen = set()
    for number in range(48200, 48300):
        result = await said(demo, "order_status", order_number=str(number))
        assert result["order_number"] == " ".join(str(number))
        assert ("arrives" in result) == (result["status"] in ("shipped", "delayed", "out for delivery"))
        seen.add(result["status"])
    assert len(seen) == 6
    assert await said(demo, "order_status", order_number="12") == {"error": "An order number has 4 to 6 digits."}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("12 + 30", {"expression": "12 plus 30", "result": 42}),
        ("10 / 3", {"expression": "10 divided by 3", "result": 3.33}),
        ("9 * 9", {"expression": "9 times 9", "result": 81}),
        ("7 - 10", {"expression": "7 minus 10", "result": -3}),
        ("1 / 0", {"error": "I can't divide by zero."}),
        ("2 ** 99", {"error": "I can't calculate that."}),
        ("__import__('os')", {"error": "I can't calculate that."}),
        ("(" * 500, {"error": "I can't calculate that."}),
        ("999999999 * 999999999", {"error": "I can't calculate that."}),
    ],
)
async def test_sums_are_read_without_eval(demo: ToolSet, expression: str, expected: dict[str, Any]) -> None:
    assert await said(demo, "calculate", expression=expression) == expected


async def test_there_is_one_timer(demo: ToolSet) -> None:
    assert await said(demo, "cancel_timer") == {"error": "No timer is running."}
    assert await said(demo, "set_timer", minutes=10) == {"timer": "set", "minutes": 10}
    assert await said(demo, "set_timer", minutes=0) == {"error": "A timer runs for 1 to 1440 minutes."}
    assert await said(demo, "cancel_timer") == {"timer": "cancelled", "minutes": 10}
