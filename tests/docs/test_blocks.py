"""Every fenced block of the documents is tried. Settings, scenarios and budgets are read as the program reads them; each
command's options are checked by its own parser; programs are run here or by the test that ELSEWHERE names. What is only looked at
stands in ONLY_TEXT, with the reason. The blocks of docs/tutorials are run whole by tests/real and tests/vllm."""

from __future__ import annotations

import ast
import asyncio
import configparser
import copy
import importlib
import inspect
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import click
import pytest
import yaml

from tests.docs.blocks import ROOT, Block, all_blocks
from voiceagent.cli import cli
from voiceagent.engines import OURS
from voiceagent.latency.budgets import load_budgets, parse_budgets
from voiceagent.models.registry import registry, with_own
from voiceagent.resources import default_budgets_file
from voiceagent.scenarios.scenario import load_scenarios
from voiceagent.settings.agent import load_agent

ELSEWHERE = {
    ("docs/api.md", "import asyncio"): "tests/calls/test_documented_client.py",
    ("docs/api.md", "from openai import OpenAI"): "tests/calls/test_documented_client.py",
    ("docs/guard.md", "# classifier.py: python classifier.py"): "tests/guard/test_screening.py",
    ("docs/protocol.md", "session = await RealtimeRunner(agent)"): "tests/sdks/test_openai_agents.py",
}
"""Programs that a test runs, by page and beginning."""
ONLY_TEXT = {
    ("docs/architecture.md", " packet"): "a drawing",
    ("docs/deploy.md", "the smaller of"): "a formula",
    ("docs/telephony-asterisk.md", "exten =>"): "Asterisk's; Asterisk does not run here",
    ("docs/telephony-sip.md", "exten =>"): "Asterisk's; Asterisk does not run here",
}
PROGRAMS_ELSEWHERE = {
    "apt-get": "changes the machine",
    "systemctl": "changes the machine",
    "kubectl": "needs a cluster",
    "helm": "needs a cluster; make test-helm renders the chart",
    "install": "changes the machine; make image-test puts the same files there",
    "runuser": "make image-test runs one",
    "python3": "makes an environment elsewhere, as make wheel-test does",
    "bash": "a script of the repository, whose tests are in tests/packaging",
    "docker": "needs a daemon",
    "pip": "changes the environment",
    "curl": "needs a server with a key",
    "vllm": "tests/vllm runs it",
    "ray": "another program; make test-cluster has it",
    "openssl": "another program",
    "redis-cli": "needs a Redis",
    "sh": "a script of the repository, whose tests are in tests/deploy",
    "export": "the shell's",
    "pre-commit": "a developer's tool",
}
"""Programs of commands that are not ours: why only their syntax is checked, and the files of ours that they name."""
INSIDE = {"- name: Someone": "scenarios:"}
"""Blocks that show a part of a file: what stands above it."""
LINE = {"account": "sip:agent@pbx.example.org", "gateway": "ws://127.0.0.1:8188"}
"""The line that settings of the telephone need; pages show it once."""
NAMES = {
    "CONTRIBUTING.md": ("pathlib.Path", "collections.abc.Mapping", "typing.Any", "voiceagent.tts.engine.TtsEngine"),
    "docs/api.md": ("pathlib.Path", "collections.abc.Mapping", "typing.Any", "voiceagent.tts.engine.TtsEngine"),
    "docs/agent.md": ("typing.Annotated",),
}
"""Names that fragments of a page use."""
BLOCKS = [block for block in all_blocks() if not block.page.startswith("docs/tutorials/")]


def of(*languages: str) -> list[Any]:
    return [pytest.param(block, id=str(block)) for block in BLOCKS if block.language in languages]


def named(block: Block, among: Mapping[tuple[str, str], str]) -> str:
    return next((why for (page, begins), why in among.items() if block.page == page and block.text.startswith(begins)), "")


def test_each_block_says_what_it_is_and_none_is_left_out() -> None:
    known = {"yaml", "python", "toml", "json", "sh", "ini", "js", "html", "mermaid", "text"}
    assert [str(block) for block in BLOCKS if block.language not in known] == [], "name the language behind the fence"
    assert [str(block) for block in BLOCKS if block.language == "text" and not named(block, ONLY_TEXT)] == []
    for page, begins in (*ELSEWHERE, *ONLY_TEXT):
        assert any(block.page == page and block.text.startswith(begins) for block in BLOCKS), (page, begins)
    for test in ELSEWHERE.values():
        assert (ROOT / test).exists(), test


@pytest.mark.parametrize("block", of("yaml"))
def test_settings_are_read_as_the_program_reads_them(block: Block, tmp_path: Path) -> None:
    for other in BLOCKS:
        if other.page == block.page and other.language == "yaml" and other.file:
            (tmp_path / Path(other.file).name).write_text(other.text, encoding="utf-8")
    file = tmp_path / (Path(block.file).name or "agent.yaml")
    file.write_text(whole(block), encoding="utf-8")
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    if "jobs" in data:
        for step in data["jobs"]["scenarios"]["steps"]:
            check_commands(step.get("run", ""))
    elif block.page == "docs/latency.md":
        shipped = load_budgets(default_budgets_file()).profiles
        if "embedded" in data:
            ours = yaml.safe_load(default_budgets_file().read_text(encoding="utf-8"))["embedded"]
            assert {stage: ours[stage] for stage in data["embedded"]} == data["embedded"]
        else:
            head = "" if "extends" in block.text else "desk:\n  extends: cpu\n"
            parse_budgets(head + block.text, str(block), shipped)
    elif "scenarios" in data:
        assert load_scenarios([file])
    elif "profiles" in data:
        with_own(registry(), file)
    elif "containers" not in data:  # Kubernetes' own
        phone = data.get("telephony", {})
        if "vendors" not in phone and {"transfers", "sip"} & set(phone):
            phone["sip"] = {**LINE, **phone.get("sip", {})}
            file.write_text(yaml.safe_dump(data), encoding="utf-8")
        load_agent(file)


