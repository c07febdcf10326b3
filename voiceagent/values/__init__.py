"""Kinds of values that callers tell: hearing them in words, and writing them to be read back. Pure."""
