"""Scenarios: scripted and played callers, and what must have happened by the end of their calls."""
