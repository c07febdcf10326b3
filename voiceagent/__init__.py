"""voiceagent: a self-hosted, real-time voice agent server."""

import os

__version__ = "0.1.0"

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
"""The published packages of onnxruntime and onnxruntime-genai report models and times to their maker. They read this when they
are first imported, so it stands before every other import."""
