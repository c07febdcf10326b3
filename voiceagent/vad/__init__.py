"""Voice activity: a webrtcvad gate, Silero to confirm, and the endpointer."""
