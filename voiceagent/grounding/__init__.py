"""Checks what a language model writes against what was said, for models that invent rather than copy. Which models these are, and
what they were made for, is data of the models."""
