"""The output that a language model's graph needs so that several tokens can be checked in one step. models/train/adapter_graph.py
builds such a graph, in an environment that has no more of the engine than this file."""

RECENT = "recent_logits"
"""The name of an output [1, up to RECENT_TOKENS, vocabulary], float32: the logits of the last tokens that were read."""
RECENT_TOKENS = 12
"""A draft of 11 tokens, and the token before it. Each costs 0.35 ms per reading of a prompt, on the two cores of the starter's
budget."""
