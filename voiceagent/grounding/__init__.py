"""Checks what a language model writes against what was said, for models that invent rather than copy. Each such model names
itself and its purpose in its own data."""
