"""What `bench.transcription` is made of: the speech, its streaming in virtual time, the peer, and the published model shapes."""
