"""What a language model's graph must tell for several tokens to be judged in one step. models/train/adapter_graph.py builds such
a graph."""

RECENT = "recent_logits"
"""The name of an output [1, up to RECENT_TOKENS, vocabulary], float32: the logits of the last tokens that were read."""
RECENT_TOKENS = 12
"""A draft of 11 tokens, and the token before it. Each costs 0.35 ms whenever a prompt is read, on the two cores of the starter's
budget."""
