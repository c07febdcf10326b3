"""The parts of `bench.transcription`: the speech, its streaming in virtual time, the peer, and the published model shapes."""
