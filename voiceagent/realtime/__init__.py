"""The OpenAI Realtime wire protocol: typed events, and their mapping to a call."""