def whole(block: Block) -> str:
    """The file that a block is a part of."""
    above = next((above for begins, above in INSIDE.items() if block.text.lstrip().startswith(begins)), "")
    if not above:
        return block.text
    text = block.text if block.text.startswith(" ") else "\n".join(f"  {line}" for line in block.text.split("\n"))
    return f"{above}\n{text}\n"


@pytest.mark.parametrize("block", of("python"))
def test_programs_run(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    if named(block, ELSEWHERE):
        compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return
    example = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", example)  # dataclasses look their module up
    namespace = example.__dict__
    for path in NAMES.get(block.page, ()):
        module, _, name = path.rpartition(".")
        namespace[name] = getattr(importlib.import_module(module), name)
    text = block.text
    if text.rstrip().endswith(":"):
        text += '\n    """Find an order."""\n    return {}'
    if text.startswith("source = ToolSource"):
        text = (
            "from voiceagent.tools import tool\nfrom voiceagent.tools.tool import ToolSource\n\n"
            f"@tool(effect='none')\ndef my_tool() -> str:\n    'Say yes.'\n    return 'yes'\n\n{text}"
        )
    if text.startswith("return "):
        before = "from types import SimpleNamespace\norder = SimpleNamespace(code='A7', state='sent')\n"
        text = f"{before}def result():\n    {text}\nresult()"
    exec(compile(text, str(block), "exec"), namespace)
    for name, value in namespace.items():
        if name.startswith("test_"):
            value()
        if inspect.isfunction(value) and value.__module__ == "example":
            get_type_hints(value, namespace)
    if "Wiki" in namespace:
        asyncio.run(found_by(namespace))


async def found_by(namespace: dict[str, Any]) -> None:
    """The source of docs/context.md finds a page."""

    async def search(query: str) -> Any:
        yield type("Page", (), {"title": "Parking", "summary": f"About {query}."})

    namespace["search"] = search
    assert [chunk.text async for chunk in namespace["Wiki"]({}, ROOT).chunks("cars")] == ["About cars."]


@pytest.mark.parametrize("block", of("toml"))
def test_entry_points_are_of_groups_that_are_loaded(block: Block) -> None:
    groups = tomllib.loads(block.text)["project"]["entry-points"]
    assert {group.removeprefix("voiceagent.") for group in groups} <= {*OURS, "guard", "context"}


@pytest.mark.parametrize("block", of("json"))
def test_json_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", of("ini"))
def test_settings_of_other_programs_can_be_read(block: Block) -> None:
    configparser.ConfigParser(strict=False, interpolation=None).read_string(block.text)


@pytest.mark.parametrize("block", of("js", "html"))
def test_names_in_snippets_for_pages_are_those_of_the_library(block: Block) -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "web").rglob("*.js"))
    for address in re.findall(r"https://voice\.example(/[\w./]+\.js)", block.text):
        assert (ROOT / "web" / address.lstrip("/")).exists()
    for attribute in re.findall(r"data-(\w+)=", block.text):
        assert re.search(rf"{{[^}}]*\b{attribute}\b[^}}]*}} = script\.dataset", sources)
    for name in re.findall(r"import \{ (\w+) \} from 'https://voice", block.text):
        assert re.search(rf"export (class|function|const) {name}\b", sources)


@pytest.mark.parametrize("block", of("sh"))
def test_commands_have_options_that_exist(block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    check_commands(block.text)


def check_commands(text: str) -> None:
    """Parses each command of ours, runs nothing. Of other programs the files that they name must be there."""
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        if line.lstrip().startswith(("#", "}", '"')) or not line.strip():
            continue
        first = re.sub(r"\s&&?\s.*| &$", "", line)
        words = shlex.split(first if first.count("'") % 2 == 0 else first.replace("'", ""), comments=True)
        while words and re.match(r"\w+=", words[0]):
            words.pop(0)
        if not words:
            continue
        program = Path(words[0]).name
        for word in words[1:]:
            if re.match(r"(examples|deploy)/", word):
                assert (ROOT / word).exists(), line
        if program == "voiceagent":
            parse(words[1:])
        elif program == "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            targets = [word for word in words[1:] if "=" not in word]
            assert all(re.search(rf"^#: make {target} ", makefile, re.MULTILINE) for target in targets), line
        elif program == "python":
            assert (ROOT / words[1]).exists() or words[1] == "-m", line
        else:
            assert program in PROGRAMS_ELSEWHERE, f"{line}: say in PROGRAMS_ELSEWHERE why {program} is not run"


def parse(words: list[str]) -> None:
    """Has the command line's parser read the words. Files that do not exist are no mistake."""
    context = click.Context(cli, info_name="voiceagent")
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    command = copy.copy(command)
    command.params = [copy.copy(option) for option in command.params]
    for option in command.params:
        if isinstance(option.type, click.Path):
            option.type = click.Path()
    command.make_context(command.name, list(words), parent=context)
