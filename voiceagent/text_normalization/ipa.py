"""Marks around a word that is written in IPA."""

from __future__ import annotations

IPA_BEGIN, IPA_END = "\ue000", "\ue001"
"""In text to speak, a word between these is phonemes in IPA, with the punctuation after it, for an engine whose `reads_ipa` is
true. They are private characters, so no text of a language model contains them by chance."""
