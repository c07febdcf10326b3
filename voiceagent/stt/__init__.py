"""Streaming Whisper: audio of an utterance in, partial, stable and final text out."""
