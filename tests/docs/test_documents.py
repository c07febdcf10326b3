"""What a user can set, call and read is in the documents, with the defaults that it really has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.deploy.test_monitoring import exported
from voiceagent.cli import COMMANDS
from voiceagent.latency.spans import Stage
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.servers.openai import OpenAiOptions
from voiceagent.llm.servers.vllm import VllmOptions
from voiceagent.models.registry import registry
from voiceagent.realtime.openai_realtime import CLIENT_EVENTS, SERVER_EVENTS
from voiceagent.realtime.support import support_page
from voiceagent.settings.agent import AgentConfig
from voiceagent.stt.engine import StreamOptions
from voiceagent.stt.gates import GateLimits
from voiceagent.stt.whisper import WhisperOptions
from voiceagent.tts.piper import PiperOptions

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("guard.output", "guard.input", "context", "tools", "options", "speech.lexicon", "speech.clips")
"""Settings of many parts, which have pages of their own."""
NO_SETTINGS = ("base_dir", "agents", "file")
OF_THE_AGENT = {field.name for field in msgspec.structs.fields(AgentConfig().llm)} | {"served_model"}
"""Options of a language model that agent.yaml sets as `llm`."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def settings(of: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of `agent.yaml` that holds one value, and its default."""
    for field in msgspec.structs.fields(of):
        key, value = f"{before}{field.name}", getattr(of, field.name)
        if key in (*ELSEWHERE, *NO_SETTINGS):
            continue
        if isinstance(value, msgspec.Struct):
            yield from settings(value, f"{key}.")
        else:
            yield key, value


def told() -> dict[str, str]:
    """Every key in the table of docs/agent.md, and the default that stands beside it."""
    found: dict[str, str] = {}
    for keys, default in re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", text_of("docs/agent.md"), re.MULTILINE):
        names = re.findall(r"`([^`]+)`", keys)
        defaults = default.split(", ") if len(names) > 1 else [default]
        for index, name in enumerate(names):
            whole = f"{names[0].rpartition('.')[0]}{name}" if name.startswith(".") else name
            found[whole] = defaults[min(index, len(defaults) - 1)].strip("`")
    return found


@pytest.mark.parametrize(("key", "default"), list(settings(AgentConfig())))
def test_every_setting_is_told_with_its_default(key: str, default: Any) -> None:
    stands = told()[key]
    if isinstance(default, bool):
        assert stands == str(default).lower()
    elif isinstance(default, int | float) and default:
        assert float(stands) == default


@pytest.mark.parametrize(
    "options", [StreamOptions, GateLimits, WhisperOptions, EmbeddedOptions, OpenAiOptions, VllmOptions, PiperOptions]
)
def test_every_option_of_an_engine_is_told(options: type[msgspec.Struct]) -> None:
    page = text_of("docs/models.md")
    names = {field.name for field in msgspec.structs.fields(options)} - OF_THE_AGENT
    assert not {name for name in names if not re.search(rf"`(stream\.)?{name}`", page)}


def test_every_metric_is_told() -> None:
    named = re.findall(r"`(voiceagent)?(_\w+)[`{]", text_of("docs/deploy.md"))
    exist = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"^voiceagent\w+", exported(), re.MULTILINE)}
    assert exist <= {f"voiceagent{name}" for _, name in named}


def test_every_variable_that_is_read_is_told() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "voiceagent").rglob("*.py"))
    assert set(re.findall(r"\bVOICEAGENT_[A-Z_]+[A-Z]", sources)) <= set(told())


def test_the_table_of_the_protocol_is_the_one_that_events_are_read_by() -> None:
    assert text_of("docs/realtime.md") == support_page(), "run: python -m voiceagent.realtime.support > docs/realtime.md"


def test_every_event_is_told() -> None:
    page = text_of("docs/protocol.md") + text_of("docs/realtime.md")
    for event in (*CLIENT_EVENTS, *SERVER_EVENTS.values()):
        family, _, last = event.rpartition(".")
        assert event in page or (f"`.{last}`" in page and family in page) or f"`{family}.*`" in page, event


def test_every_refusal_is_told() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "voiceagent").rglob("*.py"))
    codes = set(re.findall(r'Problem\(\s*\d{3},\s*"(\w+)"', sources)) | {"server_full", "memory_full"}
    assert len(codes) > 8
    assert {code for code in codes if f"`{code}`" not in text_of("docs/protocol.md")} == set()


def test_every_stage_command_and_profile_is_told() -> None:
    assert all(f"| `{stage.value}` |" in text_of("docs/latency.md") for stage in Stage)
    assert all(f"| `voiceagent {command}" in text_of("README.md") for command in COMMANDS)
    assert all(f"| `{profile}` |" in text_of("docs/models.md") for profile in registry().profiles)


def test_links_between_documents_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_file_that_the_architecture_page_names_is_there() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")))
    assert len(named) > 20
    assert {name for name in named if not (ROOT / "voiceagent" / name).exists() and not (ROOT / name).exists()} == set()


def test_the_readme_stays_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_every_file_that_the_glossary_names_is_there() -> None:
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text_of("docs/glossary.md")))
    assert len(named) > 30
    assert {name for name in named if not (ROOT / "voiceagent" / name).exists() and not (ROOT / name).exists()} == set()


def test_links_to_headings_lead_to_one() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#:]*\.md)?#([^)]+)\)", page.read_text(encoding="utf-8")):
            where = page.parent / target if target else page
            assert anchor in anchors(where.read_text(encoding="utf-8")), f"{page.name}: {target}#{anchor}"


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
