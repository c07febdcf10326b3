"""The differences of OpenAI-compatible servers, in one table. A server is recognised by the owner that it names for its models
(`/v1/models`). An unknown server gets only what all servers understand."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.llm.engine import Urgency


@dataclass(frozen=True, slots=True)
class Gauges:
    """Names of a server's Prometheus gauges at `/metrics`."""

    running: str
    """Requests that are being computed."""
    waiting: str
    """Requests that wait for room."""
    cache_usage: str = ""
    """Share of the KV cache that is in use, 0 to 1. Empty: the server does not report it."""


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server."""

    name: str
    owners: tuple[str, ...]
    """`owned_by` of its models, in lower case."""
    priority: str = ""
    """The path to a request's priority in its body. Empty: it has none."""
    urgent_is_high: bool = False
    """True if greater numbers go first."""
    strict_tools: bool = False
    """True if `strict` in a tool keeps the model's arguments to the tool's schema."""
    gauges: Gauges | None = None
    goes_on: bool = False
    """True if it accepts `continue_final_message` for the caller's words too, and gives the likeliest tokens."""

    forces_tools: bool = True
    """False if `tool_choice` does not make a model call a tool."""

    def priority_field(self, urgency: Urgency) -> dict[str, object]:
        """The part of a request's body with its priority."""
        if not self.priority:
            return {}
        first, *inner = self.priority.split(".")
        value: object = -int(urgency) if self.urgent_is_high else int(urgency)
        for key in reversed(inner):
            value = {key: value}
        return {first: value}


VLLM_GAUGES = Gauges("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")

SERVERS = (
    # docs.vllm.ai, "OpenAI-Compatible Server" and "Tool Calling"; tested with 0.32: priorities need --scheduling-policy priority.
    Server("vLLM", ("vllm",), "priority", strict_tools=True, gauges=VLLM_GAUGES, goes_on=True),
    # docs.sglang.ai, "Server Arguments": --enable-priority-scheduling, greater numbers first; gauges need --enable-metrics. It
    # continues only the agent's words.
    Server(
        "SGLang",
        ("sglang",),
        "priority",
        urgent_is_high=True,
        strict_tools=True,
        gauges=Gauges("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"),
    ),
    # nvidia.github.io/TensorRT-LLM, "trtllm-serve": its /metrics are iteration statistics in JSON, not Prometheus gauges.
    Server("TensorRT-LLM", ("tensorrt_llm",)),
    # docs.nvidia.com/dynamo, "Priority Scheduling": greater numbers first, with any engine.
    Server("Dynamo", ("nvidia", "dynamo"), "nvext.agent_hints.priority", urgent_is_high=True),
    # docs.litellm.ai, "Request Prioritization": lower numbers first. The proxy removes fields that a provider does not know.
    Server("LiteLLM", ("openai", "litellm"), "priority"),
    # llama.cpp, tools/server/README.md; tested with b11549: no priorities, requests wait for one of --parallel slots. Gauges need
    # --metrics. Its grammar keeps every call to the tool's schema. It continues only the agent's words. With `required` a model
    # cannot end before it has called, but may write words without end.
    Server(
        "llama.cpp",
        ("llamacpp",),
        gauges=Gauges("llamacpp:requests_processing", "llamacpp:requests_deferred"),
        forces_tools=False,
    ),
    # docs.ollama.com, "OpenAI compatibility": neither priorities, template options nor tool_choice. The model's own template
    # decides.
    Server("Ollama", ("library", "ollama"), forces_tools=False),
)
UNKNOWN = Server("a server of unknown kind", ())


def server_of(owned_by: str) -> Server:
    """The kind of server that names this owner."""
    owner = owned_by.strip().lower()
    return next((server for server in SERVERS if owner in server.owners), UNKNOWN)


def server_named(name: str) -> Server:
    """The kind of server of this name. Raises KeyError."""
    return {server.name: server for server in SERVERS}[name]
