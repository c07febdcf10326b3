"""Conversations as text: prompts, chat templates, and the forms of tool calls."""
