"""Guardrails on the stream: what must not be said, what must not reach the language model, and what is said instead."""
