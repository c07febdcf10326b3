"""Speech synthesis: a clause in, PCM and word times out."""
