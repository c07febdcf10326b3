"""What OpenAI-compatible servers do differently, in one table. A server is known by who it says owns its models (`/v1/models`);
one that says something else is spoken to in the common language only."""

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
    cache_usage: str
    """Share of the KV cache that is in use, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server."""

    name: str
    owners: tuple[str, ...]
    """`owned_by` of its models, in small letters."""
    priority: str = ""
    """Where a request says how urgent it is, as a path into its body; empty: nowhere."""
    urgent_is_high: bool = False
    """Whether the greater number goes first."""
    strict_tools: bool = False
    """Whether `strict` in a tool keeps the model's arguments to the tool's schema."""
    gauges: Gauges | None = None
    goes_on: bool = False
    """Whether it takes `continue_final_message` for the caller's words too, and tells the likeliest tokens."""

    def priority_field(self, urgency: Urgency) -> dict[str, object]:
        """What the body of a request says of its urgency."""
        if not self.priority:
            return {}
        first, *inner = self.priority.split(".")
        value: object = -int(urgency) if self.urgent_is_high else int(urgency)
        for key in reversed(inner):
            value = {key: value}
        return {first: value}


VLLM_GAUGES = Gauges("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")

SERVERS = (
    # docs.vllm.ai, "OpenAI-Compatible Server" and "Tool Calling"; run with 0.32: priorities need --scheduling-policy priority.
    Server("vLLM", ("vllm",), "priority", strict_tools=True, gauges=VLLM_GAUGES, goes_on=True),
    # docs.sglang.ai, "Server Arguments": --enable-priority-scheduling, the greater first; gauges need --enable-metrics. It goes
    # on with the agent's words only.
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
    # docs.nvidia.com/dynamo, "Priority Scheduling": the greater first, whatever engine is behind it.
    Server("Dynamo", ("nvidia", "dynamo"), "nvext.agent_hints.priority", urgent_is_high=True),
    # docs.litellm.ai, "Request Prioritization": the lower first; what a provider does not know is left out by the proxy.
    Server("LiteLLM", ("openai", "litellm"), "priority"),
    # docs.ollama.com, "OpenAI compatibility": neither priorities nor template options; a model's own template decides.
    Server("Ollama", ("library", "ollama")),
)
UNKNOWN = Server("a server of unknown kind", ())


def server_of(owned_by: str) -> Server:
    """The kind of server whose models are owned by that."""
    owner = owned_by.strip().lower()
    return next((server for server in SERVERS if owner in server.owners), UNKNOWN)
