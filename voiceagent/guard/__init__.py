"""Guardrails on the stream: what must not be said, or must not reach the language model, and what is said instead."""
