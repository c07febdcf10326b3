"""The WebSocket leg: audio and events of a call as text messages."""
