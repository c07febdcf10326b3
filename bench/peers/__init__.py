"""voiceagent beside Pipecat on the same models, the same language model server and the same caller: `make bench-peers`."""

from bench.peers.comparison import NOTES, measure

__all__ = ["NOTES", "measure"]
