"""A language model server is recognised by what it answers, and what it cannot do is found out before the first call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.llm.kinds_of_servers import NO_TOOL_PARSER, NO_TOOLS, KnownServer, ollama, serving, vllm
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.servers import abilities, recognition
from voiceagent.llm.servers.abilities import try_out
from voiceagent.llm.servers.dialects import UNKNOWN
from voiceagent.llm.servers.recognition import KEY_VARIABLE, RecognisedServer, api_address, recognise
from voiceagent.models.llm_server import LlmServer, find_llm_server
from voiceagent.settings.agent import AgentConfig

JUDGES = "so it does not help to judge whether a caller has finished; words and voice alone do"
SCHEMA = "does not keep to a JSON schema, so tools may get arguments that do not fit; those are refused"
FORCING = "cannot be made to call a tool, so `tool_choice: required` is refused"


async def recognised(server: KnownServer, path: str = "", model: str = "") -> RecognisedServer:
    async with serving(server) as url:
        return await recognise(f"{url}{path}", model)


async def limits(server: KnownServer) -> list[str]:
    async with serving(server) as url:
        return (await try_out(await recognise(url), KEY_VARIABLE)).cannot


async def refusal(server: KnownServer, path: str = "", model: str = "") -> str:
    with pytest.raises(EngineError) as raised:
        await recognised(server, path, model)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_ollama_is_recognised_at_any_of_its_addresses(path: str) -> None:
    found = await recognised(ollama(), path)
    assert (found.kind_and_version, found.model) == ("Ollama 0.12.6", "qwen3:8b")
    assert found.base_url.endswith("/v1")


async def test_a_model_that_ollama_did_not_fetch_itself_is_ollamas_too() -> None:
    server = ollama()
    server.models = {"somebody/own:latest": {"owned_by": "somebody"}}
    found = await recognised(server, model="somebody/own")
    assert (found.kind.name, found.model) == ("Ollama", "somebody/own:latest")


async def test_vllm_is_recognised_with_its_longest_prompt() -> None:
    found = await recognised(vllm())
    assert str(found).startswith("Qwen/Qwen3-8B by vLLM 0.32.0 at http://127.0.0.1:")
    assert str(found).endswith("/v1, 8192 tokens at most")


async def test_llama_cpp_is_recognised_by_its_properties() -> None:
    pages = {"/props": {"build_info": "b11549-abc", "default_generation_settings": {"n_ctx": 2048}}}
    found = await recognised(KnownServer({"/models/qwen.gguf": {"owned_by": "llamacpp"}}, pages), model="qwen.gguf")
    assert (found.kind_and_version, found.model, found.longest_tokens) == ("llama.cpp b11549-abc", "/models/qwen.gguf", 2048)
    assert str(found).startswith("qwen.gguf by llama.cpp")


async def test_any_other_server_is_used_with_what_all_servers_understand() -> None:
    found = await recognised(KnownServer({"m": {}}, {"/version": {"version": 3}}, base="/openai"), "/openai")
    assert (found.kind_and_version, found.model) == ("a server of unknown kind", "m")
    assert found.base_url.endswith("/openai")


async def test_a_dead_address_is_one_line() -> None:
    with pytest.raises(
        EngineError, match=r"^http://127.0.0.1:9/v1/models: no language model server answers there \(.*\); start it"
    ):
        await recognise("127.0.0.1:9")


async def test_a_web_page_is_no_api() -> None:
    page = KnownServer({}, {"/v1/models": "<!DOCTYPE html><p>Welcome</p>", "/models": "<html></html>"}, base="/elsewhere")
    assert "/v1/models answers with a web page, so no OpenAI-compatible API is there; give" in await refusal(page)


async def test_an_address_where_nothing_is_names_what_it_answers() -> None:
    assert "/v1/models answers 404, so no OpenAI-compatible API is there" in await refusal(KnownServer({}, base="/elsewhere"))


async def test_a_key_that_is_wanted_or_refused_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert f"the server wants a key; put it into ${KEY_VARIABLE}" in await refusal(vllm(key="secret-key"))
    monkeypatch.setenv(KEY_VARIABLE, "wrong-key")
    assert f"the server refuses the key in ${KEY_VARIABLE}" in await refusal(vllm(key="secret-key"))
    monkeypatch.setenv(KEY_VARIABLE, "secret-key")
    assert (await recognised(vllm(key="secret-key"))).model == "Qwen/Qwen3-8B"


async def test_of_several_models_one_must_be_named() -> None:
    server = vllm()
    server.models = {"one": {"owned_by": "vllm"}, "other": {"owned_by": "vllm"}}
    assert "has several models; name one with --llm-model or llm.model: one, other" in await refusal(server)
    assert (await recognised(server, model="other")).model == "other"
    assert "there is no model 'othr', it has one, other; did you mean other?" in await refusal(server, model="othr")
    server.models = {}
    assert "the server has no model; load one there" in await refusal(server)


async def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "ANSWER_S", 0.2)
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(EngineError, match=r"no answer within"):
            await asyncio.wait_for(recognise(f"127.0.0.1:{port}"), 30)


@pytest.mark.parametrize("address", ["ftp://a", "http://user:word@a", "http://a/v1?key=1", "http://"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"^the language model's address is"):
        api_address(address)


async def test_vllm_can_do_all_of_it() -> None:
    assert await limits(vllm()) == []


async def test_what_ollama_cannot_do_is_told() -> None:
    cuts = "cuts off what is over 4096 tokens without a word; OLLAMA_CONTEXT_LENGTH sets that"
    assert await limits(ollama()) == [FORCING, f"gives no log-probabilities, {JUDGES}", cuts]


@pytest.mark.parametrize(("server", "why"), [(vllm, NO_TOOL_PARSER), (ollama, NO_TOOLS)])
async def test_a_server_without_tools_answers_no_agent_that_has_some(server: Callable[..., KnownServer], why: str) -> None:
    async with serving(server(refuses_tools=why)) as url:
        agent, found = await find_llm_server(AgentConfig(name="Desk"), url, "")
    assert found.abilities.cannot[0] == f"refuses tools ({why})"
    assert agent.llm.base_url == f"{url}/v1"
    found.require_tools(agent)
    with pytest.raises(ModelError, match=r"refuses tools .*, and the agent 'Desk' has some; name a model that calls tools"):
        found.require_tools(AgentConfig(name="Desk", tools=("tools.py",)))


async def test_a_model_that_answers_in_words_where_a_tool_was_due_is_told() -> None:
    assert await limits(vllm(writes_words=True)) == ["called no tool where it should have, but said 'Yes.'"]


async def test_a_server_that_neither_streams_nor_keeps_to_schemas_is_told() -> None:
    first, *others = await limits(vllm(streams=False, in_schema="Yes, it is.", gives_chances=False))
    assert first == "does not stream, so nothing is heard of a reply"
    assert SCHEMA in others
    assert f"gives no log-probabilities, {JUDGES}" in others


@pytest.mark.parametrize(
    ("said", "keeps"), [("{ \n\n", True), ('{"answer": "no"}', True), ("", False), ('{"answer": "maybe"}', False)]
)
async def test_a_schema_is_kept_to_if_no_other_answer_has_begun(said: str, keeps: bool) -> None:
    assert await limits(vllm(in_schema=said)) == ([] if keeps else [SCHEMA])


async def test_a_slow_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(vllm(is_silent=True)) as url:
        found = await try_out(await recognise(url), KEY_VARIABLE, 0.3)
    assert found.cannot == [
        "did not answer three short requests within 0.3 s, so callers will wait long; what else it cannot do was not found out"
    ]
    assert found.has_tools


async def test_a_model_that_refuses_everything_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    server = vllm()

    async def refuse(request: object) -> object:
        from aiohttp import web

        return web.json_response({"error": {"message": "out of memory"}}, status=500)

    monkeypatch.setattr(server, "complete", refuse)
    async with serving(server) as url:
        found = await recognise(url)
        with pytest.raises(EngineError, match=r"the model refuses a plain request \(500: out of memory\)"):
            await try_out(found, KEY_VARIABLE)


def test_the_limits_are_told_of_the_model() -> None:
    server = RecognisedServer("http://a/v1", UNKNOWN, "", "/models/qwen.gguf")
    assert LlmServer(server, abilities.Abilities(["does nothing"])).lines == ("qwen.gguf does nothing",)
