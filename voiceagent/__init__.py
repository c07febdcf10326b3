"""voiceagent: a self-hosted, real-time voice agent server."""

import os

__version__ = "0.1.0"

REPORTS_OFF = (
    "ORT_DISABLE_TELEMETRY",  # onnxruntime, onnxruntime-genai
    "NEMO_GUARDRAILS_NO_USAGE_STATS",
    "VLLM_NO_USAGE_STATS",
    "HF_HUB_DISABLE_TELEMETRY",
    "DO_NOT_TRACK",
)
"""Environment variables that keep libraries from reporting to their makers what runs here. They are read at import."""

os.environ.update(dict.fromkeys(REPORTS_OFF, "1"))
