"""Turns that callers take outside any demo: what is said and how it is heard."""
