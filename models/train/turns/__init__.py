"""Turns that callers take outside any demo: what is said, where it hesitates, how it sounds and is heard, and what of it tells an end."""
